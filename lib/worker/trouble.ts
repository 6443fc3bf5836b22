import { errorName } from "../core/error-name.ts";
import type { Noted } from "../core/noted.ts";

/** Thrown where what is below us failed and no adapter threw: the message comes again, nobody is answered. */
export class Infrastructure extends Error {
  override readonly name: string;
  constructor(name: string, cause?: unknown) {
    super(name, { cause });
    this.name = name;
  }
}

/**
 * Whether AWS or the network failed, rather than our own code. The SDK marks its service errors with `$metadata`, Node
 * its system errors with `code`; a request that AWS calls malformed is ours.
 */
export function isInfrastructure(error: unknown): boolean {
  if (error instanceof Infrastructure) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === "ValidationException" || error.name === "SerializationException") return false;
  return "$metadata" in error || "code" in error || /Timeout|Credentials|Abort/.test(error.name);
}

/** What is noted of a record that came to grief. */
export function troubleOf(what: string, error: unknown): Extract<Noted, { kind: "trouble" }> {
  const unexpected = isInfrastructure(error) ? {} : ({ unexpected: true } as const);
  return { kind: "trouble", what, error: errorName(error), ...unexpected };
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An error as a person meets it: when, the code that says it, and what to do where the message does not say that itself. */
export type Entry = readonly [when: string, message: () => string | Promise<string>, remedy?: string];

/** Errors that are met in one place. */
export interface Group {
  readonly title: string;
  /** Where, in what form, and what they have in common. */
  readonly about: string;
  readonly entries: readonly Entry[];
}

/** The message of what an act throws. */
export async function thrownBy(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** What an act says of files in a directory of its own, which is left out of what it says. */
export async function saidOf(act: (at: (name: string) => string) => unknown): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-errors-"));
  try {
    const message = await thrownBy(() => act((name) => join(directory, name)));
    return message.replaceAll(`${directory}/`, "").replaceAll(directory, "jobs");
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const isTheirs = (name: string) => name.startsWith("AWS_") || name.startsWith("SLUICE_");

function clear(): void {
  for (const name of Object.keys(process.env).filter(isTheirs)) delete process.env[name];
}

/** Acts with these variables alone of AWS's and ours, and leaves the environment as it was. */
export async function inEnvironment<Said>(
  values: Readonly<Record<string, string>>,
  act: () => Promise<Said>,
): Promise<Said> {
  const before = { ...process.env };
  clear();
  Object.assign(process.env, values);
  try {
    return await act();
  } finally {
    clear();
    Object.assign(process.env, before);
  }
}

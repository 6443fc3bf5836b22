import type { JobRow } from "../../../lib/core/claim.ts";
import type { World } from "../../../lib/ports.ts";
import type { Fault } from "./faults.ts";
import type { Mutant } from "./functions.ts";

/** A worker or a world that breaks a promise, and where that comes to light. */
export interface Culprit {
  readonly law: string;
  readonly says: string;
  readonly scenario: string;
  readonly faults?: readonly Fault[];
  readonly mutant: Mutant;
}

/** The World with some verbs of a port in the place of its own. */
export function changed<Port extends keyof World>(world: World, port: Port, methods: Partial<World[Port]>): World {
  return { ...world, [port]: { ...world[port], ...methods } };
}

export async function rowOf({ jobs }: World, jobId: string): Promise<JobRow> {
  const row = await jobs.read(jobId);
  if (row === undefined) throw new Error(`no row of ${jobId}`);
  return row;
}

/** Writes a row whatever stands there. */
export function put({ jobs }: World, row: JobRow): void {
  if ("put" in jobs && typeof jobs.put === "function") jobs.put(row);
}

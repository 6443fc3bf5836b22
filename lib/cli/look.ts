/** What a command looks at: the overview, or as much of it as the command shows. */
import type { JobRow } from "../core/claim.ts";
import { nearest } from "../core/nearest.ts";
import type { Config } from "../core/config.ts";
import { isLane, lanes } from "../core/lane.ts";
import { ledgersOf } from "../core/ledgers.ts";
import type { Overview } from "../core/overview.ts";
import { readLimits, readOverview } from "../operate/read-overview.ts";
import { overrideOf } from "../operate/set-override.ts";
import { Fault } from "../terminal/fault.ts";
import type { Cli } from "./cli.ts";

/** From so many jobs on the whole table is read for them, however long it is. */
export const wholeFromJobs = 1_001;

/** A page of the table holds a megabyte, answered jobs too: so many are enough where a few jobs are wanted. */
const pagesMax = 40;

/** The overview, with the oldest of the open jobs that the index and the table's first pages tell of. */
export async function lookAtJobs(cli: Cli, jobsMax: number): Promise<Overview> {
  const { jobs, leases, clock, queues } = await cli.deployment();
  return await readOverview({ jobs, leases, clock, queues }, await cli.config(), {
    pagesMax: jobsMax < wholeFromJobs ? pagesMax : Infinity,
    jobsMax,
  });
}

/** Limits, breakers and pauses, and of jobs these rows alone: no table is scanned for them. */
export async function lookAround(cli: Cli, rows: readonly JobRow[] = []): Promise<Overview> {
  const { leases, clock } = await cli.deployment();
  return await readLimits({ leases, clock }, await cli.config(), rows);
}

/** @throws Fault for a name that the config has not. */
export function needLedger(name: string, config: Config): void {
  const known = [...ledgersOf(config).keys()];
  if (!known.includes(name)) throw unknownName(name, known);
}

/** @throws Fault for a name that is neither a lane's nor in the config. */
export function needLaneOrLedger(name: string, config: Config): void {
  if (!isLane(name) && !ledgersOf(config).has(name)) throw unknownName(name, [...lanes, ...ledgersOf(config).keys()]);
}

/** As {@link needLaneOrLedger}; a name that the config no longer has is one while something stands for it. */
export async function needStanding(cli: Cli, name: string): Promise<void> {
  const config = await cli.config();
  if (isLane(name) || ledgersOf(config).has(name)) return;
  const { leases } = await cli.deployment();
  if (Object.keys(await overrideOf(leases, name)).length === 0) needLaneOrLedger(name, config);
}

function unknownName(name: string, known: readonly string[]): Fault {
  const meant = nearest(name, known);
  const hint = meant === undefined ? `known: ${known.join(", ")}` : `did you mean ${meant}?`;
  return new Fault(`the config has no ${name}; ${hint}`);
}

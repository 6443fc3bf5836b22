/** What a command looks at: the overview, or as much of it as the command shows. */
import type { JobRow } from "../core/claim.ts";
import { nearest } from "../core/nearest.ts";
import type { Config } from "../core/config.ts";
import { isLane, lanes } from "../core/lane.ts";
import { ledgersOf } from "../core/ledgers.ts";
import type { Overview } from "../core/overview.ts";
import { readOverview } from "../operate/read-overview.ts";
import type { Watched } from "../operate/read-overview.ts";
import { Fault } from "../terminal/fault.ts";
import type { Cli } from "./cli.ts";

/** The overview, the whole table's open jobs in it. */
export async function lookAtAll(cli: Cli, jobsMax: number): Promise<Overview> {
  const { jobs, leases, clock, queues } = await cli.deployment();
  return await readOverview({ jobs, leases, clock, queues }, await cli.config(), {
    pagesMax: pagesMax(jobsMax),
    jobsMax,
  });
}

/** A page of the table holds a megabyte, answered jobs too: a few for a few jobs, all for a whole list. */
function pagesMax(jobsMax: number): number {
  return jobsMax > 1_000 ? Infinity : 40;
}

/** Limits, breakers and pauses, and of jobs these rows alone: no table is scanned for them. */
export async function lookAround(cli: Cli, rows: readonly JobRow[] = []): Promise<Overview> {
  const { leases, clock } = await cli.deployment();
  const jobs: Watched["jobs"] = {
    readDue: () => Promise.resolve({ due: [], next: undefined }),
    readMany: () => Promise.resolve([]),
    scan: () => Promise.resolve({ rows, next: undefined }),
  };
  const queues = { read: () => Promise.resolve({}) };
  return await readOverview({ jobs, leases, clock, queues }, await cli.config());
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

function unknownName(name: string, known: readonly string[]): Fault {
  const meant = nearest(name, known);
  const hint = meant === undefined ? `known: ${known.join(", ")}` : `did you mean ${meant}?`;
  return new Fault(`the config has no ${name}; ${hint}`);
}

import { targetsOf } from "../core/config.ts";
import { budgetedLanes, dayOf } from "../core/budget.ts";
import type { Config } from "../core/config.ts";
import type { JobRow } from "../core/claim.ts";
import { lanes } from "../core/lane.ts";
import { ledgersOf } from "../core/ledgers.ts";
import { pageCount } from "../core/lease.ts";
import type { Page } from "../core/lease.ts";
import { readOverrides } from "../core/override.ts";
import { byAge, overviewOf } from "../core/overview.ts";
import type { Missing, Overview, Seen } from "../core/overview.ts";
import { sweepShards } from "../core/sweep.ts";
import type { Clock, JobTable, LeaseTable, QueueDepths } from "../ports.ts";

/** What whoever looks on needs of the world. */
export interface Watched {
  readonly clock: Pick<Clock, "nowMs">;
  readonly jobs: Pick<JobTable, "readDue" | "readMany" | "scan">;
  readonly leases: Pick<LeaseTable, "readBoard" | "readPage">;
  readonly queues: QueueDepths;
}

export interface Looking {
  /** Pages of the job table that are read for jobs which no index knows: those of a first delivery. A megabyte each. */
  readonly pagesMax: number;
  /** The oldest: beyond so many nobody reads a list. */
  readonly jobsMax: number;
}

export const lookingDefault: Looking = { pagesMax: 4, jobsMax: 1_000 };

/**
 * The service as it is now: what each table says, a moment apart from the other.
 * @throws whatever a table or SQS throws; nothing is written.
 */
export async function readOverview(
  { clock, jobs, leases, queues }: Watched,
  config: Config,
  looking: Looking = lookingDefault,
): Promise<Overview> {
  const [open, limits, depths] = await Promise.all([
    readOpen(jobs, looking),
    readStanding(leases, clock, config),
    queues.read(),
  ]);
  return overviewOf({ nowMs: clock.nowMs(), config, ...open, ...limits, depths });
}

/**
 * Limits, breakers, pauses and budgets, and these open jobs under them: neither the job table nor a queue is asked.
 * @throws whatever the lease table throws; nothing is written.
 */
export async function readLimits(
  { clock, leases }: Pick<Watched, "clock" | "leases">,
  config: Config,
  rows: readonly JobRow[] = [],
): Promise<Overview> {
  const limits = await readStanding(leases, clock, config);
  return overviewOf({ nowMs: clock.nowMs(), config, rows, missing: "none", ...limits, depths: {} });
}

/** What the lease table says. */
async function readStanding(
  leases: Watched["leases"],
  clock: Watched["clock"],
  config: Config,
): Promise<Pick<Seen, "pages" | "heads" | "breakers" | "overrides" | "spent">> {
  const ledgers = ledgersOf(config);
  const names = targetsOf(config).map(({ step }) => step);
  const models = Object.keys(config.models);
  const day = dayOf(clock.nowMs());
  const budgets = budgetedLanes(config).map((lane) => ({ lane, day }));
  const [pages, board] = await Promise.all([
    readPages(leases, ledgers),
    leases.readBoard({ ledgers: [...ledgers.keys()], targets: names, lanes, models, budgets }),
  ]);
  const isKnown = (name: string) => models.includes(name) || names.includes(name);
  const { overrides } = readOverrides(board.overrides, isKnown);
  const { heads, breakers, spent } = board;
  return { pages, heads, breakers, overrides, spent };
}

/**
 * Those that wait are in the sweeper's index; those that run their first delivery are nowhere but in the table. A table
 * that was read to its end has the former too: the index's are for one that is too long for that.
 */
async function readOpen(jobs: Watched["jobs"], { pagesMax, jobsMax }: Looking) {
  const [waiting, scanned] = await Promise.all([readWaiting(jobs, jobsMax), readRunning(jobs, pagesMax)]);
  const rows = new Map([...scanned.rows, ...waiting].map((row) => [row.jobId, row]));
  const open = [...rows.values()].filter(({ reply }) => reply === undefined).toSorted(byAge);
  const missing: Missing = !scanned.all ? "any" : open.length > jobsMax ? "younger" : "none";
  return { rows: open.slice(0, jobsMax), missing };
}

/** The first due. */
async function readWaiting(jobs: Watched["jobs"], jobsMax: number): Promise<readonly JobRow[]> {
  const shards = await Promise.all(sweepShards.map((shard) => jobs.readDue(shard, Number.MAX_SAFE_INTEGER)));
  const due = shards.flatMap((page) => page.due).toSorted((a, b) => a.sweepAtMs - b.sweepAtMs);
  return await jobs.readMany(due.slice(0, jobsMax).map(({ jobId }) => jobId));
}

async function readRunning(jobs: Watched["jobs"], pagesMax: number) {
  const rows: JobRow[] = [];
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const { rows: more, next } = await jobs.scan("open", after);
    rows.push(...more);
    if (next === undefined) return { rows, all: true };
    after = next;
  }
  return { rows, all: false };
}

async function readPages(
  leases: Watched["leases"],
  ledgers: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, readonly Page[]>> {
  const read = [...ledgers].map(async ([ledger, limitMax]) => {
    const refs = Array.from({ length: pageCount(limitMax) }, (_, page) => ({ ledger, page }));
    const pages = await Promise.all(refs.map((ref) => leases.readPage(ref)));
    return [ledger, pages.map((page) => page ?? {})] as const;
  });
  return new Map(await Promise.all(read));
}

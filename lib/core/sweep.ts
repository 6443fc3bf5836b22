import { isAnswered, isHeld } from "./claim.ts";
import type { JobRow } from "./claim.ts";
import { rowFormat, sweepEveryMs, sweepLateMs, sweepPauseMsMax, sweepUnreturnedLateMs } from "./limits.ts";
import { isAmong } from "./reply-to.ts";
import type { ReplyTo } from "./reply-to.ts";

/** The job table's sparse index: rows that somebody has to look at again, by the time at which. All others are not in it. */
export const sweepIndex = { name: "sweep", partitionKey: "sweepShard", sortKey: "sweepAtMs" } as const;

/** So that no partition of the index takes all the writes. */
export const sweepShards: readonly string[] = Array.from({ length: 16 }, (_, shard) => String(shard));

/** The same wherever it is computed: FNV-1a, its upper half folded in. */
export function sweepShardOf(jobId: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < jobId.length; index += 1) hash = Math.imul(hash ^ jobId.charCodeAt(index), 0x01000193);
  return String(((hash ^ (hash >>> 16)) >>> 0) % sweepShards.length);
}

/** The sweeper as a claim's worker: it asks no model, so that no reply of its is on its way. */
export const sweeperName = "sweeper";

/** An entry of the index. */
export interface Due {
  readonly jobId: string;
  readonly sweepAtMs: number;
}

/** What becomes of a row that is due. */
export type Sweep =
  /** Nobody's business now: gone, alive, in time, or another version's. */
  | { readonly kind: "leave" }
  /** Nothing is owed any more: the row goes out of the index. */
  | { readonly kind: "settled" }
  /** The reply is there, and these have not been told. */
  | { readonly kind: "announce"; readonly reply: string; readonly to: readonly ReplyTo[] }
  /** Its message has been lost, or it would have come again long ago. */
  | { readonly kind: "end"; readonly row: JobRow & Endable };

/** What a claim must know of a job whose message is gone. */
type Endable = Required<Pick<JobRow, "contentHash" | "deadlineAtMs" | "enqueuedAtMs" | "lane">>;

/** The first line that applies wins. */
export function sweepOf(row: JobRow | undefined, nowMs: number): Sweep {
  if (row === undefined || row.format > rowFormat) return { kind: "leave" };
  if (isAnswered(row)) {
    const to = owed(row);
    return to.length === 0 ? { kind: "settled" } : { kind: "announce", reply: row.reply, to };
  }
  if (isHeld(row, nowMs) || !isEndable(row)) return { kind: "leave" };
  const mayBeOnItsWay = row.state === "running" && row.worker !== sweeperName && !row.cancelAsked;
  const lateMs = mayBeOnItsWay ? sweepUnreturnedLateMs : sweepLateMs;
  return nowMs >= row.deadlineAtMs + lateMs ? { kind: "end", row } : { kind: "leave" };
}

/** Whoever a row names and nobody has told. */
function owed({ announced, replyTo, unannounced }: JobRow): readonly ReplyTo[] {
  const named = replyTo === undefined || isAmong(replyTo, unannounced) ? unannounced : [...unannounced, replyTo];
  return named.filter((to) => !isAmong(to, announced));
}

function isEndable(row: JobRow): row is JobRow & Endable {
  const { contentHash, deadlineAtMs, enqueuedAtMs, lane } = row;
  // mutant: without `deadlineAtMs`: a deadline that is missing has not passed either.
  return [contentHash, deadlineAtMs, enqueuedAtMs, lane].every((fact) => fact !== undefined);
}

/** When an announcement that has failed again is tried next; undefined: the row, and with it the reply, will be gone by then. */
export function nextSweepMs(sweeps: number, nowMs: number, goneAtMs: number): number | undefined {
  const nextMs = nowMs + Math.min(sweepEveryMs * 2 ** sweeps, sweepPauseMsMax);
  return nextMs < goneAtMs ? nextMs : undefined;
}

import { noUsage } from "./attempt.ts";
import type { Usage } from "./attempt.ts";
import type { Lane } from "./lane.ts";
import { claimGraceMs, crashesMax, rowFormat } from "./limits.ts";
import type { ReplyTo } from "./reply-to.ts";

/** What a job has used up, over all its deliveries. One budget each; none of them is SQS's receive count. */
export interface Progress {
  /** Requests to Bedrock that count: throttled and not-ready ones do not. */
  readonly attempts: number;
  /** All requests to Bedrock, those that do not count included. */
  readonly requests: number;
  readonly requeues: number;
  readonly releases: number;
  /** Attempts that the closing bell cut. */
  readonly bellCuts: number;
  /** Deliveries that ended in a bug of ours. */
  readonly bugs: number;
  /** All backoff slept so far. */
  readonly sleptMs: number;
  readonly leaseWaitMs: number;
  readonly providerMs: number;
  readonly usage: Usage;
}

const noCounts = {
  attempts: 0,
  requests: 0,
  requeues: 0,
  releases: 0,
  bellCuts: 0,
  bugs: 0,
  sleptMs: 0,
  leaseWaitMs: 0,
  providerMs: 0,
} satisfies Omit<Progress, "usage">;

/** A job that nobody has touched. */
export const noProgress: Progress = { ...noCounts, usage: noUsage };

/** Progress as every table takes it. It rides on the reply, so not even a NaN of ours may make that write fail. */
export function storable(progress: Progress): Progress {
  return progressFrom(
    (name) => whole(progress[name]),
    (name) => whole(progress.usage[name]),
  );
}

/** Of two accounts of one job the higher of each count: what one of them has not seen, the other has. */
export function moreOf(one: Progress, other: Progress): Progress {
  return progressFrom(
    (name) => Math.max(one[name], other[name]),
    (name) => Math.max(one.usage[name], other.usage[name]),
  );
}

/** Progress with each of its numbers asked for by name. */
export function progressFrom(
  count: (name: Exclude<keyof Progress, "usage">) => number,
  tokens: (name: keyof Usage) => number,
): Progress {
  return { ...filled(noCounts, count), usage: filled(noUsage, tokens) };
}

/** The part of a row that is progress. */
export function progressOf(row: JobRow): Progress {
  return progressFrom(
    (name) => row[name],
    (name) => row.usage[name],
  );
}

function filled<T extends object>(zeros: T, count: (name: keyof T & string) => number): T {
  const filledIn = { ...zeros };
  for (const name in zeros) Object.assign(filledIn, { [name]: count(name) });
  return filledIn;
}

function whole(value: number): number {
  return Number.isNaN(value) ? 0 : Math.round(Math.min(Math.max(value, 0), Number.MAX_SAFE_INTEGER));
}

/** One job's row in the job table, as far as it can be read. A row of another format keeps what this code knows. */
export interface JobRow extends Progress {
  readonly jobId: string;
  readonly format: number;
  readonly contentHash?: string;
  readonly state?: "queued" | "running" | "ended";
  readonly holder?: string;
  /** Counts the claims ever taken. */
  readonly fence: number;
  readonly givenBack: number;
  readonly heldUntilMs?: number;
  readonly notBeforeMs?: number;
  readonly deadlineAtMs?: number;
  readonly enqueuedAtMs?: number;
  /** When the first claim was taken. */
  readonly startedAtMs?: number;
  /** When a release was last counted. */
  readonly releasedAtMs?: number;
  readonly cancelAsked: boolean;
  /** The final reply as stored: JSON text. */
  readonly reply?: string;
  /** Who has been told of it. */
  readonly announced: readonly ReplyTo[];
  /** Who could not be told yet, from `sweepAtMs` on the sweeper's to tell. */
  readonly unannounced: readonly ReplyTo[];
  readonly sweepAtMs?: number;
  /** How often the sweeper has told nobody. */
  readonly sweeps?: number;
  /** Who waits for the reply, of a job that was handed back at least once. */
  readonly replyTo?: ReplyTo;
  /** Parked messages of this job that were run again, each with the jobId it got. */
  readonly reruns?: Readonly<Record<string, string>>;
  readonly stage?: string;
  readonly stageAtMs?: number;
  /** Where the last delivery left it when this one took the claim: after a crash, what was in flight. */
  readonly stageBefore?: string;
  readonly step?: string;
  /** Why it was handed back last; of a stage that says `requeued`. */
  readonly cause?: string;
  readonly lane?: Lane;
  readonly worker?: string;
}

/** A job that has its final reply. */
export type Answered = JobRow & { readonly reply: string };

export function isAnswered<Row extends { readonly reply?: string }>(
  row: Row | undefined,
): row is Row & { readonly reply: string } {
  return row?.reply !== undefined;
}

/** What a worker asks of the job table to get the right to run a job. */
export interface ClaimAsk {
  readonly jobId: string;
  readonly contentHash: string;
  /** A nonce of this record and delivery. */
  readonly holder: string;
  readonly nowMs: number;
  readonly heldUntilMs: number;
  readonly deadlineAtMs: number;
  readonly enqueuedAtMs: number;
  readonly lane: Lane;
  readonly worker: string;
  /** Also before a requeue's delay has passed: the message will not come again. */
  readonly early?: boolean;
}

/** What the count of a release says of its job: all of a claim but the holding. */
export type ReleaseAsk = Omit<ClaimAsk, "holder" | "heldUntilMs" | "worker" | "early"> & {
  readonly replyTo?: ReplyTo;
};

/** The table's answer: the row with our claim on it, or the row that refused (none: the engine could not tell). */
export type ClaimAnswer =
  | { readonly kind: "taken"; readonly row: JobRow }
  | { readonly kind: "refused"; readonly row: JobRow | undefined };

/** The right to run a job. Every later write of its holder names holder and fence. */
export interface Claim {
  readonly jobId: string;
  readonly holder: string;
  readonly fence: number;
}

/** `lost`: another holds it, it ended, or cancel refused the give-back; the row says which. */
export type Owned =
  | { readonly kind: "owned"; readonly row: JobRow }
  | { readonly kind: "lost"; readonly row: JobRow | undefined };

export type Completed =
  | { readonly kind: "stored" }
  /** A reply was there first, or the claim was overtaken. Our own reply found stored counts as `stored`. */
  | { readonly kind: "lost"; readonly row: JobRow | undefined };

/** What a claim's answer means for its message. The claim is ours in the last four, and only there. */
export type Verdict =
  /** Other content under the same jobId. */
  | { readonly kind: "conflict" }
  /** Written by a newer worker than this one. */
  | { readonly kind: "newer"; readonly format: number }
  | { readonly kind: "done"; readonly row: Answered }
  /** Without `heldUntilMs` the row is corrupt: it does not say until when, so nobody takes it. */
  | { readonly kind: "held"; readonly heldUntilMs?: number }
  | { readonly kind: "not-yet"; readonly notBeforeMs: number }
  /**
   * Nobody is in the way and still the table refused: another claim was as late as ours (clocks differ, or a copy of an
   * old request), or the row went meanwhile. It is asked again in a moment.
   */
  | { readonly kind: "again"; readonly why: "late-copy" | "lost-row" }
  | { readonly kind: "cancelled"; readonly claim: Claim; readonly row: JobRow }
  | { readonly kind: "expired"; readonly claim: Claim; readonly row: JobRow }
  /** `row.stageBefore` and `row.step` tell what was in flight. */
  | { readonly kind: "poisoned"; readonly claim: Claim; readonly row: JobRow; readonly crashes: number }
  | { readonly kind: "run"; readonly claim: Claim; readonly row: JobRow; readonly crashes: number };

/** The first line that applies wins. `nowMs` is when the answer came; what the table compared is `ask.nowMs`. */
export function verdict(answer: ClaimAnswer, ask: ClaimAsk, nowMs: number): Verdict {
  const { row } = answer;
  if (row === undefined) return { kind: "again", why: "lost-row" };
  if (row.contentHash !== undefined && row.contentHash !== ask.contentHash) return { kind: "conflict" };
  if (row.format > rowFormat) return { kind: "newer", format: row.format };
  if (isAnswered(row)) return { kind: "done", row };

  // A resend is refused by its own success: whether the claim is ours already is read from the row that refused.
  const mine = answer.kind === "taken" || (row.holder === ask.holder && row.state === "running");
  if (!mine) return standsInTheWay(row, ask);

  const claim: Claim = { jobId: ask.jobId, holder: ask.holder, fence: row.fence };
  if (row.cancelAsked) return { kind: "cancelled", claim, row };
  if (ask.deadlineAtMs <= nowMs) return { kind: "expired", claim, row };
  const crashes = crashesOf(row);
  return { kind: crashes >= crashesMax ? "poisoned" : "run", claim, row, crashes };
}

function standsInTheWay(row: JobRow, { early = false, nowMs }: Pick<ClaimAsk, "early" | "nowMs">): Verdict {
  const { heldUntilMs, notBeforeMs } = row;
  if (isHeld(row, nowMs)) return { kind: "held", ...(heldUntilMs === undefined ? {} : { heldUntilMs }) };
  if (!early && notBeforeMs !== undefined && notBeforeMs > nowMs) return { kind: "not-yet", notBeforeMs };
  return { kind: "again", why: "late-copy" };
}

/** What a counted release, or one that was refused, means. `counted`: nobody is in the way. */
export type ReleaseVerdict =
  | Extract<Verdict, { readonly kind: "conflict" | "newer" | "done" | "held" }>
  | { readonly kind: "counted"; readonly releases: number };

/** A release refused although nobody is in the way was counted by its own first copy, or by a neighbour just now. */
export function releaseVerdict(answer: ClaimAnswer, ask: ReleaseAsk): ReleaseVerdict {
  const { row } = answer;
  if (row === undefined) return { kind: "counted", releases: 1 };
  if (row.contentHash !== undefined && row.contentHash !== ask.contentHash) return { kind: "conflict" };
  if (row.format > rowFormat) return { kind: "newer", format: row.format };
  if (isAnswered(row)) return { kind: "done", row };
  const inTheWay = standsInTheWay(row, ask);
  return inTheWay.kind === "held" ? inTheWay : { kind: "counted", releases: row.releases };
}

/** Held now, and no other may take it. A running row that does not say until when is corrupt: held, never taken. */
export function isHeld(row: JobRow, nowMs: number): boolean {
  return row.state === "running" && !(row.heldUntilMs !== undefined && row.heldUntilMs < nowMs - claimGraceMs);
}

/** Deliveries that held the claim and never gave it back, the one that holds it now left out. */
export function crashesOf(row: Pick<JobRow, "fence" | "givenBack">): number {
  return Math.max(0, row.fence - 1 - row.givenBack);
}

/** The claim still stands: nobody overtook it and the job has not ended. */
export function isHeldBy(row: JobRow, claim: Claim): boolean {
  return row.holder === claim.holder && row.fence === claim.fence && row.state === "running" && row.reply === undefined;
}

/** A refused extension whose row is ours has succeeded before: only a claim held as long or longer refuses its holder. */
export function afterExtend(row: JobRow | undefined, claim: Claim): Owned {
  return row !== undefined && isHeldBy(row, claim) ? { kind: "owned", row } : { kind: "lost", row };
}

/**
 * What a refused give-back means. A row that is queued with our fence was given back by an earlier copy of the request;
 * one that is ours still was refused by the cancel flag alone, and its holder writes the reply.
 */
export function afterGiveBack(
  row: JobRow | undefined,
  claim: Claim,
): { readonly kind: "given-back" | "cancelled" | "lost" } | { readonly kind: "done"; readonly row: Answered } {
  if (row === undefined) return { kind: "lost" };
  if (isAnswered(row)) return { kind: "done", row };
  if (isHeldBy(row, claim)) return { kind: "cancelled" };
  const ours = row.state === "queued" && row.holder === claim.holder && row.fence === claim.fence;
  return { kind: ours ? "given-back" : "lost" };
}

/** What a refused reply means: found stored word for word it is our own, sent twice. */
export function afterComplete(row: JobRow | undefined, reply: string): "stored" | "done" | "lost" {
  if (row?.reply === undefined) return "lost";
  return row.reply === reply ? "stored" : "done";
}

/** What a refused reply out of the replies queue means; `again`: nobody can tell yet, or a newer worker wrote the row. */
export function afterStoreReply(
  row: JobRow | undefined,
  contentHash: string,
): { readonly kind: "done"; readonly row: Answered } | { readonly kind: "conflict" } | { readonly kind: "again" } {
  if (row?.contentHash !== undefined && row.contentHash !== contentHash) return { kind: "conflict" };
  return isAnswered(row) ? { kind: "done", row } : { kind: "again" };
}

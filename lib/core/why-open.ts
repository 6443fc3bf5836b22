import { allows } from "./breaker.ts";
import type { Breaker } from "./breaker.ts";
import { isHeld } from "./claim.ts";
import type { JobRow } from "./claim.ts";
import { heartbeatMs, holdMs } from "./limits.ts";
import type { RequeueCause } from "./settlement.ts";

/** What an open job does now, and why. */
export interface Standing {
  readonly doing: Doing;
  /** For a person: one sentence without a stop, which names no time. */
  readonly why: string;
  /** When that ends by itself, epoch ms. */
  readonly untilMs?: number;
}

export type Doing =
  /** Its request is at Bedrock. */
  | "asking"
  /** In a worker's hands, for a lease. */
  | "waiting"
  /** In a worker's hands, between two attempts. */
  | "backoff"
  /** In a worker's hands; what it does there has not been told yet. */
  | "claimed"
  /** In SQS, until its time comes. */
  | "requeued"
  /** In SQS, its time has come. */
  | "due"
  /** In SQS, for a worker that knows its model. */
  | "released"
  /** Nobody gave it back, and nobody holds it any more. */
  | "abandoned";

/** What is known of the limit that a job stands at. */
export interface LedgerAt {
  readonly inUse: number;
  readonly limit: number;
  readonly isOut: boolean;
  readonly paused?: { readonly untilMs: number };
  readonly breaker?: Breaker;
}

/** A heartbeat that is later than this has been missed. */
const heartbeatLateMs = 2_000;

interface Around {
  readonly nowMs: number;
  readonly lanePausedUntilMs: number | undefined;
  /** The lane's money for the day is spent. */
  readonly budgetUntilMs?: number | undefined;
  readonly ledgerAt: (step: string) => LedgerAt | undefined;
}

const causes: Readonly<Record<RequeueCause, string>> = {
  capacity: "no step had room for it: their leases were out, or Bedrock throttled",
  quota: "the minute's quota of its target was spent",
  paused: "every step that could serve it was paused",
  budget: "its lane had spent its money for the day",
  circuit_open: "the breakers of its steps were open",
  "taken-out": "an operator has taken its steps out",
  transient: "its last attempt failed with an error that passes",
  hung: "its last attempt got no answer in time",
  bell: "the invocation was about to end while it ran",
  "no-time": "the invocation had too little time left for an attempt",
  memory: "its params had no room in its worker's memory, beside those of other jobs",
  trouble: "DynamoDB, SQS, S3 or the worker itself was in trouble; the log says which",
};

/** The first line that applies wins. */
export function whyOpen(row: JobRow, { nowMs, lanePausedUntilMs, budgetUntilMs, ledgerAt }: Around): Standing {
  const { state, stage = "", step = "a step", cause } = row;
  if (state === "running") {
    if (!isHeld(row, nowMs))
      return { doing: "abandoned", why: "its worker died or was frozen; its message comes again by itself" };
    const missed = (row.heldUntilMs ?? nowMs) - nowMs < holdMs - heartbeatMs - heartbeatLateMs;
    const also = [
      ...(row.cancelAsked ? ["; its worker has been asked to cancel it"] : []),
      ...(missed ? ["; its worker has missed a heartbeat: if it died, the job comes again by itself"] : []),
    ].join("");
    const [, attempt, attemptsMax] = /^attempt=(\d+)\/(\d+)$/.exec(stage) ?? [];
    if (attempt !== undefined)
      return { doing: "asking", why: `${step} works on it, attempt ${attempt} of ${attemptsMax}${also}` };
    if (stage === "backoff")
      return { doing: "backoff", why: `an attempt at ${step} failed; it is asked again in a moment${also}` };
    // The claim itself writes `waiting`, and no step before there is one.
    if (stage === "waiting" && row.step !== undefined) {
      const { why, ...end } = whyNoLease(row.step, ledgerAt(row.step), nowMs);
      return { doing: "waiting", why: why + also, ...end };
    }
    return { doing: "claimed", why: `a worker has ${missed ? "" : "just "}begun with it${also}` };
  }
  const { lane, notBeforeMs = 0, releases, fence } = row; // mutant: `0` → `1`: it has passed as well.
  if (fence === 0 && releases > 0)
    return {
      doing: "released",
      why: `no worker that saw it knows its model, ${times(releases)}; add it to the config, or cancel the job`,
    };
  if (lanePausedUntilMs !== undefined && lanePausedUntilMs >= notBeforeMs)
    return {
      doing: "requeued",
      why: `${theLane(lane)} is paused`,
      untilMs: lanePausedUntilMs,
    };
  if (budgetUntilMs !== undefined)
    return { doing: "requeued", why: `${theLane(lane)} has spent its money for the day`, untilMs: budgetUntilMs };
  if (notBeforeMs > nowMs)
    return {
      doing: "requeued",
      why: cause !== undefined && isCause(cause) ? causes[cause] : "it was handed back",
      untilMs: notBeforeMs,
    };
  return { doing: "due", why: "its time has come; SQS delivers it next, or a worker has it in hand already" };
}

function whyNoLease(step: string, at: LedgerAt | undefined, nowMs: number): Omit<Standing, "doing"> {
  if (at?.isOut === true) return { why: `${step} has been taken out by an operator` };
  if (at?.paused !== undefined && at.paused.untilMs > nowMs)
    return { why: `${step} is paused`, untilMs: at.paused.untilMs };
  const breaker = allows(at?.breaker, nowMs);
  if (breaker.kind === "no") return { why: `the breaker of ${step} is open`, untilMs: breaker.untilMs };
  if (at !== undefined && at.inUse >= at.limit) return { why: `all ${at.limit} leases of ${step} are out` };
  return { why: `waits for a lease on ${step}` };
}

function theLane(lane: string | undefined): string {
  return lane === undefined ? "its lane" : `its lane ${lane}`;
}

function isCause(text: string): text is RequeueCause {
  return Object.hasOwn(causes, text);
}

function times(count: number): string {
  return count === 1 ? "once so far" : `${count} times so far`;
}

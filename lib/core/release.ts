import type { Lane } from "./lane.ts";
import {
  claimGraceMs,
  crowdedDelayMsMax,
  holdMs,
  laneLimits,
  pauseMsMax,
  releaseDeadlineLeftMsMin,
  releasesMax,
  requeueDeadlineLeftMsMin,
  requeueMsBase,
  requeueMsMax,
  sqsHiddenSMax,
  turnMsBase,
} from "./limits.ts";
import type { RequeueCause } from "./settlement.ts";

/** What bounds every hiding of a message, whatever its cause. Times are ms, `receives` is SQS's count. */
export interface Hiding {
  readonly lane: Lane;
  readonly receives: number;
  /** Absent while the envelope is unread: then the lane's latest deadline. */
  readonly deadlineLeftMs?: number;
  /** Passed since this receive: SQS counts its 12 hours from there. */
  readonly sinceReceiveMs: number;
  /** So many messages are hidden that SQS might give out no more. */
  readonly crowded?: boolean;
  /** Of a task token. */
  readonly heartbeatSeconds?: number;
  /** [0, 1) */
  readonly jitter: number;
}

/** Seconds until a requeued message comes again. */
export function requeueDelayS(
  at: Hiding & {
    readonly cause: RequeueCause;
    readonly deadlineLeftMs: number;
    readonly requeues: number;
    readonly knownWaitMs?: number;
  },
): number {
  const isShared =
    at.cause === "paused" ||
    at.cause === "budget" ||
    at.cause === "quota" ||
    (at.cause === "capacity" && at.knownWaitMs !== undefined);
  const waitMs = Math.max(sane(at.knownWaitMs, unknownWaitMs(at.requeues)), isShared ? turnMs(at.receives) : 0);
  const cappedMs = Math.min(waitMs, sane(at.deadlineLeftMs) / 4, pauseMsMax);
  // All who waited for one pause, ours or the server's, would come back at its end: they are spread over as long again.
  const spread = isShared ? 1 : 0.2;
  const delayS = hiddenS(cappedMs * (1 + spread * dice(at)), at);
  return Math.min(delayS, Math.floor(sane(at.deadlineLeftMs) / 1_000));
}

/**
 * The wait that a clock or a pause tells is that of the first in the line, and told to all: whoever has come in vain
 * before comes later each time, or a backlog would use up its receives within minutes.
 */
function turnMs(receives: number): number {
  return Math.min(turnMsBase * 2 ** Math.max(0, sane(receives, 1) - 1), requeueMsMax);
}

/** The wait of which nothing is known doubles with every requeue, up to two minutes. */
export function unknownWaitMs(requeues: number): number {
  return Math.min(requeueMsBase * 2 ** sane(requeues), requeueMsMax);
}

/** How long a plan is paused as a whole: until its earliest step is free. 0: a step can be tried now. */
export function pausedForMs(pausedUntilMs: readonly (number | undefined)[], nowMs: number): number {
  return Math.max(0, Math.min(...pausedUntilMs.map((untilMs) => untilMs ?? nowMs)) - nowMs);
}

/**
 * Whether the message of a paused plan is hidden without a claim, which costs nothing. Near its deadline a job is
 * claimed all the same, for it must be answered; so is one that somebody waits for, for it may sleep a short pause,
 * unless it is the lane itself that an operator has paused.
 */
export function mayWaitUnclaimed(
  lane: Lane,
  { pausedMs, lanePaused }: { readonly pausedMs: number; readonly lanePaused: boolean },
  deadlineLeftMs: number,
): boolean {
  return (lane !== "rt" || lanePaused) && pausedMs > 0 && deadlineLeftMs > requeueDeadlineLeftMsMin;
}

export type ReleaseNext = { readonly kind: "release"; readonly delayS: number } | { readonly kind: "answer" };

/**
 * A model that this worker does not know: another version may, until the releases or the time are used up.
 * `releases` are those before this one.
 */
export function releaseNext(at: Hiding & { readonly deadlineLeftMs: number; readonly releases: number }): ReleaseNext {
  const sparedMs = sane(at.deadlineLeftMs) - releaseDeadlineLeftMsMin;
  const releases = sane(at.releases, releasesMax);
  if (releases >= releasesMax || sparedMs <= 0) return { kind: "answer" };
  const waitMs = Math.min(10_000 * 1.5 ** releases, 60_000) * (1 + 0.5 * dice(at));
  // Never hidden into the time that is kept for the answer.
  return { kind: "release", delayS: hiddenS(Math.min(waitMs, sparedMs), at) };
}

/** Another delivery holds the claim: hidden until it may be taken. `lateCopy`: refused by the late-copy clause alone. */
export function heldDelayS(
  at: Hiding & { readonly nowMs: number; readonly heldUntilMs?: number; readonly lateCopy?: boolean },
): number {
  if (at.lateCopy === true) return notBegunDelayS(at);
  // A row without a readable end is corrupt: it is looked at again as if it were held anew.
  const leftMs = sane(at.heldUntilMs, at.nowMs + holdMs) - at.nowMs;
  return hiddenS(Math.max(leftMs, 0) + claimGraceMs * (1 + dice(at)), at);
}

/** A requeue's delay has not passed: SQS brought the message back too early. Its spread is in `notBefore` already. */
export function notYetDelayS(at: Hiding & { readonly nowMs: number; readonly notBeforeMs: number }): number {
  return hiddenS(sane(at.notBeforeMs) - at.nowMs, at);
}

/** Something unexpected happened with this record: 5–15 s. */
export function againDelayS(at: Hiding): number {
  return hiddenS(between(5, 15, at) * 1_000, at);
}

/** Its object has no room in this container: another may have it, or this one when other jobs have ended. */
export function noRoomDelayS(at: Hiding): number {
  return at.lane === "rt" ? notBegunDelayS(at) : againDelayS(at);
}

/** A message that only another version's worker may read: a minute, and up to half of it more. */
export function strangerDelayS(at: Hiding): number {
  return hiddenS(60_000 * (1 + 0.5 * dice(at)), at);
}

/** Nothing has happened with this record yet: 0–2 s. */
export function notBegunDelayS(at: Hiding): number {
  return hiddenS(between(0, 2, at) * 1_000, at);
}

/**
 * The end of every delay: an integer that SQS takes. Receives cannot be given back, so a message that has used up many
 * is hidden long enough for the rest to last until its deadline; only a task token's heartbeat is heard over that.
 */
function hiddenS(wantedMs: number, at: Hiding): number {
  const calmMs = Math.min(sane(wantedMs), at.crowded === true ? crowdedMs(at) : Infinity);
  const wantedS = Math.ceil(Math.max(calmMs, stretchedMs(at)) / 1_000);
  const sqsLeftS = Math.floor(sqsHiddenSMax - sane(at.sinceReceiveMs) / 1_000);
  const heartbeatLeftS = Math.ceil(sane(at.heartbeatSeconds, sqsHiddenSMax)) - 1;
  return Math.max(0, Math.min(wantedS, sqsLeftS, heartbeatLeftS));
}

/** Spread, for a crowd that comes back in one second is none the smaller. */
function crowdedMs(at: Hiding): number {
  return crowdedDelayMsMax * (1 - 0.25 * dice(at));
}

function stretchedMs({ lane, receives, deadlineLeftMs }: Hiding): number {
  const { deadlineMsMax, receivesMax, receivesStretchedFrom } = laneLimits[lane];
  if (!(receives >= receivesStretchedFrom)) return 0;
  // The last of them are spaced by halves: a message that sleeps to its deadline is answered too late.
  const receivesLeft = Math.max(2, receivesMax - receives - 10);
  // A job that has lowered its lane lives longer than the queue's own do.
  const leftMs = sane(deadlineLeftMs, deadlineMsMax);
  // Past its deadline a job only waits to be told so: not for ever, and not until its receives are gone.
  return leftMs > 0 ? leftMs / receivesLeft : Math.min(deadlineMsMax / receivesLeft, pauseMsMax);
}

function between(min: number, max: number, at: Hiding): number {
  return Math.min(max, min + Math.floor(dice(at) * (max - min + 1)));
}

function dice({ jitter }: Hiding): number {
  return Math.min(sane(jitter), 1);
}

/** Rows and headers are written by others: what is no finite number counts as absent, what is negative as nothing. */
function sane(value: number | undefined, otherwise = 0): number {
  return value === undefined || !Number.isFinite(value) ? otherwise : Math.max(0, value);
}

import { backoffMs } from "./backoff.ts";
import type { Failure } from "./failure.ts";
import type { Lane } from "./lane.ts";
import { attemptsPerStepMax, laneLimits, sleepMsMax, throttledAttemptsPerStepMax } from "./limits.ts";

/** What a job has left at one moment of a delivery. Times are ms. */
export interface Left {
  readonly lane: Lane;
  /** Of `attemptsPerLifeMax`, with the attempt that has just failed taken off if its kind counts. */
  readonly lifeAttemptsLeft: number;
  readonly deadlineLeftMs: number;
  /** Until the closing bell. */
  readonly invocationLeftMs: number;
  /** What an attempt needs before the bell: min(the lane's attemptMsMax, 3 × typicalMs). */
  readonly attemptMs: number;
  /** Backoff slept so far in this delivery. */
  readonly sleptMs: number;
}

/** Where a job stands after a failed attempt on a step. */
export interface Standing extends Left {
  /** Attempts on this step in this delivery, the failed one included. */
  readonly attempt: number;
  /** Steps that follow in the chain and may be tried. */
  readonly stepsLeft: number;
  /** [0, 1) */
  readonly jitter: number;
}

/**
 * `advance` is the next step; where there is none, `exhausted` speaks: it alone sees the whole chain, so nothing here
 * requeues. `fail` ends the job with this failure's error (`errorOf`).
 */
export type Next =
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "advance" }
  | { readonly kind: "fail" };

/** What follows a failed attempt; read downward, the first line that applies wins. */
export function decide(failure: Failure, at: Standing): Next {
  if (failure.kind === "fatal") return { kind: "fail" };
  // A throttle is not counted itself, but the attempt that follows it might be: nothing is left for that one.
  if (at.lifeAttemptsLeft <= 0) return { kind: "fail" };

  if (failure.kind === "target" || failure.kind === "context" || failure.kind === "daily") return { kind: "advance" };
  if (failure.kind === "hung" && at.stepsLeft > 0) return { kind: "advance" };

  const attemptsMax = failure.kind === "throttled" ? throttledAttemptsPerStepMax : attemptsPerStepMax;
  if (at.attempt >= attemptsMax) return { kind: "advance" };

  // Sleeping is paid Lambda time: a long pause is another step's chance, else SQS's to keep.
  const delayMs = backoffMs(failure, at.attempt, at.jitter);
  return maySleep(delayMs, at) ? { kind: "retry", delayMs } : { kind: "advance" };
}

/** A pause may be slept if it is short, within the delivery's budget, and the job and an attempt both outlive it. */
export function maySleep(delayMs: number, left: Left): boolean {
  return (
    delayMs <= sleepMsMax &&
    left.sleptMs + delayMs <= laneLimits[left.lane].backoffMsMax &&
    delayMs < left.deadlineLeftMs &&
    delayMs + left.attemptMs <= left.invocationLeftMs
  );
}

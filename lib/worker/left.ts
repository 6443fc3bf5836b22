import type { Left } from "../core/decide.ts";
import { patienceMs } from "../core/limit.ts";
import { attemptsPerLifeMax, laneLimits } from "../core/limits.ts";
import type { Step } from "../core/plan.ts";
import type { Run } from "./run.ts";

/** What the job has left; `steps` are those that an attempt may be made on. */
export function leftOf(run: Run, steps: readonly Step[]): Left {
  const nowMs = run.clock.nowMs();
  const longestMs = attemptMsMax(run);
  return {
    lane: run.job.lane,
    lifeAttemptsLeft: attemptsPerLifeMax - run.progress.attempts,
    deadlineLeftMs: run.job.deadlineAtMs - nowMs,
    invocationLeftMs: run.invocation.bellAtMs - nowMs,
    attemptMs: Math.min(longestMs, ...steps.map(({ typicalMs }) => 3 * (typicalMs ?? Infinity))),
    sleptMs: run.sleptMs,
  };
}

/** What is left of the wait for leases on a step in this delivery, for all its attempts: a walk brings it anew. */
export function leaseWaitMs(run: Run, step: Step, walk: number): number {
  if (step.requireHeadroom) return 0;
  const { lane } = run.job;
  const { leaseWaitMsMax, walksMax } = laneLimits[lane];
  const bounds = { limitStart: step.limit.start, limitMax: step.limit.max };
  const waitMs = patienceMs(leaseWaitMsMax * Math.min(walk, walksMax), lane, run.board.head(step.name), bounds);
  return Math.max(0, waitMs - (run.leaseWaits.get(step.name) ?? 0));
}

/** A job that lowered its lane still runs in the invocation of the queue it came by. */
export function attemptMsMax({ job, delivery }: Run): number {
  return Math.min(laneLimits[job.lane].attemptMsMax, laneLimits[delivery.lane].attemptMsMax);
}

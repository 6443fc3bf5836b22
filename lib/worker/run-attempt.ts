import type { Attempted, Cut, Usage } from "../core/attempt.ts";
import { noUsage } from "../core/attempt.ts";
import { perhapsBilled } from "../core/estimate.ts";
import type { Failure } from "../core/failure.ts";
import { classify, mayHaveBegun } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { burndownFor, chargeOf, wantedBy } from "../core/ledgers.ts";
import type { LeaseOutcome, NoLease } from "../core/lease.ts";
import { attemptMsMin, attemptsPerStepMax } from "../core/limits.ts";
import type { Need, Step } from "../core/plan.ts";
import { unusedTokens } from "../core/reserve.ts";
import type { ModelAnswer } from "../ports.ts";
import { inTime, lastTry } from "./in-time.ts";
import type { TakenLease } from "./lease-desk.ts";
import type { Run } from "./run.ts";
import { Infrastructure } from "./trouble.ts";

export type Tried = { readonly kind: "no-lease"; readonly why: NoLease } | Attempted;

/** One request to Bedrock, under a lease of every limit that applies. Every way out returns them before anything sleeps. */
export async function runAttempt(
  run: Run,
  step: Step,
  params: JsonObject,
  need: Need,
  attempt: number,
  attemptMsMax: number,
  leaseWaitMsMax: number,
): Promise<Tried> {
  const { desk, config, world } = run.invocation.worker;
  run.show({ kind: "waiting", step: step.name });
  const askedAtMs = world.clock.nowMs();
  const taken = await desk.take(wantedBy(run.job, step, need, config), {
    waitMs: leaseWaitMsMax,
    signal: run.signal,
    tags: run.tags,
  });
  const waitedMs = world.clock.nowMs() - askedAtMs;
  run.leaseWaits.set(step.name, (run.leaseWaits.get(step.name) ?? 0) + waitedMs);
  run.add({ leaseWaitMs: run.progress.leaseWaitMs + waitedMs });
  if (taken.kind !== "taken") return { kind: "no-lease", why: taken };

  const unusedBy = (attempted?: Attempted) =>
    unusedTokens(chargeOf(taken.wanted)?.tokens ?? 0, attempted, burndownFor(step));
  let [outcome, unused]: [LeaseOutcome, number] = [{ kind: "neutral" }, 0]; // what nobody knows of was spent
  try {
    // The wait may have been long, or a freeze: a request goes out only for a job that is still ours and not over.
    if (run.cutBy !== undefined) {
      unused = unusedBy();
      return { kind: "no-lease", why: { kind: "aborted" } };
    }
    run.show({ kind: "attempt", step: step.name, attempt, attemptsMax: attemptsPerStepMax });
    const attempted = await ask(run, step, params, need, taken, attemptMsMax);
    [outcome, unused] = [outcomeForLimit(attempted), unusedBy(attempted)];
    return attempted;
  } catch (error) {
    // Turned away at the door, by credentials that have expired: no model has seen it.
    if (error instanceof Infrastructure) unused = unusedBy();
    throw error;
  } finally {
    // Notes its own failure, and keeps no answer from being stored after the bell: the lease's expiry is the backstop.
    await inTime(run.invocation, desk.giveBack(taken, outcome, unused));
  }
}

/** One request, under every bound at once; the one that fired first says what the cut means. */
async function ask(
  run: Run,
  step: Step,
  params: JsonObject,
  need: Need,
  lease: TakenLease,
  attemptMsMax: number,
): Promise<Attempted> {
  const { clock, models } = run.invocation.worker.world;
  const startedAtMs = clock.nowMs();
  const leftMs = run.job.deadlineAtMs - startedAtMs;
  const brokenOff = (tookMs: number): Usage => {
    const maxTokens = Math.min(step.maxTokens, need.maxTokens ?? step.maxTokens);
    return { ...noUsage, possiblyBilledTokens: perhapsBilled(need.inputTokens, maxTokens, tookMs) };
  };

  const bound = new AbortController();
  let firstCut: Cut | undefined;
  const cut = (by: Cut) => {
    firstCut ??= by;
    bound.abort(by);
  };
  const onRunCut = () => cut(run.cutBy ?? "bell");
  const onLeaseLost = () => cut("lease-lost");
  const cancelTimer =
    attemptMsMax <= leftMs
      ? clock.after(Math.max(attemptMsMax, attemptMsMin), () => cut("attempt"))
      : clock.after(Math.max(leftMs, attemptMsMin), () => cut("deadline"));
  run.signal.addEventListener("abort", onRunCut);
  lease.lost.addEventListener("abort", onLeaseLost);
  if (run.signal.aborted) onRunCut();
  if (lease.lost.aborted) onLeaseLost();

  try {
    const request = { step, op: run.job.op, params, jobId: run.job.jobId };
    const answer = await lastTry(run.invocation, () => models.ask(request, bound.signal));
    return attemptedOf(answer, clock.nowMs(), startedAtMs, brokenOff);
  } catch (error) {
    if (firstCut === undefined) throw error;
    const tookMs = clock.nowMs() - startedAtMs;
    return cutShort(firstCut, brokenOff(tookMs), tookMs);
  } finally {
    cancelTimer();
    run.signal.removeEventListener("abort", onRunCut);
    lease.lost.removeEventListener("abort", onLeaseLost);
  }
}

function attemptedOf(
  answer: ModelAnswer,
  nowMs: number,
  startedAtMs: number,
  brokenOff: (tookMs: number) => Usage,
): Attempted {
  const tookMs = nowMs - startedAtMs;
  if (answer.kind === "answered") return { ...answer, tookMs };
  const { error } = answer;
  const failure = classify(error, nowMs);
  if (failure.kind === "infra") throw new Infrastructure(failure.name);
  // A stream may have told its tokens before it broke.
  const isUntold = answer.usage.possiblyBilledTokens === 0 && mayHaveBegun(failure.kind, error);
  const usage = isUntold ? brokenOff(tookMs) : answer.usage;
  return { kind: "failed", failure, usage, tookMs, ...(error.unsent === true ? { unsent: true } : {}) };
}

/** Our own attempt bound means that the target hangs; every other cut is about us, not about the target. */
function cutShort(by: Cut, usage: Usage, tookMs: number): Attempted {
  if (by !== "attempt") return { kind: "cut", by, usage, tookMs };
  const failure: Failure = { kind: "hung", name: "AttemptTimeout" };
  return { kind: "failed", failure, usage, tookMs };
}

function outcomeForLimit(attempted: Attempted): LeaseOutcome {
  if (attempted.kind !== "failed") return { kind: "neutral" };
  const { kind, retryAfterMs } = attempted.failure;
  if (kind === "daily") return { kind: "daily" };
  if (kind === "throttled") return { kind: "throttled", ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  return { kind: "neutral" };
}

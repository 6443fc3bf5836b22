import type { Attempted, Cut } from "../core/attempt.ts";
import { allows } from "../core/breaker.ts";
import { stepParts } from "../core/config.ts";
import { needOn, wantsCount } from "../core/count-tokens.ts";
import { decide } from "../core/decide.ts";
import { errorOf } from "../core/chain-error.ts";
import { errorName } from "../core/error-name.ts";
import { exhausted } from "../core/exhausted.ts";
import { withoutLease } from "../core/hope.ts";
import type { StepOutcome } from "../core/hope.ts";
import { failureOfStop } from "../core/failure.ts";
import type { Failure } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import { leaseAsks } from "../core/ledgers.ts";
import { inOrder } from "../core/override.ts";
import { needOf, paramsFor, skipReason } from "../core/plan.ts";
import { billedAs } from "../core/price.ts";
import type { Need, Step, StepFacts } from "../core/plan.ts";
import { requeueDelayS } from "../core/release.ts";
import type { RequeueCause, Settlement } from "../core/settlement.ts";
import { account } from "./account.ts";
import { behindBreaker } from "./behind-breaker.ts";
import { countTokens } from "./count-tokens.ts";
import { hidingFacts } from "./hiding-facts.ts";
import { inTime } from "./in-time.ts";
import { attemptMsMax, leaseWaitMs, leftOf } from "./left.ts";
import { endedAs, failed } from "./replies.ts";
import type { JobReply } from "./replies.ts";
import { runAttempt } from "./run-attempt.ts";
import type { Run } from "./run.ts";
import { standingOf } from "./standing.ts";
import { Infrastructure } from "./trouble.ts";

/** One walk over the chain, and what the walks before it have brought. */
interface Walk {
  readonly number: number;
  readonly steps: readonly Step[];
  readonly params: JsonObject;
  readonly need: Need;
  readonly seen: Seen;
}

interface Seen {
  /** The prompt's tokens, by the models that have counted them. */
  readonly counts: Map<string, number | undefined>;
  /** The largest window that has refused the prompt. */
  tooLongFor?: number;
  /** An answer that the config wants another model to better: the job's own if none does. */
  refusal?: { readonly step: Step; readonly output: JsonObject };
}

/** How a step was left without an answer, or how the job goes on. */
type StepEnd = { readonly kind: "left"; readonly outcome: StepOutcome } | Settlement;

/** Walks the steps of a claimed job until one answers, or until the rules say how it goes on. */
export async function runPlan(run: Run, planned: readonly Step[], params: JsonObject): Promise<Settlement> {
  await inTime(run.invocation, run.board.read());
  const { model, target } = stepParts(run.job.model);
  const steps = inOrder(planned, run.board.overrides.models.get(model), target !== undefined);
  run.firstStep = steps[0]?.name;
  const seen: Seen = { counts: new Map() };
  const end = await walkChain(run, steps, params, seen).catch((error: unknown) => {
    if (seen.refusal === undefined) throw error;
    run.note({ kind: "trouble", what: "better a refusal", error: errorName(error) });
    return requeue(run, "trouble", 0);
  });
  // A refusal was paid for, and it is an answer: only a better one, a cancel or another holder goes before it.
  const isBetter = end.kind === "lost" || (end.kind === "reply" && (end.reply.ok || end.reply.status === "cancelled"));
  if (seen.refusal === undefined || isBetter) return end;
  const { step, output } = seen.refusal;
  return endedAs(run, { kind: "succeeded", output }, step);
}

async function walkChain(run: Run, steps: readonly Step[], params: JsonObject, seen: Seen): Promise<Settlement> {
  const need = needOf(run.job.op, params);
  const outcomes = new Map<string, StepOutcome>();
  let onWalk = steps;

  for (let number = 1; ; number += 1) {
    const full = new Set<string>();
    for (const step of onWalk) {
      const ledger = ledgersOn(run, step).find((name) => full.has(name));
      const end =
        ledger === undefined
          ? await runStep(run, step, { number, steps: onWalk, params, need, seen })
          : leave(run, 1, { step: step.name, kind: "no-lease", ledger });
      if (end.kind !== "left") return end;
      outcomes.set(step.name, end.outcome);
      // A limit over several targets that was waited for in vain is no better by another model.
      if (end.outcome.kind === "no-lease" && end.outcome.ledger !== undefined) full.add(end.outcome.ledger);
      if (end.outcome.kind === "cut" || end.outcome.kind === "no-time") break;
    }

    const { requeues, bellCuts } = run.progress;
    const at = { ...leftOf(run, onWalk), nowMs: run.clock.nowMs(), walk: number, requeues, bellCuts };
    const next = exhausted([...outcomes.values()], at);
    switch (next.kind) {
      case "walk-again":
        await backOff(run, next.delayMs);
        onWalk = steps.filter(({ name }) => next.steps.includes(name));
        break;
      case "requeue":
        return requeue(run, next.cause, next.knownWaitMs);
      case "fail":
        return failed(run, next.error);
    }
  }
}

/** The attempts of one walk on one step: the only loop over attempts. */
async function runStep(run: Run, step: Step, walk: Walk): Promise<StepEnd> {
  const params = paramsFor(step, run.job, walk.params);
  for (let attempt = 1; ; attempt += 1) {
    await inTime(run.invocation, run.board.read());
    if (isWorthCounting(run, step, walk)) await countTokens(run, step, params, walk.seen.counts);
    const ended = endedMeanwhile(run);
    if (ended !== undefined) return ended;
    const reason = skipReason(step, factsOf(run, step, walk));
    if (reason !== undefined) return leave(run, attempt, { step: step.name, kind: "skipped", reason });
    const left = leftOf(run, [step]);
    if (left.attemptMs > left.invocationLeftMs) return leave(run, attempt, { step: step.name, kind: "no-time" });
    run.begin(step.name, attempt);
    if (attempt === 1 && step.name !== run.firstStep) run.note({ kind: "fallback" }, step.name);

    const longestMs = attemptMsMax(run);
    const tried = await behindBreaker(run, step, longestMs, () =>
      runAttempt(
        run,
        step,
        params,
        needOn(step, walk.need, walk.seen.counts),
        attempt,
        longestMs,
        leaseWaitMs(run, step, walk.number),
      ),
    );
    if (tried.kind === "shut") return leave(run, attempt, { step: step.name, ...shut(tried.untilMs) });
    if (tried.kind === "no-lease") {
      if (tried.why.kind === "aborted") continue; // whatever cut the wait stands in endedMeanwhile
      if (tried.why.kind === "infra") throw new Infrastructure("LeaseTableUnreachable", tried.why.error);
      if (step.requireHeadroom && tried.why.kind === "full")
        return leave(run, attempt, { step: step.name, kind: "skipped", reason: { kind: "no-headroom" } });
      return leave(run, attempt, withoutLease(step.name, tried.why));
    }

    account(run, billedAs(step, params), tried);
    if (tried.kind === "answered" && run.invocation.worker.config.logPayloads)
      run.note({ kind: "payload", params, output: tried.output }, step.name);
    const cut = tried.kind === "cut" ? afterCut(run, step, attempt, tried.by) : undefined;
    if (cut !== undefined) return cut;
    const failure = judge(run, step, tried, attempt, walk);
    if (failure.kind === "reply") return failure;

    const stepsLeft = stepsAfter(step, walk).filter(
      (later) => skipReason(later, factsOf(run, later, walk)) === undefined,
    );
    const jitter = run.clock.jitter();
    const next = decide(failure, { ...leftOf(run, [step]), attempt, stepsLeft: stepsLeft.length, jitter });
    switch (next.kind) {
      case "retry": {
        // Nobody sleeps in front of a door that will be shut when he wakes.
        const then = allows(run.board.breaker(step.name), run.clock.nowMs() + next.delayMs);
        if (then.kind === "no") return leave(run, attempt + 1, { step: step.name, ...shut(then.untilMs) });
        await backOff(run, next.delayMs, step);
        break;
      }
      case "advance":
        return leave(run, attempt + 1, { step: step.name, kind: "failed", failure, atMs: run.clock.nowMs() });
      case "fail":
        leave(run, attempt + 1, { step: step.name, kind: "failed", failure, atMs: run.clock.nowMs() });
        return failed(run, errorOf(failure, step.name));
    }
  }
}

/** Nothing but an estimate speaks against the step: a count is what there is still to know. */
function isWorthCounting(run: Run, step: Step, walk: Walk): boolean {
  if (!wantsCount(step)) return false;
  const reason = skipReason(step, factsOf(run, step, walk));
  return reason === undefined || (reason.kind === "prompt-too-long" && reason.estimated);
}

/** What an attempt that ran to its end brought: the job's answer, or a failure. */
function judge(run: Run, step: Step, tried: Attempted, attempt: number, { seen }: Walk): JobReply | Failure {
  switch (tried.kind) {
    case "failed":
      if (tried.failure.kind === "context") outgrown(step, seen);
      return tried.failure;
    case "cut": // of all cuts only a lost lease comes here: the step is asked again
      return { kind: "transient", name: "LeaseLost" };
    case "answered": {
      const { output, stopReason } = tried;
      const overflow = failureOfStop(stopReason);
      if (overflow !== undefined) {
        outgrown(step, seen);
        return overflow;
      }
      if (stopReason !== undefined && step.fallbackOn.includes(stopReason)) {
        seen.refusal ??= { step, output };
        return { kind: "target", name: stopReason };
      }
      run.steps.push({ step: step.name, outcome: "answered", attempts: attempt });
      return endedAs(run, { kind: "succeeded", output }, step);
    }
  }
}

/** No window as small as this step's is worth asking about this prompt. */
function outgrown({ contextWindow = 0 }: Step, seen: Seen): void {
  seen.tooLongFor = Math.max(seen.tooLongFor ?? 0, contextWindow);
}

/** A request that was cut short says nothing about its target; what it means for the job depends on who cut it. */
function afterCut(run: Run, step: Step, attempt: number, by: Exclude<Cut, "attempt">): StepEnd | undefined {
  if (by === "lease-lost") return undefined;
  const left = leave(run, attempt + 1, { step: step.name, kind: "cut" });
  switch (by) {
    case "deadline":
      return endedAs(run, { kind: "expired" });
    case "cancelled":
      return endedAs(run, { kind: "cancelled" });
    case "claim-lost":
      return { kind: "lost" };
    case "bell":
      run.add({ bellCuts: run.progress.bellCuts + 1 });
      return left;
  }
}

/** Whatever ended this run while it waited or slept; read before each request, so that none is sent in vain. */
function endedMeanwhile(run: Run): Settlement | undefined {
  switch (run.cutBy) {
    case "cancelled":
      return endedAs(run, { kind: "cancelled" });
    case "claim-lost":
      return { kind: "lost" };
    case "deadline":
      return endedAs(run, { kind: "expired" });
    case "bell":
      return requeue(run, "bell", 0);
    case undefined:
    case "attempt":
    case "lease-lost":
      return undefined;
  }
}

/** `attempt` is the one that was not begun any more: those before it were made. */
function leave(run: Run, attempt: number, outcome: StepOutcome): StepEnd & { kind: "left" } {
  const what =
    outcome.kind === "skipped" ? outcome.reason.kind : outcome.kind === "failed" ? outcome.failure.name : outcome.kind;
  const where = outcome.kind === "no-lease" && outcome.ledger !== undefined ? { ledger: outcome.ledger } : {};
  run.steps.push({ step: outcome.step, outcome: what, ...where, attempts: attempt - 1 });
  if (outcome.kind === "skipped") run.note({ kind: "step-skipped", reason: outcome.reason.kind }, outcome.step);
  return { kind: "left", outcome };
}

/** Somebody else's probe, or the breaker's opening, stands before this step. */
function shut(untilMs: number) {
  return { kind: "skipped", reason: { kind: "breaker-open", untilMs } } as const;
}

/** Sleeps without a lease, at most 5 s at a time by the rules that allow it; a cut ends it early. */
async function backOff(run: Run, delayMs: number, step?: Step): Promise<void> {
  const fromMs = run.clock.nowMs();
  run.show({ kind: "backoff", step: step?.name ?? run.firstStep ?? "", untilMs: fromMs + delayMs });
  await run.clock.sleep(delayMs, run.signal);
  const sleptMs = run.clock.nowMs() - fromMs;
  run.sleptMs += sleptMs;
  run.add({ sleptMs: run.progress.sleptMs + sleptMs });
}

function requeue(run: Run, cause: RequeueCause, knownWaitMs: number | undefined): Settlement {
  const { requeues } = run.progress;
  run.add({ requeues: requeues + 1 });
  const known = knownWaitMs === undefined ? {} : { knownWaitMs };
  const delayS = requeueDelayS({ ...hidingFacts(run.invocation, run.delivery, run.job), cause, requeues, ...known });
  return { kind: "requeue", delayS, cause };
}

function ledgersOn({ invocation, job }: Run, step: Step): readonly string[] {
  return leaseAsks(job, step, invocation.worker.config).map(({ ledger }) => ledger);
}

function stepsAfter(step: Step, { steps }: Walk): readonly Step[] {
  return steps.slice(steps.indexOf(step) + 1);
}

function factsOf(run: Run, step: Step, walk: Walk): StepFacts {
  const nowMs = run.clock.nowMs();
  const breaker = allows(run.board.breaker(step.name), nowMs);
  const { tooLongFor } = walk.seen;
  return {
    need: needOn(step, walk.need, walk.seen.counts),
    nowMs,
    deadlineLeftMs: run.job.deadlineAtMs - nowMs,
    stepsAfter: stepsAfter(step, walk),
    walk: walk.number,
    ...standingOf(run.invocation.worker, run.job, step),
    ...(breaker.kind === "no" ? { breakerUntilMs: breaker.untilMs } : {}),
    ...(tooLongFor === undefined ? {} : { tooLongFor }),
  };
}

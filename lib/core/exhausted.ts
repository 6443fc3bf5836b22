import type { Left } from "./decide.ts";
import { maySleep } from "./decide.ts";
import { endings } from "./endings.ts";
import type { Failure } from "./failure.ts";
import { bellCutsMax, dailyPauseMs, laneLimits, requeueDeadlineLeftMsMin } from "./limits.ts";
import type { SkipReason } from "./plan.ts";
import { unknownWaitMs } from "./release.ts";
import type { ReplyError } from "./reply.ts";
import type { RequeueCause } from "./settlement.ts";

/** How a step of the chain was left, its last outcome in this delivery. Times are epoch ms. */
export type StepOutcome = { readonly step: string } & (
  | { readonly kind: "skipped"; readonly reason: SkipReason }
  /** `untilMs`: the ledger is paused until then; absent: its limit is full. */
  | { readonly kind: "no-lease"; readonly untilMs?: number }
  | { readonly kind: "failed"; readonly failure: Failure; readonly atMs: number }
  /** By the closing bell. */
  | { readonly kind: "cut" }
  /** Not begun, for the invocation would not have outlived it. */
  | { readonly kind: "no-time" }
);

/** Where a job stands when its chain is through. */
export interface ChainEnd extends Left {
  readonly nowMs: number;
  /** How often the chain has been walked in this delivery, this time included. */
  readonly walk: number;
  readonly requeues: number;
  /** In the job's life, this delivery included. */
  readonly bellCuts: number;
}

export type Exhausted =
  /** Sleep so long (it counts as backoff slept), then walk these steps of the chain again. */
  | { readonly kind: "walk-again"; readonly delayMs: number; readonly steps: readonly string[] }
  | { readonly kind: "requeue"; readonly cause: RequeueCause; readonly knownWaitMs?: number }
  | { readonly kind: "fail"; readonly error: ReplyError };

/** The longest that a job somebody waits for sleeps towards a breaker's probe. */
const probeWaitMsMax = 2_000;
/** A head is read once a second: who wakes earlier reads the same pause again. */
const pauseMsMin = 1_000;

/**
 * What follows when no step has answered. A job waits here for what ends within moments, else in SQS, and fails only
 * without hope, life or time; of several outcomes the most hopeful decides, the one whose cause ends soonest.
 */
export function exhausted(tried: readonly StepOutcome[], at: ChainEnd): Exhausted {
  const outcomes = [...new Map(tried.map((outcome) => [outcome.step, outcome])).values()];
  const hopes = hopesOf(outcomes, at);
  const cut = hopes.some(({ kind }) => kind === "bell");
  if (cut && at.bellCuts >= bellCutsMax) return { kind: "fail", error: endings.bellCuts() };
  if (at.lifeAttemptsLeft <= 0) return { kind: "fail", error: chainError(outcomes, hopes) };

  const again = walkAgain(outcomes, hopes, at);
  if (again !== undefined) return again;
  const best = hopes.find((hope) => mayRequeue(hope, at));
  if (best === undefined) return { kind: "fail", error: chainError(outcomes, hopes) };
  return { kind: "requeue", cause: causes[best.kind], ...(best.known && { knownWaitMs: best.waitMs }) };
}

const causes = {
  "no-time": "no-time",
  bell: "bell",
  full: "capacity",
  throttled: "capacity",
  paused: "paused",
  daily: "paused",
  breaker: "circuit_open",
  transient: "transient",
  hung: "hung",
} as const satisfies Readonly<Record<string, RequeueCause>>;

/** That a step may do better later, and when: a wait that nobody knows is the one that a requeue would take. */
interface Hope {
  readonly kind: keyof typeof causes;
  readonly step: string;
  readonly waitMs: number;
  readonly known: boolean;
  readonly failure?: Failure;
}

/** The hopes of a chain, the soonest first, then in the chain's order. */
function hopesOf(outcomes: readonly StepOutcome[], at: ChainEnd): Hope[] {
  return outcomes.flatMap((outcome) => hopeOf(outcome, at) ?? []).sort((a, b) => a.waitMs - b.waitMs);
}

function hopeOf(outcome: StepOutcome, at: ChainEnd): Hope | undefined {
  const { step } = outcome;
  const unknown = { step, waitMs: unknownWaitMs(at.requeues), known: false };
  const until = (untilMs: number) => ({ step, waitMs: Math.max(0, untilMs - at.nowMs), known: true });
  switch (outcome.kind) {
    case "cut":
      return { kind: "bell", ...until(at.nowMs) };
    case "no-time":
      return { kind: "no-time", ...until(at.nowMs) };
    case "no-lease":
      return outcome.untilMs === undefined
        ? { kind: "full", ...unknown }
        : { kind: "paused", ...until(outcome.untilMs) };
    case "skipped":
      return hopeOfSkipped(outcome.reason, unknown, until);
    case "failed": {
      const { failure, atMs } = outcome;
      const asked = failure.retryAfterMs ?? (failure.kind === "daily" ? dailyPauseMs : undefined);
      return hopeOfFailed(failure, asked === undefined ? unknown : until(atMs + asked));
    }
  }
}

type When = Pick<Hope, "step" | "waitMs" | "known">;

function hopeOfSkipped(reason: SkipReason, unknown: When, until: (untilMs: number) => When): Hope | undefined {
  switch (reason.kind) {
    case "breaker-open":
      return { kind: "breaker", ...until(reason.untilMs) };
    case "paused":
      return { kind: "paused", ...until(reason.untilMs) };
    case "no-headroom":
      return { kind: "full", ...unknown };
    case "op-not-served":
    case "feature-missing":
    case "too-slow":
    case "prompt-too-long":
      return undefined;
  }
}

function hopeOfFailed(failure: Failure, when: When): Hope | undefined {
  switch (failure.kind) {
    case "throttled":
    case "not-ready":
      return { kind: "throttled", ...when, failure };
    case "daily":
    case "transient":
    case "hung":
      return { kind: failure.kind, ...when, failure };
    case "target":
    case "context":
    case "fatal":
      return undefined;
  }
}

/** Only steps that were not asked in vain are walked again: the others have had their attempts of this delivery. */
function walkAgain(outcomes: readonly StepOutcome[], hopes: readonly Hope[], at: ChainEnd): Exhausted | undefined {
  const spared = outcomes.filter((outcome) => outcome.kind === "no-lease" || outcome.kind === "skipped");
  const delayMs = Math.min(
    ...hopes.filter(({ failure }) => failure === undefined).map((hope) => walkDelayMs(hope, spared, at)),
    // An estimate rules no step out: what only it has put last is tried now that nothing else is left.
    hopes.length === 0 && at.walk === 1 && spared.some(isEstimate) ? 0 : Infinity,
  );
  if (!maySleep(delayMs, at)) return undefined;
  const steps = spared.filter((outcome) => isEstimate(outcome) || hopeOf(outcome, at) !== undefined);
  return { kind: "walk-again", delayMs, steps: steps.map(({ step }) => step) };
}

function isEstimate(outcome: StepOutcome): boolean {
  return outcome.kind === "skipped" && outcome.reason.kind === "prompt-too-long" && outcome.reason.estimated;
}

/** How long to sleep before the chain is walked again for this hope; Infinity: not in this delivery. */
function walkDelayMs({ kind, waitMs }: Hope, spared: readonly StepOutcome[], at: ChainEnd): number {
  const { walksMax, leaseWaitMsMax } = laneLimits[at.lane];
  switch (kind) {
    case "full":
      if (at.walk >= walksMax) return Infinity;
      // Whoever stood in line for a lease has waited already; a skipped step has not.
      return spared.some((outcome) => outcome.kind === "no-lease" && outcome.untilMs === undefined)
        ? 0
        : leaseWaitMsMax;
    case "paused":
      return Math.max(waitMs, pauseMsMin);
    case "breaker":
      return at.lane === "rt" && waitMs <= probeWaitMsMax ? Math.max(waitMs, pauseMsMin) : Infinity;
    case "no-time":
    case "bell":
    case "throttled":
    case "daily":
    case "transient":
    case "hung":
      return Infinity;
  }
}

/** Somebody waits for an rt job: it goes back only for a cause that is likely over in time for a second delivery. */
function mayRequeue({ kind, waitMs }: Hope, { lane, deadlineLeftMs }: ChainEnd): boolean {
  if (lane !== "rt") return deadlineLeftMs > requeueDeadlineLeftMsMin;
  if (kind === "full" || kind === "breaker" || kind === "hung") return false;
  return deadlineLeftMs - waitMs > requeueDeadlineLeftMsMin;
}

/** The error of a chain that ends: that of its most hopeful step, else what keeps all of them from serving the job. */
function chainError(outcomes: readonly StepOutcome[], [best]: readonly Hope[]): ReplyError {
  const went = outcomes.map((outcome) => `${outcome.step} ${wentHow(outcome)}`).join(", ");
  return best === undefined ? hopelessError(outcomes, went) : hopefulError(best, went);
}

function hopefulError({ kind, step, waitMs, known, failure }: Hope, went: string): ReplyError {
  const retry = { retryable: true, retryAfterMs: waitMs } as const;
  switch (kind) {
    case "full":
    case "throttled":
    case "paused":
    case "daily":
      return {
        code: "no_capacity",
        kind: failure?.kind ?? "capacity",
        message: `no step had room: ${went}; raise the targets' limits or quotas, or send the job again with a later deadline`,
        ...retry,
      };
    case "breaker":
      return {
        code: "circuit_open",
        kind: "breaker",
        message: `every target that could serve the job fails too often: ${went}; look at their errors, then send the job again`,
        ...retry,
      };
    case "transient":
    case "hung":
      return { ...errorOf(failure ?? { kind, name: kind }, step), ...(known && { retryAfterMs: waitMs }) };
    case "bell":
      return {
        code: "attempt_timeout",
        kind: "hung",
        message: `the attempt outlasted its invocation and no other may follow: ${went}; ask for fewer tokens, or send the job again with a later deadline`,
        retryable: true,
      };
    case "no-time":
      return {
        code: "deadline_exceeded",
        message: `the deadline is too near for an attempt: ${went}; send the job again with a later deadline`,
        retryable: true,
      };
  }
}

/** What a later deadline mends is told first, then what a shorter prompt mends, then what only an operator can. */
function hopelessError(outcomes: readonly StepOutcome[], went: string): ReplyError {
  const failures = outcomes.flatMap((outcome) => (outcome.kind === "failed" ? [outcome.failure] : []));
  const fatal = outcomes.find((outcome) => outcome.kind === "failed" && outcome.failure.kind === "fatal");
  if (fatal?.kind === "failed") return errorOf(fatal.failure, fatal.step);

  const skips = new Set(outcomes.flatMap((outcome) => (outcome.kind === "skipped" ? [outcome.reason.kind] : [])));
  if (skips.has("too-slow")) {
    return {
      code: "deadline_exceeded",
      message: `no step can answer in the time left: ${went}; send the job again with a later deadline`,
      retryable: true,
    };
  }
  const context = failures.find(({ kind }) => kind === "context");
  if (context !== undefined || skips.has("prompt-too-long")) return contextError(went, context);
  return targetError(went, failures.at(-1));
}

/** The reply's error for one failure that ends a job. `step` is where it happened. */
export function errorOf(failure: Failure, step: string): ReplyError {
  const { kind, name, status, retryAfterMs } = failure;
  const what = status === undefined ? name : `${name} (${status})`;
  const later = retryAfterMs === undefined ? {} : { retryAfterMs };
  switch (kind) {
    case "throttled":
    case "daily":
    case "not-ready":
      return {
        code: "no_capacity",
        kind,
        message: `${step} had no room to the end: ${what}; raise its quota, or send the job again later`,
        retryable: true,
        ...later,
      };
    case "transient":
      return {
        code: "provider_error",
        kind,
        message: `${step} kept failing: ${what}; look at the region's health, or send the job again later`,
        retryable: true,
        ...later,
      };
    case "hung":
      return {
        code: "attempt_timeout",
        kind,
        message: `${step} gave no answer in the time of an attempt: ${what}; ask for fewer tokens, or send the job again later`,
        retryable: true,
      };
    case "target":
      return targetError(`${step} ${what}`, failure);
    case "context":
      return contextError(`${step} ${what}`, failure);
    case "fatal":
      return {
        code: "provider_error",
        kind,
        message: `${step} refused the request: ${what}${quoted(failure)}; correct the params and send them under a new jobId`,
        retryable: false,
      };
  }
}

function targetError(went: string, failure: Failure | undefined): ReplyError {
  return {
    code: "target_unavailable",
    kind: "target",
    message: `no step can serve this job: ${went}${quoted(failure)}; check model access, model ids and regions in the config`,
    retryable: false,
  };
}

function contextError(went: string, failure: Failure | undefined): ReplyError {
  return {
    code: "context_too_small",
    kind: "context",
    message: `the prompt fits no step's context window: ${went}${quoted(failure)}; shorten it, ask for fewer tokens, or add a step with a larger window`,
    retryable: false,
  };
}

const quotedCharactersMax = 300;

/** The provider's own words may quote the request: they go to the sender's reply, and nowhere else. */
function quoted(failure: Failure | undefined): string {
  return failure?.text === undefined ? "" : `: "${failure.text.slice(0, quotedCharactersMax)}"`;
}

function wentHow(outcome: StepOutcome): string {
  switch (outcome.kind) {
    case "skipped":
      return outcome.reason.kind === "feature-missing"
        ? `has no ${outcome.reason.feature}`
        : skipWords[outcome.reason.kind];
    case "no-lease":
      return outcome.untilMs === undefined ? "limit full" : "paused";
    case "failed":
      return outcome.failure.status === undefined
        ? outcome.failure.name
        : `${outcome.failure.name} (${outcome.failure.status})`;
    case "cut":
      return "cut by the invocation's end";
    case "no-time":
      return "not begun";
  }
}

const skipWords: Readonly<Record<Exclude<SkipReason["kind"], "feature-missing">, string>> = {
  "breaker-open": "breaker open",
  paused: "paused",
  "no-headroom": "no headroom",
  "op-not-served": "does not serve the op",
  "too-slow": "too slow for the time left",
  "prompt-too-long": "window too small",
};

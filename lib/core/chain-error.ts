import type { Failure } from "./failure.ts";
import type { Hope, StepOutcome } from "./hope.ts";
import type { SkipReason } from "./plan.ts";
import type { ReplyError } from "./reply.ts";

/** The error of a chain that ends: that of its most hopeful step, else what keeps all of them from serving the job. */
export function chainError(outcomes: readonly StepOutcome[], [best]: readonly Hope[]): ReplyError {
  const went = outcomes
    .flatMap((outcome) => {
      const how = wentHow(outcome);
      return how === undefined ? [] : [`${outcome.step} ${how}`];
    })
    .join(", ");
  return best === undefined ? hopelessError(outcomes, went) : hopefulError(best, went);
}

function hopefulError({ kind, step, waitMs, known, failure }: Hope, went: string): ReplyError {
  const retry = { retryable: true, retryAfterMs: waitMs } as const;
  switch (kind) {
    case "full":
    case "quota":
    case "throttled":
    case "paused":
    case "daily":
      return {
        code: "no_capacity",
        kind: failure?.kind ?? "capacity",
        message: `no step had room: ${went}; raise the targets' limits or quotas, or send the job again with a later deadline`,
        ...retry,
      };
    case "budget":
      return {
        code: "budget_exhausted",
        kind: "budget",
        message: `the lane has spent its money for the day${went === "" ? "" : `, after ${went}`}; raise its dailyBudgetUsd, or budgetUsd on its row in the lease table, or send the job again after midnight UTC`,
        ...retry,
      };
    case "breaker":
      return {
        code: "circuit_open",
        kind: "breaker",
        message: `every target that could serve the job fails too often: ${went}; look at their errors, then send the job again`,
        ...retry,
      };
    case "out":
      return {
        code: "target_unavailable",
        kind: "target",
        message: `an operator has taken out every target that could serve the job: ${went}; bring one back, or send the job again later`,
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
  if (outcomes.some(({ kind }) => kind === "above-quota")) return quotaError(went);
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
        message: `${step} refused the request: ${what}${whoseWords(failure)}; correct the params and send them under a new jobId`,
        ...words(failure),
        retryable: false,
      };
  }
}

function targetError(went: string, failure: Failure | undefined): ReplyError {
  return {
    code: "target_unavailable",
    kind: "target",
    message: `no step can serve this job: ${went}${whoseWords(failure)}; check model access, model ids and regions in the config`,
    ...words(failure),
    retryable: false,
  };
}

function contextError(went: string, failure: Failure | undefined): ReplyError {
  return {
    code: "context_too_small",
    kind: "context",
    message: `the prompt fits no step's context window: ${went}${whoseWords(failure)}; shorten it, ask for fewer tokens, or add a step with a larger window`,
    ...words(failure),
    retryable: false,
  };
}

/** No wait helps: the clock of a minute never holds as much. */
function quotaError(went: string): ReplyError {
  return {
    code: "no_capacity",
    kind: "capacity",
    message: `the prompt, with the longest answer it allows, is more than any step takes in a minute: ${went}; shorten it, ask for fewer tokens, or raise tokensPerMinute with the quota`,
    retryable: false,
  };
}

const wordsLengthMax = 300;

/** The provider's own words may quote the request: they go to the sender's reply, and nowhere else. */
function words(failure: Failure | undefined): Pick<ReplyError, "providerMessage"> {
  return failure?.text === undefined ? {} : { providerMessage: failure.text.slice(0, wordsLengthMax) };
}

/** Follows the error's name in a message that others read too. */
function whoseWords(failure: Failure | undefined): string {
  return failure?.text === undefined ? "" : ", whose words are in error.providerMessage";
}

function wentHow(outcome: StepOutcome): string | undefined {
  switch (outcome.kind) {
    case "skipped":
      // That a lane has no money is the same on every step, and said once.
      if (outcome.reason.kind === "budget-spent") return undefined;
      return outcome.reason.kind === "feature-missing"
        ? `has no ${outcome.reason.feature}`
        : skipWords[outcome.reason.kind];
    case "no-lease":
      if (outcome.untilMs !== undefined) return "paused";
      return outcome.ledger === undefined ? "limit full" : `limit of ${outcome.ledger} full`;
    case "quota-spent":
      return "quota of the minute spent";
    case "above-quota":
      return `takes ${outcome.tokensMax} tokensPerMinute`;
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

const skipWords: Readonly<Record<Exclude<SkipReason["kind"], "feature-missing" | "budget-spent">, string>> = {
  "taken-out": "taken out",
  "breaker-open": "breaker open",
  paused: "paused",
  "no-headroom": "no headroom",
  "op-not-served": "does not serve the op",
  "too-slow": "too slow for the time left",
  "prompt-too-long": "window too small",
};

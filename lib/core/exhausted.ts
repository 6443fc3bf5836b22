import { chainError } from "./chain-error.ts";
import type { Left } from "./decide.ts";
import { maySleep } from "./decide.ts";
import { endings } from "./endings.ts";
import { hopeOf, hopesOf } from "./hope.ts";
import type { Hope, StepOutcome } from "./hope.ts";
import { bellCutsMax, laneLimits, requeueDeadlineLeftMsMin } from "./limits.ts";
import type { ReplyError } from "./reply.ts";
import type { RequeueCause } from "./settlement.ts";

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
/** A head is read once a second: who wakes earlier reads the same pause again. A clock admits one after the other too. */
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
  quota: "quota",
  throttled: "capacity",
  paused: "paused",
  budget: "budget",
  daily: "paused",
  breaker: "circuit_open",
  out: "taken-out",
  transient: "transient",
  hung: "hung",
} as const satisfies Readonly<Record<Hope["kind"], RequeueCause>>;

/** Only steps that were not asked in vain are walked again: the others have had their attempts of this delivery. */
function walkAgain(outcomes: readonly StepOutcome[], hopes: readonly Hope[], at: ChainEnd): Exhausted | undefined {
  const spared = outcomes.filter(({ kind }) => kind === "no-lease" || kind === "quota-spent" || kind === "skipped");
  const delayMs = Math.min(
    ...hopes.map((hope) => walkDelayMs(hope, spared, at)),
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
    case "budget":
      return Math.max(waitMs, pauseMsMin);
    case "quota":
      return at.lane === "rt" ? Math.max(waitMs, pauseMsMin) : Infinity;
    case "breaker":
      return at.lane === "rt" && waitMs <= probeWaitMsMax ? Math.max(waitMs, pauseMsMin) : Infinity;
    case "out":
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
  if (kind === "full" || kind === "breaker" || kind === "hung" || kind === "out") return false;
  return deadlineLeftMs - waitMs > requeueDeadlineLeftMsMin;
}

import type { Failure } from "./failure.ts";
import type { NoLease } from "./lease.ts";
import { dailyPauseMs } from "./limits.ts";
import type { SkipReason } from "./plan.ts";
import { unknownWaitMs } from "./release.ts";

/** How a step of the chain was left, its last outcome in this delivery. Times are epoch ms. */
export type StepOutcome = { readonly step: string } & (
  | { readonly kind: "skipped"; readonly reason: SkipReason }
  /** `untilMs`: the target is paused until then; absent: its limit is full, or that of the `ledger` over several targets. */
  | { readonly kind: "no-lease"; readonly untilMs?: number; readonly ledger?: string }
  /** The quota of a minute is spent until then. */
  | { readonly kind: "quota-spent"; readonly untilMs: number }
  /** The prompt is more than the whole quota of a minute. */
  | { readonly kind: "above-quota"; readonly tokensMax: number }
  | { readonly kind: "failed"; readonly failure: Failure; readonly atMs: number }
  /** By the closing bell. */
  | { readonly kind: "cut" }
  /** Not begun, for the invocation would not have outlived it. */
  | { readonly kind: "no-time" }
);

/** That a step may do better later, and when: a wait that nobody knows is the one that a requeue would take. */
export interface Hope {
  readonly kind:
    | "no-time"
    | "bell"
    | "full"
    | "quota"
    | "throttled"
    | "paused"
    | "budget"
    | "daily"
    | "breaker"
    | "transient"
    | "hung"
    | "out";
  readonly step: string;
  readonly waitMs: number;
  readonly known: boolean;
  readonly failure?: Failure;
}

/** How a step is left without a lease, whatever kept it from one but trouble and an abort: those end the walk. */
export function withoutLease(step: string, why: Exclude<NoLease, { kind: "aborted" | "infra" }>): StepOutcome {
  switch (why.kind) {
    case "full":
      return { step, kind: "no-lease", ...(why.ledger === undefined ? {} : { ledger: why.ledger }) };
    case "paused":
      return { step, kind: "no-lease", untilMs: why.untilMs };
    case "tokens":
      return { step, kind: "quota-spent", untilMs: why.untilMs };
    case "above-quota":
      return { step, kind: "above-quota", tokensMax: why.tokensMax };
  }
}

/** When, and after how many requeues, a hope is looked at. */
interface Now {
  readonly nowMs: number;
  readonly requeues: number;
}

/**
 * The hopes of a chain, the soonest first, then in the chain's order. That an operator brings a step back is the last:
 * nobody waits for it while anything else may serve. A lane whose money is spent has no other hope than its next day.
 */
export function hopesOf(outcomes: readonly StepOutcome[], at: Now): Hope[] {
  const isOut = ({ kind }: Hope) => Number(kind === "out");
  const hopes = outcomes
    .flatMap((outcome) => hopeOf(outcome, at) ?? [])
    .sort((a, b) => isOut(a) - isOut(b) || a.waitMs - b.waitMs);
  const ofBudget = hopes.filter(({ kind }) => kind === "budget");
  return ofBudget.length > 0 ? ofBudget : hopes;
}

export function hopeOf(outcome: StepOutcome, at: Now): Hope | undefined {
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
    case "quota-spent":
      return { kind: "quota", ...until(outcome.untilMs) };
    case "above-quota":
      return undefined;
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
    case "taken-out":
      return { kind: "out", ...unknown };
    case "breaker-open":
      return { kind: "breaker", ...until(reason.untilMs) };
    case "paused":
      return { kind: "paused", ...until(reason.untilMs) };
    case "budget-spent":
      return { kind: "budget", ...until(reason.untilMs) };
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

import type { Failure } from "./failure.ts";
import type { JsonObject } from "./json.ts";

/** Tokens as Bedrock counts them. `possiblyBilled` are those of attempts that broke off or were cut, mostly an estimate. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly possiblyBilledTokens: number;
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  possiblyBilledTokens: 0,
};

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    possiblyBilledTokens: a.possiblyBilledTokens + b.possiblyBilledTokens,
  };
}

/** What cut a running request short. Each means something else, so the bound that fired is remembered. */
export type Cut = "attempt" | "deadline" | "bell" | "cancelled" | "claim-lost" | "lease-lost";

/** The outcome of one request to Bedrock. */
export type Attempted =
  | {
      readonly kind: "answered";
      readonly output: JsonObject;
      readonly stopReason?: string;
      readonly usage: Usage;
      readonly tookMs: number;
    }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      readonly usage: Usage;
      readonly tookMs: number;
      /** No connection came about: Bedrock knows nothing of it. */
      readonly unsent?: true;
    }
  | {
      readonly kind: "cut";
      readonly by: Exclude<Cut, "attempt">;
      readonly usage: Usage;
      readonly tookMs: number;
    };

/**
 * Whether an attempt is taken off the job's life: a target that had no room has done nothing for it, and a breaker's
 * probe was made for all jobs.
 */
export function spendsLife(attempted: Attempted, asProbe: boolean): boolean {
  if (attempted.kind !== "failed") return true;
  return !asProbe && !["throttled", "daily", "not-ready"].includes(attempted.failure.kind);
}

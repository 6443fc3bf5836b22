import type { Attempted, Usage } from "./attempt.ts";

/*
 * How Bedrock takes tokens off a minute's quota: input and maxTokens when a request begins; when it ends, input, cache
 * writes and output × burndown, and the rest comes back. Cache reads are part of the first and not of the second.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/quotas-token-burndown.html
 */

/** Claude before its fourth generation, which counts as every other model does. */
const plainClaude = /anthropic\.claude-(?:instant|v\d|[1-3](?:\D|$))/;

/** How many tokens of the quota an output token costs; what the config says wins. `modelId`: of the model, no ARN. */
export function burndownOf(modelId: string, configured?: number): number {
  if (configured !== undefined) return configured;
  return modelId.includes("anthropic.claude-") && !plainClaude.test(modelId) ? 5 : 1;
}

/** What a request may cost. `inputTokens`: counted, or an estimate. */
export interface Ask {
  readonly inputTokens: number;
  readonly maxTokens: number;
  readonly burndown: number;
  readonly tokensPerMinute: number;
}

/**
 * The tokens that an attempt sets aside: all that it can come to. A long answer × burndown may be more than a whole
 * quota, yet Bedrock lets the request begin: it is charged a minute, and waits its turn. Only what Bedrock itself asks
 * for at the beginning may exceed the quota, and then no clock ever admits it.
 */
export function reservedTokens({ inputTokens, maxTokens, burndown, tokensPerMinute }: Ask): number {
  return Math.max(inputTokens + maxTokens, Math.min(inputTokens + maxTokens * burndown, tokensPerMinute));
}

/**
 * The tokens to give back when an attempt is over; undefined: no request was sent. What nobody knows counts as spent,
 * and an answer dearer than its estimate takes nothing more: Bedrock has let it pass.
 */
export function unusedTokens(reserved: number, attempted: Attempted | undefined, burndown: number): number {
  if (attempted === undefined) return reserved;
  const { usage } = attempted;
  switch (attempted.kind) {
    case "cut":
      return 0;
    case "answered":
      // A model's own body may tell no usage at all.
      return usage.inputTokens + usage.outputTokens > 0 ? left(reserved, usage, burndown) : 0;
    case "failed":
      if (attempted.unsent === true) return reserved;
      return wasRefused(attempted) ? left(reserved, usage, burndown) : 0;
  }
}

function left(reserved: number, usage: Usage, burndown: number): number {
  return Math.max(0, reserved - usage.inputTokens - usage.cacheWriteTokens - usage.outputTokens * burndown);
}

/** Bedrock turned the request away, and no model has begun to work on it. */
function wasRefused({ failure, usage }: Extract<Attempted, { kind: "failed" }>): boolean {
  if (usage.possiblyBilledTokens > 0) return false;
  switch (failure.kind) {
    case "throttled":
    case "daily":
    case "not-ready":
    case "target":
    case "context":
    case "fatal":
      return true;
    case "transient":
    case "hung":
      return false;
  }
}

import type { Attempted } from "./attempt.ts";

/** The one attempt that finds out whether an open target works again: a lease of its own, lapsing by itself. */
export interface Probe {
  /** The attempt's. */
  readonly id: string;
  readonly expiresAtMs: number;
}

/** One a target. Never written: closed, without a failure. Times are epoch ms. */
export type Breaker =
  | { readonly kind: "closed"; readonly failures: number }
  | { readonly kind: "open"; readonly openUntilMs: number }
  /** Without a probe: the last one learned nothing, the next attempt may be one. */
  | { readonly kind: "half-open"; readonly probe?: Probe };

/** Whether an attempt may go now. */
export type Allows =
  | { readonly kind: "yes" }
  /** Once it has taken the probe. */
  | { readonly kind: "probe" }
  /** Look again then. */
  | { readonly kind: "no"; readonly untilMs: number };

/** What an attempt says of its target; `neutral`: nothing. */
export type News = "success" | "failure" | "neutral";

/** Failures in a row that open it. */
export const failuresMax = 5;
export const firstOpenMs = 30_000;
/** After every probe that failed. */
export const reopenMs = 60_000;
/** A probe may last minutes, and mostly lasts seconds: nobody is sent away until it must have lapsed. */
export const probeLookMs = 5_000;

export function allows(seen: Breaker | undefined, nowMs: number): Allows {
  if (seen === undefined || seen.kind === "closed") return { kind: "yes" };
  if (seen.kind === "open") {
    return seen.openUntilMs > nowMs ? { kind: "no", untilMs: seen.openUntilMs } : { kind: "probe" };
  }
  const lapsesAtMs = seen.probe?.expiresAtMs ?? -Infinity;
  return lapsesAtMs > nowMs ? { kind: "no", untilMs: Math.min(lapsesAtMs, nowMs + probeLookMs) } : { kind: "probe" };
}

/** The breaker with this attempt as its probe; undefined: not now. A probe that has lapsed gives way. */
export function takeProbe(
  seen: Breaker | undefined,
  id: string,
  nowMs: number,
  expiresAtMs: number,
): Breaker | undefined {
  return allows(seen, nowMs).kind === "probe" ? { kind: "half-open", probe: { id, expiresAtMs } } : undefined;
}

/** Whether this attempt is the probe: a resend is refused by its own success, and the row that refused tells it. */
export function isProbe(seen: Breaker | undefined, id: string): boolean {
  return seen?.kind === "half-open" && seen.probe?.id === id;
}

/**
 * The breaker after an attempt, by every way out of it; undefined: nothing to write. `id` is the attempt's, whether or
 * not it was a probe; `attempted` is undefined if no request was sent.
 */
export function afterAttempt(
  seen: Breaker | undefined,
  id: string,
  attempted: Attempted | undefined,
  nowMs: number,
): Breaker | undefined {
  switch (newsOf(attempted)) {
    case "success":
      return onSuccess(seen, id);
    case "failure":
      return onFailure(seen, id, nowMs);
    case "neutral":
      return freeProbe(seen, id);
  }
}

/**
 * While it is not closed the probe alone has a say. Whoever else fails now began before it opened, and has nothing new
 * to tell: so an open breaker's end is never moved, and stragglers cost no write.
 */
export function onFailure(seen: Breaker | undefined, id: string, nowMs: number): Breaker | undefined {
  if (seen !== undefined && seen.kind !== "closed") {
    return isProbe(seen, id) ? { kind: "open", openUntilMs: nowMs + reopenMs } : undefined;
  }
  const failures = (seen?.failures ?? 0) + 1;
  return failures < failuresMax ? { kind: "closed", failures } : { kind: "open", openUntilMs: nowMs + firstOpenMs };
}

/**
 * The probe closes it, though it may have lapsed, if no other has begun. Another attempt's success is old: it was sent
 * before the failures that opened the breaker, or by a worker that had not heard of them.
 */
export function onSuccess(seen: Breaker | undefined, id: string): Breaker | undefined {
  const news = seen?.kind === "closed" ? seen.failures > 0 : isProbe(seen, id);
  return news ? { kind: "closed", failures: 0 } : undefined;
}

/** An attempt that said nothing about its target leaves the probe to the next; a newer probe stays. */
function freeProbe(seen: Breaker | undefined, id: string): Breaker | undefined {
  return isProbe(seen, id) ? { kind: "half-open" } : undefined;
}

/** Only what a target does to a good request is its failure: to be full or to refuse is not to be broken. */
export function newsOf(attempted: Attempted | undefined): News {
  if (attempted === undefined || attempted.kind === "cut") return "neutral";
  if (attempted.kind === "answered") return "success";
  switch (attempted.failure.kind) {
    case "transient":
    case "hung":
      return "failure";
    case "throttled":
    case "daily":
    case "not-ready":
    case "target":
    case "context":
    case "fatal":
      return "neutral";
  }
}

/** Whether two breakers say the same. */
export function sameBreaker(a: Breaker | undefined, b: Breaker | undefined): boolean {
  return factsOf(a) === factsOf(b);
}

function factsOf(breaker: Breaker = { kind: "closed", failures: 0 }): string {
  switch (breaker.kind) {
    case "closed":
      return `closed ${breaker.failures}`;
    case "open":
      return `open ${breaker.openUntilMs}`;
    case "half-open":
      return `half-open ${breaker.probe?.id} ${breaker.probe?.expiresAtMs}`;
  }
}

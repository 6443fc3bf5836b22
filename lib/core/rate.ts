/** What a target takes in a minute; absent: as much as one likes. */
export interface Quota {
  readonly tokensPerMinute?: number;
  readonly requestsPerMinute?: number;
}

/** Attempt ids and when they were written, epoch ms. */
export type Marks = Readonly<Record<string, number>>;

/**
 * The two clocks of a target (GCRA), epoch ms: each runs ahead of the time by what was taken and has not yet flowed
 * back. Absent fields have never been written.
 */
export interface Clocks {
  readonly tokensAtMs?: number;
  readonly requestsAtMs?: number;
  /** The attempts that were charged last, and settled last: what is sent twice counts once. */
  readonly charged?: Marks;
  readonly settled?: Marks;
}

/** One request, and the tokens that are set aside for it. */
export interface Charge {
  /** The attempt's. */
  readonly id: string;
  readonly tokens: number;
}

/** What an attempt sets aside, beside its one request. */
export interface Reservation {
  readonly tokens: number;
  readonly quota: Quota;
}

/** What attempts pay, one after the other, on the write that takes their leases. */
export interface Toll {
  readonly quota: Quota;
  /** Of each attempt. */
  readonly tokens: readonly number[];
  readonly nowMs: number;
  /** The clocks as they were last known, which spares a write if they still are so. */
  readonly seen?: Clocks | undefined;
}

export type Charged =
  | { readonly kind: "charged"; readonly clocks: Clocks }
  /** An earlier copy of this write had won. */
  | { readonly kind: "already" }
  /** Neither clock has moved; in so many ms both are ready, unless others come first. */
  | { readonly kind: "wait"; readonly waitMs: number };

/**
 * How far ahead of the time a clock may be and still admit. A prompt of any size then goes, into debt, so that a big
 * one waits like a small one and never starves.
 */
export const burstMs = 5_000;

/**
 * A minute's quota costs 66 s of its clock. In any 60 s a clock moves by less than 60 s and its burst before the last
 * request that it admits: of n requests, n − 1 < quota × (60 + 5) ÷ 66, so never more than the quota. The second that
 * is left covers workers whose clocks are wrong by ±500 ms, or as much between the admission and the request.
 */
const minuteCostMs = 66_000;

/** How many attempts of either kind are remembered: a head of two of these stays near 1 KB. */
export const marksMax = 16;

/** What a whole minute brings, where a reservation is more: no wait helps it, and no clock is asked. */
export function exceededTokens({ tokens, quota: { tokensPerMinute = Infinity } }: Reservation): number | undefined {
  return tokens > tokensPerMinute ? tokensPerMinute : undefined;
}

/** Charges both clocks for an attempt, or neither; the first line that applies wins. */
export function charge(seen: Clocks | undefined, { id, tokens }: Charge, quota: Quota, nowMs: number): Charged {
  if (has(seen?.charged, id)) return { kind: "already" };
  const waitMs = waitMsFor(seen, quota, nowMs);
  if (waitMs > 0) return { kind: "wait", waitMs };
  return {
    kind: "charged",
    clocks: { ...moved(seen, tokens, quota, nowMs), charged: marked(seen?.charged, id, nowMs) },
  };
}

/** How many of the attempts the clocks admit, one after the other, and where they stand after those. */
export function payTogether(
  seen: Clocks | undefined,
  { tokens, quota, nowMs }: Toll,
): { readonly count: number; readonly clocks: Clocks } {
  let [count, clocks] = [0, seen ?? {}];
  for (const each of tokens) {
    if (waitMsFor(clocks, quota, nowMs) > 0) break;
    clocks = moved(clocks, each, quota, nowMs);
    count += 1;
  }
  return { count, clocks };
}

/** By how much the tokens that were not used of a reservation set the clock back; by default all of them. */
export function backMs({ tokens, quota }: Reservation, unusedTokens = tokens): number {
  const { tokensPerMinute = Infinity } = quota;
  // mutant: `>` → `>=`: no tokens cost nothing.
  return unusedTokens > 0 ? costMs(unusedTokens, tokensPerMinute) : 0;
}

/** How long until both clocks admit one; 0: they do. */
export function waitMsFor(seen: Clocks | undefined, quota: Quota, nowMs: number): number {
  return Math.max(
    quota.tokensPerMinute === undefined ? 0 : waitMsOf(seen?.tokensAtMs, nowMs),
    quota.requestsPerMinute === undefined ? 0 : waitMsOf(seen?.requestsAtMs, nowMs),
  );
}

/**
 * The clocks when an attempt gives back the tokens it did not use; undefined: nothing to write, or it was written
 * before. A request is never given back: by the time, others may have been admitted in the room that it left, and a
 * minute would hold both.
 */
export function settle(
  seen: Clocks | undefined,
  { id, tokens }: Charge,
  { tokensPerMinute }: Quota,
  nowMs: number,
): Clocks | undefined {
  if (tokensPerMinute === undefined || seen?.tokensAtMs === undefined) return undefined;
  if (!(tokens > 0) || has(seen.settled, id)) return undefined;
  return {
    ...seen,
    tokensAtMs: seen.tokensAtMs - costMs(tokens, tokensPerMinute),
    settled: marked(seen.settled, id, nowMs),
  };
}

/** What an amount costs on the clock of a quota; not rounded, for a token of a big quota costs less than 1 ms. */
export function costMs(amount: number, perMinute: number): number {
  return (amount * minuteCostMs) / perMinute;
}

function moved(
  seen: Clocks | undefined,
  tokens: number,
  { tokensPerMinute, requestsPerMinute }: Quota,
  nowMs: number,
): Clocks {
  // mutant: `0` → `1`: it is past as well.
  const from = (atMs = 0) => Math.max(atMs, nowMs);
  return {
    ...seen,
    ...(tokensPerMinute !== undefined && { tokensAtMs: from(seen?.tokensAtMs) + costMs(tokens, tokensPerMinute) }),
    ...(requestsPerMinute !== undefined && { requestsAtMs: from(seen?.requestsAtMs) + costMs(1, requestsPerMinute) }),
  };
}

/** How long until a clock is less than a burst ahead; 0: it is. */
function waitMsOf(atMs = -Infinity, nowMs: number): number {
  const aheadMs = atMs - nowMs - burstMs;
  return aheadMs < 0 ? 0 : Math.floor(aheadMs) + 1;
}

/** The mark set, and the oldest beyond the number gone. */
function marked(marks: Marks = {}, id: string, nowMs: number): Marks {
  const latest = Object.entries(marks).sort(([, a], [, b]) => b - a);
  return { ...Object.fromEntries(latest.slice(0, marksMax - 1)), [id]: nowMs };
}

function has(marks: Marks | undefined, id: string): boolean {
  return marks !== undefined && Object.hasOwn(marks, id);
}

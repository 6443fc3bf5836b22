import type { Attempted } from "../../lib/core/attempt.ts";
import { noUsage } from "../../lib/core/attempt.ts";
import type { Page } from "../../lib/core/lease.ts";
import { charge, costMs, payTogether, settle } from "../../lib/core/rate.ts";
import type { Clocks, Quota, Toll } from "../../lib/core/rate.ts";
import { unusedTokens } from "../../lib/core/reserve.ts";
import { trueProtocol as leases, without } from "./protocol.ts";
import type { Answer } from "./protocol.ts";

/** A token costs a second: the clock admits a second attempt at once, and no third. */
export const quota: Quota = { tokensPerMinute: 66 };
export const reserved = 4;

const answered: Attempted = { kind: "answered", output: {}, usage: { ...noUsage, inputTokens: 1 }, tookMs: 1 };
const cut: Attempted = { kind: "cut", by: "bell", usage: noUsage, tookMs: 1 };
const attempted = { late: undefined, answered, cut };

/** A page with its clocks, or a head: it holds no leases. */
export interface Row {
  readonly page: Page;
  readonly clocks?: Clocks | undefined;
}

export type Paid = { readonly kind: "taken" | "refused"; readonly row: Row };

/**
 * `refused`: by the narrower ledger, after the charge. `late`: by the time that all was there it was over. `unknown`:
 * nobody knows whether it was charged. Of these three no request went out.
 */
export type Ending = "refused" | "late" | "unknown" | "answered" | "cut";

/** Where the clock lies. */
export type Place = "page" | "head";

/** What a mutant may swap. */
export interface ClockProtocol {
  take(row: Row, ids: readonly string[], cap: number, untilMs: number, toll: Toll): Paid;
  reclaim(row: Row, expired: Page, ids: readonly string[], cap: number, untilMs: number, toll: Toll): Paid;
  giveBack(row: Row, ids: readonly string[], backMs: Readonly<Record<string, number>>): Row;
  readonly charge: typeof charge;
  readonly settle: typeof settle;
  /** The tokens that a client gives back when an attempt is over; without a number all that it was charged. */
  unused(ending: Ending, place: Place): number | undefined;
}

/** The protocol as it is: the arithmetic is the core's own, the writes those of the lease table. */
export const trueClocks: ClockProtocol = {
  take: (row, ids, cap, untilMs, toll) => paid(row, ids, leases.take(row.page, ids, cap, untilMs), toll),
  reclaim: (row, expired, ids, cap, untilMs, toll) =>
    paid(row, ids, leases.reclaim(row.page, expired, ids, cap, untilMs), toll),
  giveBack: ({ page, clocks }, ids, back) => {
    const removed = ids.filter((id) => page[id] !== undefined);
    const setBackMs = removed.reduce((sum, id) => sum + (back[id] ?? 0), 0);
    return { page: without(page, ids), clocks: setBack(clocks, setBackMs) };
  },
  charge,
  settle,
  unused: (ending, place) => {
    // A return that finds no lease gives nothing back, so that it may be sent for what nobody knows; a settlement may not.
    if (ending === "unknown" && place === "head") return 0;
    return ending === "unknown" || ending === "refused" ? undefined : unusedTokens(reserved, attempted[ending], 1);
  },
};

/** An id that is on the page has paid: it is refused. */
function paid(row: Row, ids: readonly string[], { kind, page }: Answer, toll: Toll): Paid {
  const { count, clocks } = payTogether(row.clocks, toll);
  const mayPay = count === ids.length && ids.every((id) => row.page[id] === undefined);
  return kind === "taken" && mayPay ? { kind, row: { page, clocks } } : { kind: "refused", row };
}

export function setBack(clocks: Clocks | undefined, byMs: number): Clocks | undefined {
  return clocks?.tokensAtMs === undefined ? clocks : { ...clocks, tokensAtMs: clocks.tokensAtMs - byMs };
}

export function costOf(tokens: number): number {
  return costMs(tokens, quota.tokensPerMinute ?? Infinity);
}

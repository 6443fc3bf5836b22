import type { Reservation } from "./rate.ts";
import type { Lane } from "./lane.ts";
import { leaseGraceMs, leaseMarginMs, leasesPerPage } from "./limits.ts";

/** A page of a ledger: where up to 32 of its leases are written. */
export interface PageRef {
  readonly ledger: string;
  readonly page: number;
}

/** The leases on a page: lease id → expiry in epoch ms. The count is never stored, it is the map's size. */
export type Page = Readonly<Record<string, number>>;

/** The permit for one attempt under one limit. `expiresAtMs` is what the table answered, not what was sent. */
export interface Lease {
  readonly id: string;
  readonly ref: PageRef;
  readonly expiresAtMs: number;
  /** Was charged on its page when it was taken. */
  readonly charge?: Reservation;
}

export const headFields = ["lim", "cutAtMs", "cutFrom", "raisedAtMs", "pausedUntilMs"] as const;
/** What is learned about a ledger; absent fields have never been written. */
export type Head = { readonly [Field in (typeof headFields)[number]]?: number };

/** A lease asked of a ledger: its limit and the lane's share of it decide the cap. */
export interface LeaseAsk {
  readonly ledger: string;
  readonly lane: Lane;
  readonly share: number;
  readonly limitStart: number;
  readonly limitMax: number;
  /** To be charged on the page, with the take: only of a ledger that has one page. */
  readonly charge?: Reservation;
}

/** Why there is no lease. `infra`: the take met nothing but errors. */
export type NoLease =
  /** `ledger`: of the limit over several targets that is full; absent: it is the target's own. */
  | { readonly kind: "full"; readonly ledger?: string }
  | { readonly kind: "paused"; readonly untilMs: number }
  /** The target's quota of a minute is spent until then. */
  | { readonly kind: "tokens"; readonly untilMs: number }
  /** More tokens than a whole minute brings: no wait helps. */
  | { readonly kind: "above-quota"; readonly tokensMax: number }
  | { readonly kind: "aborted" }
  | { readonly kind: "infra"; readonly error: unknown };

/** What an attempt tells its ledger when it returns the lease. */
export type LeaseOutcome =
  | { readonly kind: "neutral" }
  | { readonly kind: "throttled"; readonly retryAfterMs?: number }
  | { readonly kind: "daily" };

/** A container's leases begin with the end of its name, so that an operator sees whose they are. */
export function holderMark(worker: string): string {
  return worker.slice(-4);
}

/** Of twelve characters like the id that it is made from, whose end makes it new. */
export function leaseIdOf(worker: string, newId: string): string {
  const mark = holderMark(worker);
  return mark + newId.slice(mark.length);
}

/** How many pages a ledger has. It follows the configured maximum, so every worker knows it without a read. */
export function pageCount(limitMax: number): number {
  return Math.ceil(limitMax / leasesPerPage);
}

/** How much of a limit a lane may fill: lanes are thresholds on the one count, and none is shut out. */
export function laneCap(limit: number, share: number): number {
  const floatDust = 1e-9; // 0.29 × 100 is 28.999999999999996
  return Math.max(1, Math.floor(limit * share + floatDust));
}

/** A page's part of the cap. The parts add up to it exactly; with less cap than pages the last pages hold none. */
export function pageCap(cap: number, page: number, pages: number): number {
  return Math.floor(cap / pages) + (page < cap % pages ? 1 : 0);
}

/** From here on the holder acts as if the lease were gone. */
export function holderStopsAtMs(expiresAtMs: number): number {
  return expiresAtMs - leaseMarginMs;
}

/** Whether others may take the lease away. With the holder's margin, clocks may differ by 5 s without harm. */
export function isReclaimable(expiresAtMs: number, nowMs: number): boolean {
  return expiresAtMs + leaseGraceMs < nowMs;
}

/** What to do about a refused take. */
export type OnRefused =
  /** An earlier copy of this write had won: these are ours, until the row's own times. */
  | { readonly kind: "taken"; readonly ours: Page }
  | { readonly kind: "missing" }
  /** Removing these, exactly as seen, makes room for so many of ours. */
  | { readonly kind: "reclaim"; readonly expired: Page; readonly room: number }
  /** Room for fewer than were asked for. */
  | { readonly kind: "shrink"; readonly room: number }
  | { readonly kind: "full" };

/** The verdict on the row that refused to take `ids` up to `cap`; the first line that applies wins. */
export function onRefused(page: Page | undefined, ids: readonly string[], cap: number, nowMs: number): OnRefused {
  if (page === undefined) return { kind: "missing" };

  const ours = entriesOf(page, ids);
  if (Object.keys(ours).length > 0) return { kind: "taken", ours };

  const leases = Object.entries(page);
  const expired = leases.filter(([, expiresAtMs]) => isReclaimable(expiresAtMs, nowMs));
  // After a cut a page may hold more than its cap: what expired there is no room yet.
  const room = Math.min(ids.length, cap - leases.length + expired.length);
  if (room <= 0) return { kind: "full" };
  return expired.length > 0
    ? { kind: "reclaim", expired: Object.fromEntries(expired), room }
    : { kind: "shrink", room };
}

/** Those of the ids that are on the page, with the page's own times. */
export function entriesOf(page: Page, ids: readonly string[]): Page {
  return Object.fromEntries(
    ids.flatMap((id) => (Object.hasOwn(page, id) && page[id] !== undefined ? [[id, page[id]]] : [])),
  );
}

import type { Lane } from "./lane.ts";

/** A page of a ledger: where up to 32 of its leases are written. */
export interface PageRef {
  readonly ledger: string;
  readonly page: number;
}

/** The leases on a page: lease id → expiry in epoch ms. The count is never stored, it is the map's size. */
export type Page = Readonly<Record<string, number>>;

/** The permit for one attempt. `expiresAtMs` is what the table answered, not what was sent. */
export interface Lease {
  readonly id: string;
  readonly ref: PageRef;
  readonly expiresAtMs: number;
}

/** What is learned and told about a ledger; absent fields have never been written. */
export interface Head {
  readonly lim?: number;
  readonly cutAtMs?: number;
  readonly cutFrom?: number;
  readonly raisedAtMs?: number;
  readonly pausedUntilMs?: number;
}

/** Who asks for how much: the ledger's configured maximum and the lane's share decide the cap. */
export interface LeaseAsk {
  readonly ledger: string;
  readonly lane: Lane;
  readonly share: number;
  readonly limitStart: number;
  readonly limitMax: number;
}

/** Why there is no lease. `infra`: the take met nothing but errors. */
export type NoLease =
  | { readonly kind: "full" }
  | { readonly kind: "paused"; readonly untilMs: number }
  | { readonly kind: "aborted" }
  | { readonly kind: "infra"; readonly error: unknown };

/** What an attempt tells its ledger when it returns the lease. */
export type LeaseOutcome =
  | { readonly kind: "neutral" }
  | { readonly kind: "throttled"; readonly retryAfterMs?: number }
  | { readonly kind: "daily" };

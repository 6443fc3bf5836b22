import type { OnRefused, Page } from "../../lib/core/lease.ts";
import { holderStopsAtMs, laneCap, onRefused, pageCap } from "../../lib/core/lease.ts";

export type Answer = { readonly kind: "taken" | "refused"; readonly page: Page };

/** What the table's writes do and what clients make of the answers: each a step that a mutant may swap. */
export interface Protocol {
  take(page: Page, ids: readonly string[], cap: number, untilMs: number): Answer;
  reclaim(page: Page, expired: Page, ids: readonly string[], cap: number, untilMs: number): Answer;
  renew(page: Page, ids: readonly string[], untilMs: number): Answer;
  giveBack(page: Page, ids: readonly string[]): Page;
  onRefused(page: Page, ids: readonly string[], cap: number, nowMs: number): OnRefused;
  holderStopsAtMs(expiresAtMs: number): number;
  laneCap(limit: number, share: number): number;
  pageCap(cap: number, page: number, pages: number): number;
  /** The expiry that a client goes by. */
  believedMs(answer: Answer, id: string, sentMs: number): number;
  /** Which leases of a renewal are left, by its answer. */
  survivors(ids: readonly string[], page: Page): readonly string[];
  /** Ids for new leases of a client. */
  newIds(client: number, count: number, isKnown: (id: string) => boolean): readonly string[];
}

/** The protocol as it is: the verdicts are the core's own, the writes those of the lease table. */
export const trueProtocol: Protocol = {
  take: (page, ids, cap, untilMs) =>
    sizeOf(page) <= cap - ids.length || ids.every((id) => page[id] !== undefined)
      ? { kind: "taken", page: { ...all(ids, untilMs), ...page } }
      : { kind: "refused", page },
  reclaim: (page, expired, ids, cap, untilMs) =>
    Object.entries(expired).every(([id, seenMs]) => page[id] === seenMs) &&
    sizeOf(page) <= cap - ids.length + sizeOf(expired)
      ? { kind: "taken", page: { ...all(ids, untilMs), ...without(page, Object.keys(expired)) } }
      : { kind: "refused", page },
  renew: (page, ids, untilMs) =>
    ids.every((id) => (page[id] ?? Infinity) <= untilMs)
      ? { kind: "taken", page: { ...page, ...all(ids, untilMs) } }
      : { kind: "refused", page },
  giveBack: without,
  onRefused,
  holderStopsAtMs,
  laneCap,
  pageCap,
  believedMs: ({ page }, id) => page[id] ?? 0,
  survivors: (ids, page) => ids.filter((id) => page[id] !== undefined),
  newIds: (client, count, isKnown) =>
    Array.from({ length: 10 }, (_, number) => `${"AB"[client]}${number}`)
      .filter((id) => !isKnown(id))
      .slice(0, count),
};

export function all(ids: readonly string[], untilMs: number): Page {
  return Object.fromEntries(ids.map((id) => [id, untilMs]));
}

export function without(page: Page, ids: readonly string[]): Page {
  return Object.fromEntries(Object.entries(page).filter(([id]) => !ids.includes(id)));
}

export function sizeOf(page: Page): number {
  return Object.keys(page).length;
}

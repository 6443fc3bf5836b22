import { stepParts } from "../core/config.ts";
import type { Page, PageRef } from "../core/lease.ts";
import { entriesOf, onRefused } from "../core/lease.ts";
import { leaseMs } from "../core/limits.ts";
import { payTogether, waitMsFor } from "../core/rate.ts";
import type { Clocks, Toll } from "../core/rate.ts";
import type { World } from "../ports.ts";

/** Each verdict on a refusal is acted on; a page that changes with every write is left to others for now. */
const writesMax = 4;

/** What each id pays on the page's clocks, and these as they were last known. */
export type Dues = Omit<Toll, "nowMs">;

/**
 * `size`: how many leases the page holds. `readyAtMs`: the page's clocks have kept some of ours out, and admit nobody
 * until then. `unknown`: whether anything was taken cannot be told.
 */
export type Look =
  | {
      readonly kind: "seen";
      readonly ours: Page;
      readonly size: number;
      readonly clocks?: Clocks | undefined;
      readonly readyAtMs?: number;
    }
  | { readonly kind: "unknown"; readonly error: unknown };

/** Takes as many of the ids as a page has room for and its clocks admit, the first ones first. Never throws. */
export async function takeOnPage(
  world: Pick<World, "clock" | "leases" | "telemetry">,
  ref: PageRef,
  ids: readonly string[],
  cap: number,
  dues?: Dues,
): Promise<Look> {
  let [wanted, expired, size]: [readonly string[], Page, number] = [ids.slice(0, cap), {}, 0];
  // What was known before says how to write, never that one must wait: others may have given back since.
  let [known, told]: [Clocks | undefined, Clocks | undefined] = [dues?.seen, undefined];
  let isShort = false;
  const seen = (ours: Page): Look => {
    const nowMs = world.clock.nowMs();
    const waitMs = dues === undefined || !isShort ? 0 : waitMsFor(told, dues.quota, nowMs);
    return { kind: "seen", ours, size, clocks: told, ...(waitMs > 0 && { readyAtMs: nowMs + waitMs }) };
  };

  try {
    for (let writes = 0; writes < writesMax; writes++) {
      const due = dues && { ...dues, tokens: dues.tokens.slice(0, wanted.length), nowMs: world.clock.nowMs() };
      const count = due === undefined ? wanted.length : payTogether(told, due).count;
      isShort ||= count < wanted.length;
      if (count === 0) return seen({});
      wanted = wanted.slice(0, count);
      const toll = due && { ...due, tokens: due.tokens.slice(0, count), seen: known };

      const answer = await write(world, ref, wanted, expired, cap, toll);
      size = sizeOf(answer.page ?? {});
      known = told = answer.clocks;
      if (answer.kind === "taken") {
        noteReclaimed(world, ref, sizeOf(expired));
        return seen(entriesOf(answer.page, wanted));
      }

      const verdict = onRefused(answer.page, wanted, cap, world.clock.nowMs());
      expired = verdict.kind === "reclaim" ? verdict.expired : {};
      switch (verdict.kind) {
        case "taken":
          return seen(verdict.ours);
        case "full":
          return seen({});
        case "missing":
          await twice(() => world.leases.createPage(ref));
          break;
        case "reclaim":
        case "shrink":
          wanted = wanted.slice(0, verdict.room);
      }
    }
    return seen({});
  } catch (error) {
    return { kind: "unknown", error };
  }
}

function write(
  { clock, leases }: Pick<World, "clock" | "leases">,
  ref: PageRef,
  ids: readonly string[],
  expired: Page,
  cap: number,
  toll: Toll | undefined,
) {
  const untilMs = clock.nowMs() + leaseMs;
  return sizeOf(expired) === 0
    ? twice(() => leases.take(ref, ids, cap, untilMs, toll))
    : twice(() => leases.reclaim(ref, expired, ids, cap, untilMs, toll));
}

function noteReclaimed({ telemetry }: Pick<World, "telemetry">, { ledger }: PageRef, count: number): void {
  if (count > 0) telemetry.note({ ...stepParts(ledger), kind: "lease-reclaimed", count });
}

/** After an error nobody knows whether a write was applied; the very same write once more tells. */
export async function twice<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch {
    return await act();
  }
}

function sizeOf(page: Page): number {
  return Object.keys(page).length;
}

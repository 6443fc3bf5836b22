import type { Page, PageRef } from "../core/lease.ts";
import { entriesOf, onRefused } from "../core/lease.ts";
import { leaseMs } from "../core/limits.ts";
import type { World } from "../ports.ts";

/** Each verdict on a refusal is acted on; a page that changes with every write is left to others for now. */
const writesMax = 4;

/** `size`: how many leases the page holds. `unknown`: whether anything was taken cannot be told. */
export type Look =
  | { readonly kind: "seen"; readonly ours: Page; readonly size: number }
  | { readonly kind: "unknown"; readonly error: unknown };

/** Takes as many of the ids as a page has room for, the first ones first. Never throws. */
export async function takeOnPage(
  world: Pick<World, "clock" | "leases" | "telemetry">,
  ref: PageRef,
  ids: readonly string[],
  cap: number,
): Promise<Look> {
  let [wanted, expired, size]: [readonly string[], Page, number] = [ids.slice(0, cap), {}, 0];
  try {
    for (let writes = 0; writes < writesMax; writes++) {
      const answer = await write(world, ref, wanted, expired, cap);
      size = sizeOf(answer.page ?? {});
      if (answer.kind === "taken") {
        if (sizeOf(expired) > 0) world.telemetry.note({ kind: "lease-reclaimed", count: sizeOf(expired) });
        return { kind: "seen", ours: entriesOf(answer.page, wanted), size };
      }

      const verdict = onRefused(answer.page, wanted, cap, world.clock.nowMs());
      expired = verdict.kind === "reclaim" ? verdict.expired : {};
      switch (verdict.kind) {
        case "taken":
          return { kind: "seen", ours: verdict.ours, size };
        case "full":
          return { kind: "seen", ours: {}, size };
        case "missing":
          await twice(() => world.leases.createPage(ref));
          break;
        case "reclaim":
        case "shrink":
          wanted = wanted.slice(0, verdict.room);
      }
    }
    return { kind: "seen", ours: {}, size };
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
) {
  const untilMs = clock.nowMs() + leaseMs;
  return sizeOf(expired) === 0
    ? twice(() => leases.take(ref, ids, cap, untilMs))
    : twice(() => leases.reclaim(ref, expired, ids, cap, untilMs));
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

import { errorName } from "../core/error-name.ts";
import { isReclaimable, pageCap } from "../core/lease.ts";
import type { World } from "../ports.ts";

/**
 * Whether a ledger has come down to the limit that its operator has told. Each page admits by its own part, so that one
 * which happens to be empty would let leases in while others still hold too many: until every page has been seen within
 * its part, nobody is admitted. From then on the parts see to it by themselves.
 */
export class LoweredLimit {
  readonly #ledger: string;
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  #keptTo: number | undefined;

  constructor(ledger: string, world: Pick<World, "clock" | "leases" | "telemetry">) {
    this.#ledger = ledger;
    this.#world = world;
  }

  /** `told`: the operator's limit. The first page found too full ends the look, so that waiting costs a read or two. */
  async isKeptTo(told: number | undefined, pages: number): Promise<boolean> {
    if (told === undefined || pages === 1 || told === this.#keptTo) {
      this.#keptTo = told;
      return true;
    }
    const { clock, telemetry } = this.#world;
    try {
      const from = Math.floor(clock.jitter() * pages);
      for (let step = 0; step < pages; step++) {
        const page = (from + step) % pages;
        if ((await this.#outOn(page)) > pageCap(told, page, pages)) return false;
      }
    } catch (error) {
      telemetry.note({ kind: "trouble", what: "read a page", error: errorName(error) });
      return false;
    }
    this.#keptTo = told;
    return true;
  }

  /** What may be reclaimed is out no more, and nobody else would ever come to reclaim it. */
  async #outOn(page: number): Promise<number> {
    const leases = await this.#world.leases.readPage({ ledger: this.#ledger, page });
    const nowMs = this.#world.clock.nowMs();
    return Object.values(leases ?? {}).filter((expiresAtMs) => !isReclaimable(expiresAtMs, nowMs)).length;
  }
}

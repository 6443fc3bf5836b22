import { errorName } from "../core/error-name.ts";
import { chargeOf } from "../core/ledgers.ts";
import type { Wanted } from "../core/ledgers.ts";
import type { NoLease } from "../core/lease.ts";
import { exceededTokens } from "../core/rate.ts";
import type { Charge, Clocks, Reservation } from "../core/rate.ts";
import type { World } from "../ports.ts";
import { twice } from "./take-on-page.ts";

/** So long a wait that was told holds for everybody here; a clock that was ahead may have been set back since. */
const freshMs = 1_000;

/** What an attempt has set aside on a head, until it is known what it used. */
export interface SetAside extends Charge, Reservation {
  readonly ledger: string;
}

/** One container's dealings with the clocks of its targets' quotas. */
export class QuotaClocks {
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  /** As the last write left them: a hint for the next. */
  readonly #known = new Map<string, Clocks>();
  readonly #waits = new Map<string, { readonly untilMs: number; readonly toldAtMs: number }>();

  constructor(world: Pick<World, "clock" | "leases" | "telemetry">) {
    this.#world = world;
  }

  /** What is known without a request: that the prompt is too big, or that another was told to wait a moment ago. */
  refusal(wanted: Wanted): NoLease | undefined {
    const reservation = chargeOf(wanted);
    if (reservation === undefined) return undefined;
    const tokensMax = exceededTokens(reservation);
    if (tokensMax !== undefined) return { kind: "above-quota", tokensMax };
    const nowMs = this.#world.clock.nowMs();
    const { untilMs = 0, toldAtMs = -Infinity } = this.#waits.get(wanted.target) ?? {};
    return untilMs > nowMs && nowMs - toldAtMs < freshMs ? { kind: "tokens", untilMs } : undefined;
  }

  /** The clocks of a target, wherever they are, admit nobody until then. */
  told(target: string, untilMs: number): void {
    this.#waits.set(target, { untilMs, toldAtMs: this.#world.clock.nowMs() });
  }

  /** Whatever was told before, something has come back since. */
  setBack(target: string): void {
    this.#waits.delete(target);
  }

  /** Undefined: charged. An answer that nobody got counts as spent. Never throws. */
  async charge({ ledger, id, tokens, quota }: SetAside): Promise<NoLease | undefined> {
    const { clock, leases } = this.#world;
    const nowMs = clock.nowMs();
    const seen = this.#known.get(ledger);
    try {
      const charged = await twice(() => leases.charge(ledger, { id, tokens }, quota, nowMs, seen));
      switch (charged.kind) {
        case "charged":
          this.#known.set(ledger, charged.clocks);
          return undefined;
        case "already":
          return undefined;
        case "wait": {
          const untilMs = nowMs + charged.waitMs;
          this.told(ledger, untilMs);
          return { kind: "tokens", untilMs };
        }
      }
    } catch (error) {
      return { kind: "infra", error };
    }
  }

  /** Never throws: what is not given back was spent. */
  async settle({ ledger, id, quota }: SetAside, unusedTokens: number): Promise<void> {
    const { clock, leases, telemetry } = this.#world;
    if (quota.tokensPerMinute === undefined || !(unusedTokens > 0)) return;
    const nowMs = clock.nowMs();
    const seen = this.#known.get(ledger);
    try {
      const clocks = await twice(() => leases.settle(ledger, { id, tokens: unusedTokens }, quota, nowMs, seen));
      this.#known.set(ledger, clocks);
      this.setBack(ledger);
    } catch (error) {
      telemetry.note({ kind: "trouble", what: "settle a quota", error: errorName(error) });
    }
  }
}

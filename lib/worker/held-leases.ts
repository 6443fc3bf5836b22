import { errorName } from "../core/error-name.ts";
import type { Lease, PageRef } from "../core/lease.ts";
import { holderStopsAtMs } from "../core/lease.ts";
import { heartbeatMs, leaseMs } from "../core/limits.ts";
import type { Tags } from "../core/noted.ts";
import type { World } from "../ports.ts";

const renewTriesMax = 3;

/** Whose leases they are: an attempt loses them all with the first. */
export interface Holder {
  readonly tags: Tags;
  readonly lost: AbortController;
}

interface Held {
  readonly lease: Lease;
  readonly holder: Holder;
  /** Moves with every renewal; the margin before it is the holder's end. */
  expiresAtMs: number;
  cancelEnd: () => void;
}

/** The leases that a container holds, until they are returned or their end comes. */
export class HeldLeases {
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  readonly #held = new Map<string, Held>();
  #renewing: Promise<void> | undefined;

  constructor(world: Pick<World, "clock" | "leases" | "telemetry">) {
    this.#world = world;
  }

  hold(lease: Lease, holder: Holder): void {
    const { id, expiresAtMs } = lease;
    const held: Held = { lease, holder, expiresAtMs, cancelEnd: () => undefined };
    this.#held.set(id, held);
    this.#prolong(held, expiresAtMs);
  }

  /** From here on it is not ours to watch. */
  letGo({ id }: Lease): void {
    this.#held.get(id)?.cancelEnd();
    this.#held.delete(id);
  }

  /** One write a page; the signals of those that are lost fire. Who renews together shares one. */
  async renew(): Promise<void> {
    this.#renewing ??= this.#renewAll().finally(() => {
      this.#renewing = undefined;
    });
    return await this.#renewing;
  }

  /** The holder's own end needs no answer from anybody: a margin before the expiry, renewed or not. */
  #prolong(held: Held, expiresAtMs: number): void {
    held.expiresAtMs = expiresAtMs;
    held.cancelEnd();
    const leftMs = holderStopsAtMs(expiresAtMs) - this.#world.clock.nowMs();
    held.cancelEnd = this.#world.clock.after(leftMs, () => this.#lose(held));
  }

  #lose({ holder, cancelEnd }: Held): void {
    if (holder.lost.signal.aborted) return;
    cancelEnd();
    holder.lost.abort("lease-lost");
    this.#world.telemetry.note({ ...holder.tags, kind: "lease-lost" });
  }

  async #renewAll(): Promise<void> {
    const nowMs = this.#world.clock.nowMs();
    // Thawed after a freeze: what ended meanwhile is not brought back, its timer has only not fired yet.
    for (const each of this.#held.values()) if (holderStopsAtMs(each.expiresAtMs) <= nowMs) this.#lose(each);

    const held = [...this.#held.values()].filter((each) => this.#isOurs(each));
    const pages = Map.groupBy(held, ({ lease }) => pageKey(lease.ref));
    // Leases that are all young have been renewed just now, by the heartbeat of another invocation.
    const due = [...pages.values()].filter((leases) =>
      leases.some(({ expiresAtMs }) => expiresAtMs - nowMs <= leaseMs - heartbeatMs / 2),
    );
    await Promise.all(due.map((leases) => this.#renewPage(leases)));
  }

  /** All in one write; where that is refused, those that the row still has in another. */
  async #renewPage(leases: readonly Held[]): Promise<void> {
    const { clock, leases: table, telemetry } = this.#world;
    let left = leases;
    try {
      for (let tries = 0; tries < renewTriesMax; tries++) {
        const [first] = left;
        if (first === undefined) break;
        const untilMs = clock.nowMs() + leaseMs;
        const ids = left.map(({ lease }) => lease.id);
        const { page = {} } = await table.renew(first.lease.ref, ids, untilMs);

        // What was returned or ended while the write was under way is nobody's concern any more.
        left = left.filter((each) => this.#isOurs(each));
        for (const each of left) if (page[each.lease.id] === undefined) this.#lose(each);
        left = left.filter((each) => this.#isOurs(each));
        for (const each of left) this.#prolong(each, page[each.lease.id] ?? each.expiresAtMs);
        left = left.filter(({ expiresAtMs }) => expiresAtMs < untilMs);
      }
    } catch (error) {
      // The leases still hold until their own end, which the next beats may move.
      telemetry.note({ kind: "trouble", what: "renew leases", error: errorName(error) });
    }
  }

  #isOurs({ lease, holder }: Held): boolean {
    return this.#held.has(lease.id) && !holder.lost.signal.aborted;
  }
}

export function pageKey({ ledger, page }: PageRef): string {
  return `${ledger}#${page}`;
}

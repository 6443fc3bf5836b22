import { stepParts } from "../core/config.ts";
import type { Lease, LeaseAsk, NoLease, PageRef } from "../core/lease.ts";
import { holderStopsAtMs, laneCap, pageCap, pageCount } from "../core/lease.ts";
import { limitOf, raise } from "../core/limit.ts";
import type { Clocks } from "../core/rate.ts";
import type { World } from "../ports.ts";
import type { Board } from "./board.ts";
import { LoweredLimit } from "./lowered-limit.ts";
import type { Dues } from "./take-on-page.ts";
import { takeOnPage } from "./take-on-page.ts";

/** Waiters served by one write. */
const takeTogetherMax = 10;
const pagesTriedMax = 3;
/** What is spent on looks at a full ledger grows with the waiters, what they win by it does not: they look seldom. */
const pollMsBase = 200;
const pollMsMax = 1_000;
/** So long after the last look in vain a ledger still counts as crowded. */
const crowdedMs = 2 * pollMsMax;

/** `atOnce`: the first look at the table found room. */
export type LineAnswer =
  | { readonly kind: "granted"; readonly lease: Lease; readonly atOnce: boolean; readonly standing: LineStanding }
  | NoLease;

/** How many leases of a ledger are out, as if its other pages were as full as the one that was seen, and how many may be. */
export interface LineStanding {
  readonly inUse: number;
  readonly limit: number;
}

/** What nobody holds, or perhaps never was. */
export type Nobodys = Pick<Lease, "id" | "ref" | "charge">;

interface Waiter {
  readonly ask: LeaseAsk;
  readonly untilMs: number;
  readonly settle: (answer: LineAnswer) => void;
  id: string;
  rounds: number;
}

/**
 * The waiters of one container for one ledger, and the one poller that serves them: the highest share first, since what
 * is full for it is full for the others, and within a share first come, first served.
 */
export class LeaseLine {
  readonly #ledger: string;
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  readonly #board: Board;
  readonly #lowered: LoweredLimit;
  readonly #undo: (lease: Nobodys) => void;
  readonly #newId: () => string;
  /** In the order in which they came; whoever is settled is gone. */
  readonly #waiting = new Set<Waiter>();
  #polling: Promise<void> | undefined;
  #looking: Promise<"served" | "full"> | undefined;
  #sleep: { readonly untilMs: number; readonly over: AbortController } | undefined;
  /** Rounds in vain, one after the other, also of waiters who have left since. */
  #fullRounds = 0;
  #fullAtMs = -Infinity;
  /** Where something of ours has come back last, and nobody of ours has looked since. */
  #freedPage: number | undefined;
  /** Of the only page, as they were last seen. */
  #clocks: Clocks | undefined;
  /** Something came back since this round began: a page that was full then may have room. */
  #woken = false;

  /** `undo` returns what was taken, or may have been, while nobody is there to hold it; `newId`: of a lease. */
  constructor(
    ledger: string,
    world: Pick<World, "clock" | "leases" | "telemetry">,
    board: Board,
    undo: (lease: Nobodys) => void,
    newId: () => string,
  ) {
    this.#ledger = ledger;
    this.#world = world;
    this.#board = board;
    this.#lowered = new LoweredLimit(ledger, world);
    this.#undo = undo;
    this.#newId = newId;
  }

  /**
   * Waits for a lease: `waitMs` at most, but for one look at the table. Whoever is aborted leaves at once. `again`: it
   * has just been refused here without a wait, and a look at once would say the same.
   */
  async join(ask: LeaseAsk, waitMs: number, signal: AbortSignal, again = false): Promise<LineAnswer> {
    if (signal.aborted) return { kind: "aborted" };
    const { clock } = this.#world;
    const { promise, resolve } = Promise.withResolvers<LineAnswer>();
    const [untilMs, rounds] = [clock.nowMs() + waitMs, again ? 1 : 0];
    const waiter: Waiter = { ask, untilMs, settle: resolve, id: this.#newId(), rounds };
    const leave = () => this.#settle(waiter, { kind: "aborted" });

    this.#waiting.add(waiter);
    if (this.#sleep !== undefined && waiter.untilMs < this.#sleep.untilMs) this.#wake();
    this.#polling ??= this.#poll();
    signal.addEventListener("abort", leave);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** A lease of ours has come back to that page: looks again now, and there first. */
  freed(page: number, clocks?: Clocks): void {
    this.#freedPage = page;
    this.#clocks = clocks ?? this.#clocks;
    this.#wake();
  }

  /**
   * Resolves when no look at the table is under way. Whoever waits on then waits in another invocation of this
   * container, and no invocation lasts as long as others wait.
   */
  async idle(): Promise<void> {
    await (this.#waiting.size > 0 ? this.#looking : this.#polling);
  }

  #wake(): void {
    this.#woken = true;
    this.#sleep?.over.abort();
  }

  #settle(waiter: Waiter, answer: LineAnswer): void {
    this.#waiting.delete(waiter);
    waiter.settle(answer);
    if (this.#waiting.size === 0) this.#sleep?.over.abort();
  }

  async #poll(): Promise<void> {
    try {
      // A tick first, so that all who come together are served by one write.
      await Promise.all([this.#world.clock.sleep(0), this.#board.read()]);
      if (this.#world.clock.nowMs() - this.#fullAtMs > crowdedMs) this.#fullRounds = 0;
      if ([...this.#waiting].every(({ rounds }) => rounds > 0)) await this.#pause(this.#fullRounds++);
      while (this.#waiting.size > 0) {
        this.#looking = this.#round();
        if ((await this.#looking) === "served") this.#fullRounds = 0;
        else await this.#pause(this.#fullRounds++);
        if (this.#waiting.size > 0) await this.#board.read();
      }
    } catch (error) {
      // A bug of ours must leave nobody waiting.
      for (const waiter of this.#waiting) this.#settle(waiter, { kind: "infra", error });
    } finally {
      this.#polling = undefined;
    }
  }

  /** One look at the table. `served`: all that it looked for are settled, and the next may have more luck. */
  async #round(): Promise<"served" | "full"> {
    const { clock } = this.#world;
    const head = this.#board.head(this.#ledger);
    this.#woken = false;
    if (head?.pausedUntilMs !== undefined && head.pausedUntilMs > clock.nowMs()) {
      for (const waiter of this.#waiting) this.#settle(waiter, { kind: "paused", untilMs: head.pausedUntilMs });
      return "served";
    }

    const group = this.#nextGroup();
    const [first] = group;
    if (first === undefined) return "served";
    for (const waiter of group) waiter.rounds += 1;
    const pages = pageCount(first.ask.limitMax);
    const limit = limitOf(head, this.#board.bounds(first.ask));
    const cap = laneCap(limit, first.ask.share);
    const told = this.#board.overrides.ledgers.get(this.#ledger)?.limit;
    if (!(await this.#lowered.isKeptTo(told, pages))) return "full";

    const standingAt = (size: number): LineStanding => ({ inUse: size * Math.min(limit, pages), limit });
    let out = 0;
    for (const page of this.#somePages(Math.min(cap, pages))) {
      const left = group.filter((waiter) => this.#waiting.has(waiter));
      if (left.length === 0) break;
      const size = await this.#look({ ledger: this.#ledger, page }, left, pageCap(cap, page, pages), standingAt);
      out = standingAt(size).inUse;
    }
    await this.#considerRaise(first.ask, out);
    return group.some((waiter) => this.#waiting.has(waiter)) ? "full" : "served";
  }

  #nextGroup(): readonly Waiter[] {
    const waiting = [...this.#waiting];
    const share = Math.max(...waiting.map(({ ask }) => ask.share));
    return waiting.filter(({ ask }) => ask.share === share).slice(0, takeTogetherMax);
  }

  /**
   * Up to three of the pages that may hold any; of a crowded ledger one, since the others are as full. From the one where
   * a lease of ours has just come back, else from a random one on: workers must not all press on the first.
   */
  #somePages(open: number): readonly number[] {
    const freed = this.#freedPage ?? open;
    this.#freedPage = undefined;
    const from = freed < open ? freed : Math.floor(this.#world.clock.jitter() * open);
    const triedMax = this.#fullRounds > 0 ? 1 : pagesTriedMax;
    return Array.from({ length: Math.min(open, triedMax) }, (_, step) => (from + step) % open);
  }

  /** Serves as many of the group as the page has room for; answers how many leases the page holds. */
  async #look(
    ref: PageRef,
    group: readonly Waiter[],
    cap: number,
    standingAt: (size: number) => LineStanding,
  ): Promise<number> {
    const { clock } = this.#world;
    const ids = group.map(({ id }) => id);
    const look = await takeOnPage(this.#world, ref, ids, cap, this.#dues(group));
    if (look.kind === "unknown") {
      for (const waiter of group) {
        this.#undo(leaseOf(waiter, ref));
        this.#settle(waiter, { kind: "infra", error: look.error });
      }
      return 0;
    }

    this.#clocks = look.clocks;
    for (const waiter of group) {
      const { id, rounds } = waiter;
      const expiresAtMs = look.ours[id];
      if (expiresAtMs === undefined) {
        if (look.readyAtMs !== undefined) this.#settle(waiter, { kind: "tokens", untilMs: look.readyAtMs });
        continue;
      }
      // Who left meanwhile never holds it; nor does anybody hold what came so late that it is over.
      if (this.#waiting.has(waiter) && holderStopsAtMs(expiresAtMs) > clock.nowMs()) {
        const lease = { ...leaseOf(waiter, ref), expiresAtMs };
        this.#settle(waiter, { kind: "granted", lease, atOnce: rounds === 1, standing: standingAt(look.size) });
      } else {
        this.#undo(leaseOf(waiter, ref));
        waiter.id = this.#newId();
      }
    }
    return look.size;
  }

  /** All who wait for one ledger are under the same quota. */
  #dues(group: readonly Waiter[]): Dues | undefined {
    const quota = group[0]?.ask.charge?.quota;
    return quota && { quota, tokens: group.map(({ ask }) => ask.charge?.tokens ?? 0), seen: this.#clocks };
  }

  /** By time, while it has just been seen how full the ledger is. */
  async #considerRaise(ask: LeaseAsk, out: number): Promise<void> {
    const nowMs = this.#world.clock.nowMs();
    const bounds = this.#board.bounds(ask);
    const changed = await this.#board.changeHead(this.#ledger, (head) => raise(head, bounds, out, nowMs, ask.share));
    if (changed === undefined) return;
    const [from, to] = [limitOf(changed.seen, bounds), limitOf(changed.next, bounds)];
    this.#world.telemetry.note({ ...stepParts(this.#ledger), kind: "limit-raised", from, to });
  }

  /** Full: whoever has waited long enough goes, the others sleep until the next look. */
  async #pause(fullRounds: number): Promise<void> {
    const { clock } = this.#world;
    const nowMs = clock.nowMs();
    this.#fullAtMs = nowMs;
    for (const waiter of this.#waiting) if (waiter.untilMs <= nowMs) this.#settle(waiter, { kind: "full" });
    if (this.#woken || this.#waiting.size === 0) return;

    const pollMs = Math.min(pollMsMax, pollMsBase * 2 ** fullRounds) * (0.5 + clock.jitter());
    const untilMs = Math.min(nowMs + pollMs, ...[...this.#waiting].map((waiter) => waiter.untilMs));
    const over = new AbortController();
    this.#sleep = { untilMs, over };
    await clock.sleep(untilMs - nowMs, over.signal);
    this.#sleep = undefined;
  }
}

function leaseOf({ id, ask: { charge } }: Waiter, ref: PageRef): Nobodys {
  return { id, ref, ...(charge && { charge }) };
}

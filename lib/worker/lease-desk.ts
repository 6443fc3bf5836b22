import { errorName } from "../core/error-name.ts";
import type { Lease, LeaseAsk, LeaseOutcome, NoLease, PageRef } from "../core/lease.ts";
import { holderStopsAtMs } from "../core/lease.ts";
import { cut, limitOf, pauseDay } from "../core/limit.ts";
import { heartbeatMs, leaseMs } from "../core/limits.ts";
import type { Tags } from "../core/noted.ts";
import type { World } from "../ports.ts";
import type { Board } from "./board.ts";
import { LeaseLine } from "./lease-line.ts";

const renewTriesMax = 3;

/** `lost` fires when the lease is no longer ours to act on: the attempt ends at once, and still returns it. */
export interface TakenLease {
  readonly kind: "taken";
  readonly lease: Lease;
  readonly lost: AbortSignal;
  readonly waitMs: number;
  /** The first look at the table found room. */
  readonly tookAtOnce: boolean;
}

interface Held {
  readonly lease: Lease;
  readonly ask: LeaseAsk;
  readonly lost: AbortController;
  /** Moves with every renewal; the margin before it is the holder's end. */
  expiresAtMs: number;
  cancelEnd: () => void;
}

interface Returning {
  readonly ids: string[];
  readonly done: Promise<void>;
}

/**
 * The one place of a container where leases are taken, held, renewed and returned, for all invocations that live in it.
 * It keeps no job's state, and whatever it does without being asked is over when `idle` resolves.
 */
export class LeaseDesk {
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  readonly #board: Board;
  readonly #lines = new Map<string, LeaseLine>();
  readonly #held = new Map<string, Held>();
  readonly #returning = new Map<string, Returning>();
  readonly #underWay = new Set<Promise<unknown>>();
  #renewing: Promise<readonly Lease[]> | undefined;

  constructor(world: Pick<World, "clock" | "leases" | "telemetry">, board: Board) {
    this.#world = world;
    this.#board = board;
  }

  /** One lease for one attempt, waited for `waitMs` at most (0: one look at the table). Never throws. */
  async take(
    ask: LeaseAsk,
    until: { readonly waitMs: number; readonly signal: AbortSignal },
  ): Promise<TakenLease | NoLease> {
    const { clock, telemetry } = this.#world;
    const askedAtMs = clock.nowMs();
    const answer = await this.#lineOf(ask.ledger).join(ask, until.waitMs, until.signal);
    const waitMs = clock.nowMs() - askedAtMs;
    switch (answer.kind) {
      case "granted": {
        telemetry.note({ ...tagsOf(ask), kind: "lease-taken", waitMs, atOnce: answer.atOnce });
        const lost = this.#hold(answer.lease, ask);
        return { kind: "taken", lease: answer.lease, lost, waitMs, tookAtOnce: answer.atOnce };
      }
      case "full":
      case "paused":
      case "infra":
        telemetry.note({ ...tagsOf(ask), kind: "lease-refused", reason: answer.kind, waitMs });
        return answer;
      case "aborted":
        return answer;
    }
  }

  /** Returns the lease, then tells its ledger how the attempt went. Never throws: the lease's expiry is the backstop. */
  async giveBack(lease: Lease, outcome: LeaseOutcome): Promise<void> {
    const held = this.#held.get(lease.id);
    this.#held.delete(lease.id);
    held?.cancelEnd();
    await this.#return(lease.ref, [lease.id]);
    if (held !== undefined) await this.#tell(held.ask, outcome);
  }

  /**
   * Renews what needs it, one write a page; answers the leases that are lost, whose signals have fired. Heartbeats of
   * several invocations share one renewal.
   */
  async renew(): Promise<readonly Lease[]> {
    this.#renewing ??= this.#renewAll().finally(() => {
      this.#renewing = undefined;
    });
    return await this.#renewing;
  }

  /** Resolves when all that the desk began for those who do not wait any more is over: nothing may outlive them. */
  async idle(): Promise<void> {
    for (const line of this.#lines.values()) await line.idle();
    await Promise.all(this.#underWay);
  }

  #lineOf(ledger: string): LeaseLine {
    const known = this.#lines.get(ledger);
    if (known !== undefined) return known;
    const line = new LeaseLine(ledger, this.#world, this.#board, (ref, ids) => void this.#return(ref, ids));
    this.#lines.set(ledger, line);
    return line;
  }

  #hold(lease: Lease, ask: LeaseAsk): AbortSignal {
    const { id, expiresAtMs } = lease;
    const held: Held = { lease, ask, expiresAtMs, lost: new AbortController(), cancelEnd: () => undefined };
    this.#held.set(id, held);
    this.#prolong(held, expiresAtMs);
    return held.lost.signal;
  }

  /** The holder's own end needs no answer from anybody: a margin before the expiry, renewed or not. */
  #prolong(held: Held, expiresAtMs: number): void {
    held.expiresAtMs = expiresAtMs;
    held.cancelEnd();
    const leftMs = holderStopsAtMs(expiresAtMs) - this.#world.clock.nowMs();
    held.cancelEnd = this.#world.clock.after(leftMs, () => this.#lose(held));
  }

  #lose(held: Held): void {
    if (held.lost.signal.aborted) return;
    held.cancelEnd();
    held.lost.abort("lease-lost");
    this.#world.telemetry.note({ ...tagsOf(held.ask), kind: "lease-lost" });
  }

  /** Returns of one tick and page share a write. */
  #return(ref: PageRef, ids: readonly string[]): Promise<void> {
    const { clock, leases, telemetry } = this.#world;
    const page = pageKey(ref);
    const together = this.#returning.get(page);
    if (together !== undefined) {
      together.ids.push(...ids);
      return together.done;
    }

    const all = [...ids];
    const done = clock.sleep(0).then(async () => {
      this.#returning.delete(page);
      try {
        await leases.giveBack(ref, all);
        this.#lines.get(ref.ledger)?.freed(ref.page);
      } catch (error) {
        telemetry.note({ kind: "lease-return-failed", error: errorName(error) });
      }
    });
    this.#returning.set(page, { ids: all, done });
    return this.#track(done);
  }

  async #tell(ask: LeaseAsk, outcome: LeaseOutcome): Promise<void> {
    const nowMs = this.#world.clock.nowMs();
    switch (outcome.kind) {
      case "neutral":
        return;
      case "throttled": {
        const bounds = this.#board.bounds(ask);
        const changed = await this.#board.change(ask.ledger, (head) => cut(head, bounds, nowMs, outcome.retryAfterMs));
        if (changed === undefined) return;
        const [from, to] = [limitOf(changed.seen, bounds), limitOf(changed.next, bounds)];
        return this.#world.telemetry.note({ ...tagsOf(ask), kind: "limit-cut", from, to });
      }
      case "daily":
        await this.#board.change(ask.ledger, (head) => pauseDay(head, nowMs));
    }
  }

  async #renewAll(): Promise<readonly Lease[]> {
    const nowMs = this.#world.clock.nowMs();
    const held = [...this.#held.values()].filter((each) => this.#isOurs(each));
    // Thawed after a freeze: what ended meanwhile is not brought back, its timer has only not fired yet.
    const over = held.filter(({ expiresAtMs }) => holderStopsAtMs(expiresAtMs) <= nowMs);
    for (const each of over) this.#lose(each);

    const pages = Map.groupBy(
      held.filter((each) => this.#isOurs(each)),
      ({ lease }) => pageKey(lease.ref),
    );
    // Leases that are all young have been renewed just now, by the heartbeat of another invocation.
    const due = [...pages.values()].filter((leases) =>
      leases.some(({ expiresAtMs }) => expiresAtMs - nowMs <= leaseMs - heartbeatMs / 2),
    );
    const refused = await Promise.all(due.map((leases) => this.#renewPage(leases)));
    return [...over, ...refused.flat()].map(({ lease }) => lease);
  }

  /** All in one write; where that is refused, those that the row still has in another. Answers the others. */
  async #renewPage(leases: readonly Held[]): Promise<readonly Held[]> {
    const { clock, leases: table, telemetry } = this.#world;
    const lost: Held[] = [];
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
        const gone = left.filter(({ lease }) => page[lease.id] === undefined);
        for (const each of gone) this.#lose(each);
        lost.push(...gone);
        left = left.filter((each) => this.#isOurs(each));
        for (const each of left) this.#prolong(each, page[each.lease.id] ?? each.expiresAtMs);
        left = left.filter(({ expiresAtMs }) => expiresAtMs < untilMs);
      }
    } catch (error) {
      // The leases still hold until their own end, which the next beats may move.
      telemetry.note({ kind: "trouble", what: "renew leases", error: errorName(error) });
    }
    return lost;
  }

  #isOurs({ lease, lost }: Held): boolean {
    return this.#held.has(lease.id) && !lost.signal.aborted;
  }

  #track(promise: Promise<void>): Promise<void> {
    this.#underWay.add(promise);
    return promise.finally(() => this.#underWay.delete(promise));
  }
}

/** A target's ledger bears the name of its step. */
function tagsOf({ ledger, lane }: LeaseAsk): Tags {
  const [model = ledger, target] = ledger.split("@");
  return { lane, model, ...(target === undefined ? {} : { target }) };
}

function pageKey({ ledger, page }: PageRef): string {
  return `${ledger}#${page}`;
}

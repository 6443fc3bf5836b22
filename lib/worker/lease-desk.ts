import { stepParts } from "../core/config.ts";
import { errorName } from "../core/error-name.ts";
import type { Wanted } from "../core/ledgers.ts";
import { ledgerKind } from "../core/ledgers.ts";
import { leaseIdOf } from "../core/lease.ts";
import type { Lease, LeaseAsk, LeaseOutcome, NoLease, PageRef } from "../core/lease.ts";
import { cut, limitOf, pauseDay } from "../core/limit.ts";
import type { Tags } from "../core/noted.ts";
import { backMs } from "../core/rate.ts";
import type { World } from "../ports.ts";
import type { Board } from "./board.ts";
import { HeldLeases, pageKey } from "./held-leases.ts";
import type { Holder } from "./held-leases.ts";
import { LeaseLine } from "./lease-line.ts";
import type { LineStanding, Nobodys } from "./lease-line.ts";
import { QuotaClocks } from "./quota-clocks.ts";
import type { SetAside } from "./quota-clocks.ts";
import { twice } from "./take-on-page.ts";
import { Infrastructure } from "./trouble.ts";

/** What an attempt holds. `lost` fires when a lease is no longer ours to act on: the attempt ends, and still returns all. */
export interface TakenLease {
  readonly kind: "taken";
  readonly wanted: Wanted;
  readonly tags: Tags;
  /** In the order in which they were taken. */
  readonly leases: readonly [Lease, ...Lease[]];
  readonly takenAtMs: number;
  readonly lost: AbortSignal;
}

/** `atOnce`: the first look at each ledger found room. `standing`: of the target's. */
interface All {
  readonly kind: "all";
  readonly leases: TakenLease["leases"];
  readonly atOnce: boolean;
  readonly standing: LineStanding;
}

interface Until {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Whose attempt it is for, on the lines about its leases. */
  readonly tags?: Tags;
}

interface Returning {
  readonly ids: string[];
  /** By how much the page's clock is set back for an id. */
  readonly setBackMs: Record<string, number>;
  readonly done: Promise<void>;
}

/**
 * The one place of a container where leases are taken, held, renewed and returned, for all invocations that live in it.
 * It keeps no job's state, and whatever it does without being asked is over when `idle` resolves.
 */
export class LeaseDesk {
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  readonly #board: Board;
  readonly #clocks: QuotaClocks;
  readonly #held: HeldLeases;
  readonly #newId: () => string;
  readonly #lines = new Map<string, LeaseLine>();
  readonly #returning = new Map<string, Returning>();
  readonly #underWay = new Set<Promise<unknown>>();

  /** `name`: of the container, which its leases bear. */
  constructor(world: Pick<World, "clock" | "leases" | "telemetry">, board: Board, name = "") {
    this.#world = world;
    this.#board = board;
    this.#clocks = new QuotaClocks(world);
    this.#held = new HeldLeases(world);
    this.#newId = () => leaseIdOf(name, world.clock.newId());
  }

  /** All that one attempt wants, or nothing; waited for `waitMs` at most (0: one look at each ledger). Never throws. */
  async take(wanted: Wanted, until: Until): Promise<TakenLease | NoLease> {
    const { clock, telemetry } = this.#world;
    const askedAtMs = clock.nowMs();
    const tags: Tags = { ...until.tags, ...tagsOf(wanted) };
    const holder: Holder = { tags, lost: new AbortController() };
    const answer = this.#clocks.refusal(wanted) ?? (await this.#takeAndCharge(wanted, until, holder));
    const nowMs = clock.nowMs();
    const waitMs = nowMs - askedAtMs;
    switch (answer.kind) {
      case "all":
        telemetry.note({ ...tags, kind: "lease-taken", waitMs, atOnce: answer.atOnce, ...answer.standing });
        return { kind: "taken", wanted, tags, leases: answer.leases, takenAtMs: nowMs, lost: holder.lost.signal };
      case "full":
      case "paused":
      case "tokens":
      case "above-quota":
      case "infra":
        telemetry.note({ ...tags, kind: "lease-refused", ...whyRefused(answer), waitMs });
        return answer;
      case "aborted":
        return answer;
    }
  }

  /**
   * Returns all that was taken, and the tokens that the attempt did not use, then tells the target's ledger how it went.
   * Never throws: a lease's expiry is the backstop.
   */
  async giveBack(taken: TakenLease, outcome: LeaseOutcome, unusedTokens = 0): Promise<void> {
    const { wanted, tags, leases, takenAtMs } = taken;
    const { clock, telemetry } = this.#world;
    telemetry.note({ ...tags, kind: "lease-returned", heldMs: clock.nowMs() - takenAtMs });
    await Promise.all([
      this.#giveBackAll(leases, unusedTokens),
      this.#settle(setAsideOnHead(wanted, leases), unusedTokens),
    ]);
    await this.#tell(wanted, outcome);
  }

  /**
   * Renews what needs it, one write a page; the signals of those that are lost fire. Heartbeats of several invocations
   * share one renewal.
   */
  async renew(): Promise<void> {
    await this.#held.renew();
  }

  /** Resolves when all that the desk began for those who do not wait any more is over: nothing may outlive them. */
  async idle(): Promise<void> {
    for (const line of this.#lines.values()) await line.idle();
    await Promise.all(this.#underWay);
  }

  /** The head's clocks last: a lease that comes back has cost others nothing, a clock that is set back has kept them waiting. */
  async #takeAndCharge(wanted: Wanted, until: Until, holder: Holder): Promise<All | NoLease> {
    const all = await this.#takeAll(wanted, until, holder);
    if (all.kind === "tokens") this.#clocks.told(wanted.target, all.untilMs);
    if (all.kind !== "all") return all;
    const setAside = setAsideOnHead(wanted, all.leases);
    const charging = setAside === undefined ? Promise.resolve(undefined) : this.#clocks.charge(setAside);
    const refused = await unlessAborted(charging, until.signal);
    if (refused === undefined && !holder.lost.signal.aborted) return all;

    const undone = Promise.all([this.#giveBackAll(all.leases), this.#takeBack(setAside, charging)]);
    await unlessAborted(this.#track(undone), until.signal);
    if (refused === "aborted") return { kind: "aborted" };
    // So slow a table that the first lease was over before the last one was there.
    return refused ?? { kind: "infra", error: new Infrastructure("LeaseLost") };
  }

  /** What was charged for an attempt that will not be made. */
  async #takeBack(setAside: SetAside | undefined, charging: Promise<NoLease | undefined>): Promise<void> {
    if (setAside !== undefined && (await charging) === undefined) await this.#clocks.settle(setAside, setAside.tokens);
  }

  /** All or none. Nobody waits while it holds one: whoever is refused returns all, and waits next where it was refused. */
  async #takeAll({ asks, target }: Wanted, until: Until, holder: Holder): Promise<All | NoLease> {
    const { clock } = this.#world;
    const untilMs = clock.nowMs() + until.waitMs;
    let order = asks;
    for (let turn = 0; ; turn += 1) {
      const leases: Lease[] = [];
      let atOnce = true;
      let standing: LineStanding = { inUse: 0, limit: 0 };
      let refused: { readonly ask: LeaseAsk; readonly why: NoLease } | undefined;
      for (const ask of order) {
        const isFirst = leases.length === 0;
        const waitMs = isFirst ? Math.max(0, untilMs - clock.nowMs()) : 0;
        const answer = await this.#lineOf(ask.ledger).join(ask, waitMs, until.signal, isFirst && turn > 0);
        if (answer.kind !== "granted") {
          refused = { ask, why: answer };
          break;
        }
        this.#held.hold(answer.lease, holder);
        leases.push(answer.lease);
        atOnce &&= answer.atOnce;
        if (ask.ledger === target) standing = answer.standing;
      }
      const [first, ...rest] = leases;
      if (refused === undefined && first !== undefined)
        return { kind: "all", leases: [first, ...rest], atOnce, standing };
      if (refused === undefined) throw new Error("an attempt wants no lease at all");

      const { ask, why } = refused;
      await unlessAborted(this.#giveBackAll(leases), until.signal);
      if (why.kind !== "full") return why;
      if (first === undefined || clock.nowMs() >= untilMs) return fullAt(ask);
      order = [ask, ...asks.filter((other) => other !== ask)];
    }
  }

  #lineOf(ledger: string): LeaseLine {
    const known = this.#lines.get(ledger);
    if (known !== undefined) return known;
    const line = new LeaseLine(ledger, this.#world, this.#board, (lease) => void this.#return(lease), this.#newId);
    this.#lines.set(ledger, line);
    return line;
  }

  /** In the reverse order, each with the returns of its own page; without a number, all that was charged comes back. */
  async #giveBackAll(leases: readonly Lease[], unusedTokens?: number): Promise<void> {
    const returns = leases.toReversed().map((lease) => {
      this.#held.letGo(lease);
      return this.#return(lease, unusedTokens);
    });
    await Promise.all(returns);
  }

  async #settle(setAside: SetAside | undefined, unusedTokens: number): Promise<void> {
    if (setAside !== undefined) await this.#track(this.#clocks.settle(setAside, unusedTokens));
  }

  /** Returns of one tick and page share a write. */
  #return({ id, ref, charge }: Nobodys, unusedTokens?: number): Promise<void> {
    const together = this.#returning.get(pageKey(ref)) ?? this.#beginReturn(ref);
    together.ids.push(id);
    const back = charge === undefined ? 0 : backMs(charge, unusedTokens);
    if (back > 0) together.setBackMs[id] = back;
    return together.done;
  }

  #beginReturn(ref: PageRef): Returning {
    const { clock, leases, telemetry } = this.#world;
    const [ids, setBackMs]: [string[], Record<string, number>] = [[], {}];
    const returned = clock.sleep(0).then(async () => {
      this.#returning.delete(pageKey(ref));
      try {
        const act = () => leases.giveBack(ref, ids, setBackMs);
        const setsBack = Object.keys(setBackMs).length > 0;
        const clocks = await (setsBack ? twice(act) : act());
        if (setsBack) this.#clocks.setBack(ref.ledger);
        this.#lines.get(ref.ledger)?.freed(ref.page, clocks);
      } catch (error) {
        telemetry.note({ kind: "lease-return-failed", error: errorName(error) });
      }
    });
    const together = { ids, setBackMs, done: this.#track(returned) };
    this.#returning.set(pageKey(ref), together);
    return together;
  }

  async #tell({ target, asks }: Wanted, outcome: LeaseOutcome): Promise<void> {
    const nowMs = this.#world.clock.nowMs();
    const ask = asks.find(({ ledger }) => ledger === target);
    if (ask === undefined) return;
    switch (outcome.kind) {
      case "neutral":
        return;
      case "throttled": {
        const bounds = this.#board.bounds(ask);
        const changed = await this.#board.changeHead(target, (head) => cut(head, bounds, nowMs, outcome.retryAfterMs));
        if (changed === undefined) return;
        const [from, to] = [limitOf(changed.seen, bounds), limitOf(changed.next, bounds)];
        return this.#world.telemetry.note({ ...tagsOf({ target, asks }), kind: "limit-cut", from, to });
      }
      case "daily":
        await this.#board.changeHead(target, (head) => pauseDay(head, nowMs));
    }
  }

  #track<T>(promise: Promise<T>): Promise<T> {
    this.#underWay.add(promise);
    return promise.finally(() => this.#underWay.delete(promise));
  }
}

function setAsideOnHead({ target: ledger, charge }: Wanted, [{ id }]: All["leases"]): SetAside | undefined {
  return charge && { ledger, id, ...charge };
}

/** A target's ledger bears the name of its step. */
function tagsOf({ target, asks: [ask] }: Wanted): Tags {
  return { ...stepParts(target), ...(ask && { lane: ask.lane }) };
}

/** Whose limit is full is told where it is not the target's own. */
function fullAt({ ledger }: LeaseAsk): NoLease {
  return ledgerKind(ledger) === "target" ? { kind: "full" } : { kind: "full", ledger };
}

function whyRefused(refused: NoLease): { readonly reason: string; readonly error?: string } {
  if (refused.kind === "infra") return { reason: "infra", error: errorName(refused.error) };
  return {
    reason: refused.kind === "full" && refused.ledger !== undefined ? ledgerKind(refused.ledger) : refused.kind,
  };
}

/** The answer, or `aborted` as soon as the signal fires; what is under way goes on. */
async function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | "aborted"> {
  const { promise: aborted, resolve } = Promise.withResolvers<"aborted">();
  const leave = () => resolve("aborted");
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave);
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

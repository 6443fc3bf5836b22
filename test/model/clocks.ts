/**
 * The clock of a target's tokens as a machine: two clients, whose attempts need a lease of a narrower ledger too, and a
 * network that loses, delays and repeats what moves the clock. It lies on the only page of the target's ledger, charged
 * with the take and settled with the return, or on a head, charged last and by itself. What is true of any lease is the
 * lease model's: here the narrower ledger answers at once, and clients whose clocks differ are left out.
 *
 * On a page the lease is the mark: each time that an id comes onto it it pays once, also where a copy of its take comes
 * after the return. That takes for nobody, and is spent when it lapses.
 */
import type { Page } from "../../lib/core/lease.ts";
import { backMs, burstMs, payTogether } from "../../lib/core/rate.ts";
import type { Toll } from "../../lib/core/rate.ts";
import { costOf, quota, reserved, trueClocks } from "./clock-protocol.ts";
import type { ClockProtocol, Ending, Paid, Place, Row } from "./clock-protocol.ts";
import { aged, atMs, keyOf, leaseMs, now, textOf } from "./clock-world.ts";
import type { ClockWorld, Message, Write } from "./clock-world.ts";
import type { Machine } from "./explore.ts";
import { sizeOf, trueProtocol as leases } from "./protocol.ts";

/** The world in which the protocol is tried. */
export interface ClockScene {
  readonly place: Place;
  /** Attempts of a client, while anything knows of them. */
  readonly attemptsMax: number;
}

const cap = 2;
const underWayMax = 2;

const reservedMs = costOf(reserved);
/** In truth, or for all that anybody knows. */
const usedBy = { refused: 0, late: 0, unknown: 0, answered: 1, cut: reserved };

export function clockMachine(scene: ClockScene, protocol: ClockProtocol = trueClocks): Machine<ClockWorld> {
  const isOnPage = scene.place === "page";

  /** The world after a write, and what it answers. */
  function apply(world: ClockWorld, write: Write): { readonly change: Partial<ClockWorld>; readonly answer: Paid } {
    const { row } = world;
    const { kind, id, expired, untilMs, nowMs, used } = write;
    const toll: Toll = { quota, tokens: [reserved], nowMs };
    switch (kind) {
      case "take":
        return charged(world, write, protocol.take(row, [id], cap, untilMs, toll));
      case "reclaim":
        return charged(world, write, protocol.reclaim(row, expired, [id], cap, untilMs, toll));
      case "charge": {
        const answer = protocol.charge(row.clocks, { id, tokens: reserved }, quota, nowMs);
        const clocks = answer.kind === "charged" ? answer.clocks : row.clocks;
        const isPaid = answer.kind === "charged" || answer.kind === "already";
        return charged(world, write, { kind: isPaid ? "taken" : "refused", row: { ...row, clocks } });
      }
      case "return": {
        const back = backMs({ tokens: reserved, quota }, write.unused);
        const after = protocol.giveBack(row, [id], back > 0 ? { [id]: back } : {});
        // Whoever finds no lease has nothing to pay for.
        const spentMs = row.page[id] === undefined ? 0 : costOf(used);
        const aheadMs = plus(world.aheadMs, id, atMs(after) - atMs(row) - spentMs);
        return { change: { row: after, aheadMs }, answer: { kind: "taken", row: after } };
      }
      case "settle": {
        const clocks =
          protocol.settle(row.clocks, { id, tokens: write.unused ?? reserved }, quota, nowMs) ?? row.clocks;
        const [after, isFirst] = [{ ...row, clocks }, !world.settled.includes(id)];
        const aheadMs = plus(world.aheadMs, id, atMs(after) - atMs(row) - (isFirst ? costOf(used) : 0));
        const settled = isFirst ? [...world.settled, id] : world.settled;
        return { change: { row: after, aheadMs, settled }, answer: { kind: "taken", row: after } };
      }
    }
  }

  function charged(world: ClockWorld, { kind, id, expired, nowMs }: Write, answer: Paid): ReturnType<typeof apply> {
    const { row } = world;
    const isMoved = atMs(answer.row) !== atMs(row);
    const movedMs = isMoved ? atMs(answer.row) - Math.max(atMs(row), nowMs) : 0;
    const isTaken = answer.kind === "taken" && (isMoved || answer.row.page !== row.page);
    const gone = Object.keys(expired).filter((each) => answer.row.page[each] === undefined && row.page[each]);
    let wrong = "";
    if (isTaken && atMs(row) - nowMs >= burstMs) wrong = "an attempt is admitted above the quota";
    if (isTaken && kind === "reclaim" && movedMs < reservedMs) wrong = "what nobody knows comes back";

    // Whose lease is taken away has spent all that it had reserved, for all that anybody knows.
    const aheadMs = gone.reduce((all, each) => plus(all, each, -reservedMs), plus(world.aheadMs, id, movedMs));
    // Of a row that took there is nothing to learn.
    return {
      change: { row: answer.row, aheadMs, wrong },
      answer: answer.kind === "taken" || !isOnPage ? { kind: answer.kind, row: { page: {} } } : answer,
    };
  }

  function steps(world: ClockWorld): (readonly [string, ClockWorld])[] {
    const next: (readonly [string, ClockWorld])[] = [];
    const may: May = (did, change) => {
      if ((change.underWay ?? []).length <= underWayMax) next.push([did, { ...world, wrong: "", ...change }]);
    };

    may("time passes", aged(world));
    for (const [at, message] of world.underWay.entries())
      mayArrive(world, message, world.underWay.toSpliced(at, 1), may);
    for (const client of world.attempts.keys()) mayAct(world, client, may);
    return next;
  }

  function mayArrive(world: ClockWorld, { write, answer }: Message, others: readonly Message[], may: May): void {
    const what = `${write.kind} ${write.id}`;
    if (typeof answer === "object") {
      may(`${what} is answered`, heard(world, write, answer, others));
      may(`${what} loses its answer`, over(world, write.client, "unknown", others));
      may(`${what} loses its answer, and is sent again`, { underWay: [...others, { write, answer: "awaited" }] });
      return;
    }

    const { change, answer: told } = apply(world, write);
    const [back, stray]: [Message, Message] = [
      { write, answer: told },
      { write, answer: "unawaited" },
    ];
    may(`${what} is applied, and comes again`, change);
    if (answer === "awaited") {
      may(`${what} is applied`, { ...change, underWay: [...others, back] });
      may(`${what} is applied, with a copy behind it`, { ...change, underWay: [...others, back, stray] });
      may(`${what} is given up`, over(world, write.client, "unknown", [...others, stray]));
    } else {
      may(`${what} is applied late`, { ...change, underWay: others });
      may(`${what} is lost`, { underWay: others });
    }
  }

  /** What a client makes of an answer. */
  function heard(
    world: ClockWorld,
    write: Write,
    { kind, row }: Paid,
    others: readonly Message[],
  ): Partial<ClockWorld> {
    const { client, id } = write;
    if (kind === "taken") return granted(world, client, others);
    const left: Partial<ClockWorld> = { attempts: world.attempts.with(client, undefined), underWay: others };
    if (!isOnPage) return left;

    const verdict = leases.onRefused(row.page, [id], cap, now);
    if (verdict.kind === "taken") return granted(world, client, others);
    const isReady = payTogether(row.clocks, { quota, tokens: [reserved], nowMs: now }).count > 0;
    if (verdict.kind === "full" || verdict.kind === "missing" || !isReady) return left;
    const expired = verdict.kind === "reclaim" ? verdict.expired : {};
    const again = asked(client, id, verdict.kind === "reclaim" ? "reclaim" : "take", expired);
    return { underWay: [...others, again] };
  }

  /** Whoever came to the target first looks at the narrower ledger now, and is refused where the other one holds that. */
  function granted(world: ClockWorld, client: number, underWay: readonly Message[]): Partial<ClockWorld> {
    const attempt = world.attempts[client];
    if (attempt === undefined) return { underWay };
    if (!attempt.holdsNarrower && !isNarrowerFree(world)) return over(world, client, "refused", underWay);
    return { attempts: world.attempts.with(client, { ...attempt, holdsNarrower: true, isComplete: true }), underWay };
  }

  /** All that an attempt holds goes back. */
  function over(world: ClockWorld, client: number, ending: Ending, underWay: readonly Message[]): Partial<ClockWorld> {
    const [attempt, attempts] = [world.attempts[client], world.attempts.with(client, undefined)];
    if (attempt === undefined) return { underWay };
    const { id } = attempt;
    const unused = protocol.unused(ending, scene.place);
    const used = usedBy[ending];
    if (isOnPage || unused !== 0) {
      const kind = isOnPage ? "return" : "settle";
      const write: Write = { kind, client, id, expired: {}, untilMs: 0, nowMs: now, unused, used };
      return { attempts, underWay: [...underWay, { write, answer: "unawaited" }] };
    }
    // Nothing is written: what was charged was spent, or is for ever unknown.
    if (ending === "unknown") return { attempts, underWay };
    const aheadMs = plus(world.aheadMs, id, -costOf(used));
    return { attempts, underWay, aheadMs, settled: [...world.settled, id] };
  }

  function mayAct(world: ClockWorld, client: number, may: May): void {
    const { attempts, underWay } = world;
    const attempt = attempts[client];
    if (attempt === undefined) {
      const text = textOf(world);
      const [id] = leases.newIds(client, 1, (each) => text.includes(each));
      if (id === undefined || Number(id.charAt(1)) >= scene.attemptsMax) return;
      const start = (did: string, holdsNarrower: boolean) =>
        may(`${id} ${did}`, {
          attempts: attempts.with(client, { id, holdsNarrower, isComplete: false }),
          underWay: [...underWay, asked(client, id, isOnPage ? "take" : "charge")],
        });
      if (isNarrowerFree(world)) start("takes the narrower ledger, and asks", true);
      // It has waited at its target.
      if (isOnPage) start("asks first", false);
      return;
    }

    if (attempt.isComplete)
      for (const ending of ["late", "answered", "cut"] as const)
        may(`${attempt.id} is ${ending}`, over(world, client, ending, underWay));
    may(`client ${client} crashes`, {
      attempts: attempts.with(client, undefined),
      underWay: underWay.flatMap((message) => {
        if (message.write.client !== client || message.answer === "unawaited") return [message];
        return message.answer === "awaited" ? [{ ...message, answer: "unawaited" }] : [];
      }),
    });
  }

  function broken({ row, aheadMs, settled, wrong }: ClockWorld): readonly string[] {
    const sums = Object.entries({ ...Object.fromEntries(Object.keys(row.page).map((id) => [id, 0])), ...aheadMs });
    // On a page the lease itself says who has paid; on a head whoever is not settled may have, once.
    const mayStand = ([id]: readonly [string, number]) =>
      isOnPage ? row.page[id] !== undefined : !settled.includes(id);
    const least = (sum: readonly [string, number]) => (isOnPage && mayStand(sum) ? reservedMs : 0);
    return [
      wrong,
      sums.some((sum) => mayStand(sum) && sum[1] > reservedMs) ? "an attempt is charged twice" : "",
      sums.some((sum) => !mayStand(sum) && sum[1] > 0) ? "an attempt pays for what it has not used" : "",
      sums.some((sum) => sum[1] < least(sum)) ? "more comes back than was charged" : "",
      canBeEmptied(row) ? "" : "a page is never empty again",
    ];
  }

  /** After a quiet while whoever comes finds nothing on the page but what may be taken away. */
  function canBeEmptied(row: Row): boolean {
    const size = sizeOf(row.page);
    if (size === 0) return true;
    const quietMs = now + 60_000;
    const verdict = leases.onRefused(row.page, ["z"], size, quietMs);
    if (verdict.kind !== "reclaim") return false;
    const toll: Toll = { quota, tokens: [0], nowMs: quietMs };
    const reclaimed = protocol.reclaim(row, verdict.expired, ["z"], size, quietMs, toll).row;
    return sizeOf(protocol.giveBack(reclaimed, ["z"], {}).page) === 0;
  }

  return {
    start: { row: { page: {} }, attempts: [undefined, undefined], underWay: [], aheadMs: {}, settled: [], wrong: "" },
    keyOf,
    steps,
    broken,
  };
}

type May = (did: string, change: Partial<ClockWorld>) => void;

function asked(client: number, id: string, kind: Write["kind"], expired: Page = {}): Message {
  const write = { kind, client, id, expired, untilMs: now + leaseMs, nowMs: now, unused: 0, used: 0 };
  return { write, answer: "awaited" };
}

function isNarrowerFree({ attempts }: ClockWorld): boolean {
  return !attempts.some((attempt) => attempt?.holdsNarrower);
}

function plus(sums: ClockWorld["aheadMs"], id: string, ms: number): ClockWorld["aheadMs"] {
  const { [id]: before = 0, ...others } = sums;
  return before + ms === 0 ? others : { ...others, [id]: before + ms };
}

export const onPage: ClockScene = { place: "page", attemptsMax: 10 };
export const onHead: ClockScene = { place: "head", attemptsMax: 2 };

/**
 * The lease protocol as a machine that can be walked through whole: clients whose clocks differ, the pages of a ledger,
 * and a network that loses, delays and repeats whatever it likes, for ever. Nothing is counted, so nothing runs out: a
 * lease id is free again when nothing in the world knows it, and every time is its distance from now, which is 0.
 */
import type { Page } from "../../lib/core/lease.ts";
import { leaseGraceMs } from "../../lib/core/limits.ts";
import type { Machine } from "./explore.ts";
import { sizeOf, trueProtocol } from "./protocol.ts";
import type { Answer, Protocol } from "./protocol.ts";

/** The world in which the protocol is tried. */
export interface Scene {
  readonly limit: number;
  readonly pages: number;
  readonly clients: readonly { readonly skewMs: number; readonly share: number }[];
  /** Leases that one client holds or asks for at a time, in one write or in several. */
  readonly wantedMax: number;
  /** Messages under way at a time, answers among them. */
  readonly underWayMax: number;
  readonly leaseMs: number;
  readonly tickMs: number;
}

interface Held {
  readonly client: number;
  readonly page: number;
  readonly id: string;
  readonly expiresAtMs: number;
}

interface Write {
  readonly kind: "take" | "reclaim" | "renew" | "return";
  readonly client: number;
  readonly page: number;
  readonly ids: readonly string[];
  readonly expired: Page;
  readonly untilMs: number;
}

/** A write on its way, or its answer on the way back. */
interface Message {
  readonly write: Write;
  readonly answer: Answer | "awaited" | "unawaited";
  /** By which it is told apart. */
  readonly text: string;
}

export interface World {
  readonly pages: readonly Page[];
  readonly held: readonly Held[];
  readonly underWay: readonly Message[];
  /** What the last step itself did wrong. */
  readonly wrong?: string;
}

export function leaseMachine(scene: Scene, protocol: Protocol = trueProtocol): Machine<World> {
  const clockMs = (client: number) => scene.clients[client]?.skewMs ?? 0;
  const skewMsMax = Math.max(...scene.clients.map(({ skewMs }) => Math.abs(skewMs)));
  const capOf = ({ client, page }: Pick<Write, "client" | "page">) =>
    protocol.pageCap(protocol.laneCap(scene.limit, scene.clients[client]?.share ?? 1), page, scene.pages);
  const isLive = ({ client, expiresAtMs }: Held) => clockMs(client) < protocol.holderStopsAtMs(expiresAtMs);

  // What nobody's clock takes for unexpired any more is all the same.
  const nearer = (ms: number) => (ms - scene.tickMs < -leaseGraceMs - skewMsMax ? -Infinity : ms - scene.tickMs);
  const nearerOn = (page: Page) => Object.fromEntries(Object.entries(page).map(([id, ms]) => [id, nearer(ms)]));

  function apply(page: Page, write: Write): Answer {
    const { kind, ids, expired, untilMs } = write;
    switch (kind) {
      case "take":
        return protocol.take(page, ids, capOf(write), untilMs);
      case "reclaim":
        return protocol.reclaim(page, expired, ids, capOf(write), untilMs);
      case "renew":
        return protocol.renew(page, ids, untilMs);
      case "return":
        return { kind: "taken", page: protocol.giveBack(page, ids) };
    }
  }

  /** What may follow when a take is answered. */
  function taken(world: World, write: Write, answer: Answer, others: readonly Message[]): readonly Partial<World>[] {
    const { client, page, ids, untilMs } = write;
    const send = (facts: Partial<Write>) => ({
      underWay: [...others, sent({ ...write, expired: {}, untilMs: clockMs(client) + scene.leaseMs, ...facts })],
    });
    const hold = (ours: readonly string[]) => {
      const leases = ours.map((id) => ({ client, page, id, expiresAtMs: protocol.believedMs(answer, id, untilMs) }));
      return [{ held: [...world.held, ...leases], underWay: others }];
    };

    if (answer.kind === "taken") return hold(ids);
    const verdict = protocol.onRefused(answer.page, ids, capOf(write), clockMs(client));
    switch (verdict.kind) {
      case "taken":
        return hold(Object.keys(verdict.ours));
      case "reclaim":
        return [send({ kind: "reclaim", expired: verdict.expired, ids: ids.slice(0, verdict.room) })];
      case "shrink":
        return [send({ kind: "take", ids: ids.slice(0, verdict.room) })];
      case "full":
        // Whoever waits leaves, or looks for the same lease again, on any page.
        return [{ underWay: others }, ...world.pages.map((_, to) => send({ kind: "take", page: to }))];
      case "missing":
        return [];
    }
  }

  /** A renewal prolongs what is still live and on the page, and ends the rest of what it was for. */
  function renewed(
    world: World,
    { client, ids, untilMs }: Write,
    answer: Answer,
    others: readonly Message[],
  ): Partial<World> {
    const left = protocol.survivors(ids, answer.page);
    const held = world.held.map((lease) => {
      if (lease.client !== client || !ids.includes(lease.id) || !isLive(lease)) return lease;
      const expiresAtMs = left.includes(lease.id) ? protocol.believedMs(answer, lease.id, untilMs) : -Infinity;
      return { ...lease, expiresAtMs };
    });
    const thrownAway = ids.some((id) => answer.page[id] !== undefined && !left.includes(id));
    return { held, underWay: others, ...(thrownAway && { wrong: "a client gives up a lease that it has" }) };
  }

  function steps(world: World): (readonly [string, World])[] {
    const next: (readonly [string, World])[] = [];
    const may = (did: string, change: Partial<World>) => {
      if ((change.underWay ?? []).length <= scene.underWayMax) next.push([did, { ...world, ...change }]);
    };

    may("time passes", {
      pages: world.pages.map(nearerOn),
      held: world.held.map((lease) => ({ ...lease, expiresAtMs: nearer(lease.expiresAtMs) })),
      underWay: world.underWay.map(({ write, answer }) =>
        sent(
          { ...write, expired: nearerOn(write.expired), untilMs: nearer(write.untilMs) },
          typeof answer === "string" ? answer : { ...answer, page: nearerOn(answer.page) },
        ),
      ),
    });
    for (const [at, message] of world.underWay.entries())
      mayArrive(world, message, world.underWay.toSpliced(at, 1), may);
    for (const client of scene.clients.keys()) mayAct(world, client, may);
    return next;
  }

  function mayArrive(world: World, { write, answer }: Message, others: readonly Message[], may: May): void {
    const { kind, client, page, ids } = write;
    const what = `${kind} ${ids.join("+")}`;
    // Nobody knows what a take without an answer did: it is undone.
    const undone = kind === "renew" ? others : [...others, sent(returnOf(client, page, ids), "unawaited")];
    if (typeof answer === "object") {
      const after = kind === "renew" ? [renewed(world, write, answer, others)] : taken(world, write, answer, others);
      for (const change of after) may(`${what} is answered`, change);
      may(`${what} loses its answer`, { underWay: undone });
      const anew = sent({ ...write, untilMs: clockMs(client) + scene.leaseMs });
      if (kind === "take") may(`${what} loses its answer, and is sent anew`, { underWay: [...others, anew] });
      return;
    }

    const before = world.pages[page] ?? {};
    const applied = apply(before, write);
    const beyond = sizeOf(applied.page) > Math.max(sizeOf(before), capOf(write));
    const change: Partial<World> = {
      pages: world.pages.with(page, applied.page),
      ...(beyond && { wrong: "a lease is taken beyond its lane's share" }),
    };
    const [answered, stray] = [sent(write, applied), sent(write, "unawaited")];
    may(`${what} is applied, and comes again`, change);
    if (answer === "awaited") {
      may(`${what} is applied`, { ...change, underWay: [...others, answered] });
      may(`${what} is applied, with a copy behind it`, { ...change, underWay: [...others, answered, stray] });
      may(`${what} is given up`, { underWay: [...undone, stray] });
    } else {
      may(`${what} is applied late`, { ...change, underWay: others });
      may(`${what} is lost`, { underWay: others });
    }
  }

  function mayAct({ pages, held, underWay }: World, client: number, may: May): void {
    const text = textOf({ pages, held, underWay });
    const mine = held.filter((lease) => lease.client === client);
    const awaited = underWay.filter(({ write, answer }) => write.client === client && answer !== "unawaited");
    const untilMs = clockMs(client) + scene.leaseMs;
    const send = (kind: Write["kind"], page: number, ids: readonly string[]) => {
      const message = sent({ kind, client, page, ids, expired: {}, untilMs });
      may(`${kind} ${ids.join("+")}`, { underWay: [...underWay, message] });
    };

    const takes = awaited.some(({ write }) => write.kind !== "renew");
    const wantedMax = takes ? 0 : scene.wantedMax - mine.length;
    for (let count = 1; count <= wantedMax; count++) {
      const ids = protocol.newIds(client, count, (id) => text.includes(id));
      for (const page of pages.keys()) send("take", page, ids);
    }

    for (const page of pages.keys()) {
      const live = mine.filter((lease) => lease.page === page && isLive(lease)).map(({ id }) => id);
      const renews = awaited.some(({ write }) => write.kind === "renew" && write.page === page);
      if (live.length > 0 && !renews) send("renew", page, live);
    }

    for (const lease of mine)
      may(`end ${lease.id}`, {
        held: held.filter((each) => each !== lease),
        underWay: [...underWay, sent(returnOf(client, lease.page, [lease.id]), "unawaited")],
      });

    may(`client ${client} crashes`, {
      held: held.filter((lease) => lease.client !== client),
      underWay: underWay
        .filter((message) => !awaited.includes(message) || message.answer === "awaited")
        .map((message) => (awaited.includes(message) ? sent(message.write, "unawaited") : message)),
    });
  }

  function broken({ pages, held, wrong }: World): readonly string[] {
    const live = held.filter(isLive);
    const tableMs = ({ page, id }: Held) => pages[page]?.[id];
    return [
      wrong ?? "",
      live.length > scene.limit ? `${live.length} leases are live under a limit of ${scene.limit}` : "",
      live.some((lease) => lease.expiresAtMs > (tableMs(lease) ?? Infinity))
        ? "a client believes in a longer lease than the table's"
        : "",
      live.some((lease) => tableMs(lease) === undefined) ? "a live lease is not on its page" : "",
      pages.every(canBeEmptied) ? "" : "a page is never empty again",
    ];
  }

  /** After a quiet while whoever comes finds nothing on the page but what may be taken away. */
  function canBeEmptied(page: Page): boolean {
    if (sizeOf(page) === 0) return true;
    const quietMs = scene.leaseMs + leaseGraceMs + skewMsMax + 1;
    const verdict = protocol.onRefused(page, ["z"], sizeOf(page), quietMs);
    if (verdict.kind !== "reclaim") return false;
    const reclaimed = protocol.reclaim(page, verdict.expired, ["z"], sizeOf(page), quietMs).page;
    return sizeOf(protocol.giveBack(reclaimed, ["z"])) === 0;
  }

  return {
    start: { pages: Array.from({ length: scene.pages }, () => ({})), held: [], underWay: [] },
    keyOf,
    steps,
    broken,
  };
}

type May = (did: string, change: Partial<World>) => void;

function returnOf(client: number, page: number, ids: readonly string[]): Write {
  return { kind: "return", client, page, ids, expired: {}, untilMs: -Infinity };
}

function sent(write: Write, answer: Message["answer"] = "awaited"): Message {
  const { kind, client, page, ids, expired, untilMs } = write;
  const [state, row] = typeof answer === "string" ? [answer, expired] : [answer.kind, answer.page];
  // Keys are most of what a walk costs: they are short.
  return {
    write,
    answer,
    text: `${kind.slice(0, 3)}${client}${page}${time(untilMs)}${ids.join()}${state.charAt(0)}${rowText(row)}`,
  };
}

function keyOf(world: World): string {
  return unnamed(textOf(world));
}

/** Leases are told apart, not named: their ids are counted in the order in which they come. */
export function unnamed(text: string): string {
  const known: string[] = [];
  return text.replaceAll(/[AB]\d/g, (id) => {
    const at = known.indexOf(id);
    return id.charAt(0) + (at < 0 ? known.push(id) - 1 : at);
  });
}

function textOf({ pages, held, underWay, wrong = "" }: World): string {
  const leases = inOrder(held.map(({ id, page, expiresAtMs }) => page + time(expiresAtMs) + id));
  return `${pages.map(rowText).join("/")}|${leases}|${inOrder(underWay.map(({ text }) => text))}|${wrong}`;
}

function rowText(page: Page): string {
  return inOrder(Object.keys(page).map((id) => time(page[id]) + id));
}

export function inOrder(texts: string[]): string {
  return texts.length < 2 ? (texts[0] ?? "") : texts.sort().join();
}

function time(ms = -Infinity): string {
  return ms === -Infinity ? "-" : `${ms / 1_000}`;
}

/** Two clients for one lease, whose clocks differ by all that margin and grace allow: half a second less of grace shows. */
export const oneLease: Scene = {
  limit: 1,
  pages: 1,
  clients: [
    { skewMs: -2_500, share: 1 },
    { skewMs: 2_500, share: 1 },
  ],
  wantedMax: 1,
  underWayMax: 2,
  leaseMs: 7_500,
  tickMs: 5_000,
};
export const longerLease: Scene = { ...oneLease, leaseMs: 12_500 };
/** Ticks fall otherwise on the lease's end: half a second less of margin shows. */
const twoLeases: Scene = { ...oneLease, limit: 2, leaseMs: 6_500 };
/** Each may take both in one write, and renews them in one. */
export const groups: Scene = { ...twoLeases, wantedMax: 2 };
export const twoPages: Scene = { ...twoLeases, pages: 2 };
/** The second client's lane may fill one place of two. */
export const lanes: Scene = {
  ...twoLeases,
  clients: [
    { skewMs: -2_500, share: 1 },
    { skewMs: 2_500, share: 0.5 },
  ],
};

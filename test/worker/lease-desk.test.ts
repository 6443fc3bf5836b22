import { describe, expect, test } from "vitest";
import type { Wanted } from "../../lib/core/ledgers.ts";
import type { Head, LeaseAsk, PageRef } from "../../lib/core/lease.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import type { Noted } from "../../lib/core/noted.ts";
import { Board } from "../../lib/worker/board.ts";
import { LeaseDesk } from "../../lib/worker/lease-desk.ts";
import type { TakenLease } from "../../lib/worker/lease-desk.ts";
import { t0 } from "../a.ts";
import { headOf, wired } from "./lease-wire.ts";
import type { Request } from "./lease-wire.ts";

const ledger = "fast-text@us-west-2";
const first: PageRef = { ledger, page: 0 };
const shares = { rt: 1, bg: 0.95, bulk: 0.9 };
const wireMs = 2;

/** What befalls a request: it never arrives, or it is carried out and the answer is lost. */
type Fault = "request lost" | "answer lost";

const anAsk = (facts: Partial<LeaseAsk> = {}): LeaseAsk => {
  const ask = { ledger, lane: "rt", limitStart: 5, limitMax: 5, ...facts } as const;
  return { share: shares[ask.lane], ...ask };
};

const wants = (ask: LeaseAsk): Wanted => ({ target: ask.ledger, asks: [ask] });

const timeout = () => Object.assign(new Error("lost"), { name: "TimeoutError" });

/** A desk over a table in memory that is 2 ms away, each way. `sent` are its requests, but for the reads of heads. */
async function aDesk(head?: Head) {
  const clock = createVirtualClock(t0);
  const table = createMemoryLeaseTable();
  await table.createPage(first);
  if (head !== undefined) await table.writeHead(ledger, undefined, head);

  const sent: Request[] = [];
  const noted: Noted[] = [];
  const faults: Partial<Record<Request["verb"], Fault[]>> = {};
  const wire = { requestMs: wireMs, answerMs: wireMs };
  const leases = wired(table, async (request, send) => {
    if (request.verb === "readBoard") return await send();
    sent.push(request);
    const fault = faults[request.verb]?.shift();
    await clock.sleep(wire.requestMs);
    if (fault === "request lost") throw timeout();
    const answer = await send();
    await clock.sleep(wire.answerMs);
    if (fault === "answer lost") throw timeout();
    return answer;
  });

  // Frozen and thawed: time has passed, and no timer has fired yet.
  const frozen = { ms: 0 };
  const own = { ...clock, nowMs: () => clock.nowMs() + frozen.ms };
  const world = { clock: own, leases, telemetry: { note: (event: Noted) => noted.push(event) } };
  const desk = new LeaseDesk(world, new Board(world, { ledgers: [ledger] }));
  const verbs = () => sent.map(({ verb }) => verb);
  const over = async <T>(promise: Promise<T>): Promise<T> => {
    let done = false;
    void promise.finally(() => (done = true)).catch(() => undefined);
    await clock.runUntil(() => done);
    return await promise;
  };
  const take = (facts: Partial<LeaseAsk> = {}, waitMs = 1_000, signal = new AbortController().signal) =>
    desk.take(wants(anAsk(facts)), { waitMs, signal });
  const hold = async (facts: Partial<LeaseAsk> = {}): Promise<TakenLease> => {
    const taken = await over(take(facts));
    if (taken.kind !== "taken") throw new Error(`no lease: ${taken.kind}`);
    return taken;
  };
  const giveBack = (taken: TakenLease) => over(desk.giveBack(taken, { kind: "neutral" }));
  /** Leases of somebody else. */
  const others = async (count: number, untilMs = t0 + 30_000, ref = first) => {
    await table.createPage(ref);
    for (let index = 0; index < count; index++) await table.take(ref, [`other-${index}`], 32, untilMs);
  };
  const page = async (ref = first) => Object.keys((await table.readPage(ref)) ?? {});
  return { desk, clock, table, sent, verbs, noted, faults, wire, frozen, over, take, hold, giveBack, others, page };
}

describe("taking a lease", () => {
  test("costs one request, and its return one", async () => {
    const { hold, giveBack, verbs, page } = await aDesk();
    const taken = await hold();
    expect(await page()).toEqual([taken.leases[0].id]);
    await giveBack(taken);
    expect(await page()).toEqual([]);
    expect(verbs()).toEqual(["take", "giveBack"]);
  });

  test("answers the lease as the table wrote it", async () => {
    const { hold } = await aDesk();
    const {
      leases: [lease],
    } = await hold();
    expect(lease).toMatchObject({ ref: first, expiresAtMs: t0 + 30_000 });
  });

  test("notes how long it took, with lane, model and target", async () => {
    const { hold, noted } = await aDesk();
    await hold({ lane: "bg" });
    expect(noted).toEqual([
      {
        kind: "lease-taken",
        lane: "bg",
        model: "fast-text",
        target: "us-west-2",
        waitMs: 4,
        atOnce: true,
        inUse: 1,
        limit: 5,
      },
    ]);
  });

  test("and, when it is returned, how long it was held", async () => {
    const { hold, giveBack, clock, noted } = await aDesk();
    const taken = await hold({ lane: "bg" });
    await clock.advance(900);
    await giveBack(taken);
    expect(noted.at(-1)).toEqual({
      kind: "lease-returned",
      lane: "bg",
      model: "fast-text",
      target: "us-west-2",
      heldMs: 900,
    });
  });

  test("makes the page that nobody made", async () => {
    const { hold, verbs } = await aDesk();
    await hold({ ledger: "smart-text@us-west-2" });
    expect(verbs()).toEqual(["take", "createPage", "take"]);
  });

  test("ten who come together are served by one write, in order", async () => {
    const { take, over, sent } = await aDesk();
    const limits = { limitStart: 20, limitMax: 20 };
    const taken = await over(Promise.all(Array.from({ length: 10 }, () => take(limits))));
    expect(sent.map(({ verb, ids }) => [verb, ids])).toEqual([
      ["take", taken.map((each) => (each.kind === "taken" ? each.leases[0].id : each.kind))],
    ]);
  });

  test("so are they when they come one after the other in the same tick", async () => {
    const { take, hold, over, sent } = await aDesk();
    const limits = { limitStart: 20, limitMax: 20 };
    await hold(limits); // the head is known by now
    const takes: Promise<unknown>[] = [];
    for (let count = 0; count < 5; count++) {
      takes.push(take(limits));
      await Promise.resolve();
    }
    await over(Promise.all(takes));
    expect(sent.map(({ ids }) => ids.length)).toEqual([1, 5]);
  });

  test("an eleventh is served by the next", async () => {
    const { take, over, sent } = await aDesk();
    const taken = await over(Promise.all(Array.from({ length: 11 }, () => take({ limitStart: 20, limitMax: 20 }))));
    const ids = taken.map((each) => (each.kind === "taken" ? each.leases[0].id : each.kind));
    expect(sent.map((each) => each.ids)).toEqual([ids.slice(0, 10), ids.slice(10)]);
  });

  test("where there is room for fewer the first ones get it", async () => {
    const { take, over, others, sent } = await aDesk();
    await others(3);
    const kinds = await over(Promise.all(Array.from({ length: 4 }, async () => (await take({}, 0)).kind)));
    expect(kinds).toEqual(["taken", "taken", "full", "full"]);
    expect(sent.map(({ ids }) => ids.length)).toEqual([4, 2]);
  });

  test("keeps to the learned limit, and asks for no more than that", async () => {
    const { take, over, sent } = await aDesk({ lim: 2 });
    const kinds = await over(Promise.all(Array.from({ length: 4 }, async () => (await take({}, 0)).kind)));
    expect(kinds).toEqual(["taken", "taken", "full", "full"]);
    expect(sent[0]?.ids).toHaveLength(2);
  });

  test("keeps to the lane's share of the limit", async () => {
    const { take, over, others } = await aDesk();
    await others(9);
    const limits = { limitStart: 10, limitMax: 10 };
    expect(await over(take({ ...limits, lane: "bulk" }, 0))).toEqual({ kind: "full" });
    expect(await over(take({ ...limits, lane: "rt" }, 0))).toMatchObject({ kind: "taken" });
  });

  test("goes to another page when one is full", async () => {
    const { hold, others, verbs, noted, clock } = await aDesk();
    const second = { ledger, page: 1 };
    await others(25, clock.nowMs() + 30_000, first);
    await others(0, 0, second);
    const {
      leases: [lease],
    } = await hold({ limitStart: 50, limitMax: 50 });
    expect(lease.ref).toEqual(second);
    expect(noted.at(-1)).toMatchObject({ kind: "lease-taken", atOnce: true });
    expect(verbs().length).toBeLessThanOrEqual(2);
  });

  test("looks first where a lease has just come back", async () => {
    const { hold, giveBack, others, verbs } = await aDesk();
    const limits = { limitStart: 500, limitMax: 500 };
    for (let number = 0; number < 16; number++) await others(0, 0, { ledger, page: number });
    const pages = new Set<number>();
    for (let count = 0; count < 10; count++) {
      const taken = await hold(limits);
      pages.add(taken.leases[0].ref.page);
      await giveBack(taken);
    }
    expect([pages.size, verbs().length]).toEqual([1, 20]);
  });

  test("looks at three pages at most before it waits", async () => {
    const { take, over, others, verbs } = await aDesk();
    for (let number = 0; number < 16; number++) await others(32, t0 + 30_000, { ledger, page: number });
    expect(await over(take({ limitStart: 500, limitMax: 500 }, 0))).toEqual({ kind: "full" });
    expect(verbs()).toEqual(["take", "take", "take"]);
  });

  test("passes by the pages that may hold none", async () => {
    const { hold, verbs, others } = await aDesk({ lim: 1 });
    await others(0, 0, { ledger, page: 1 });
    const {
      leases: [lease],
    } = await hold({ limitStart: 50, limitMax: 50 });
    expect([lease.ref, verbs().filter((verb) => verb === "take")]).toEqual([first, ["take"]]);
  });

  test("is refused at once while the ledger is paused, without a request", async () => {
    const { take, over, verbs, noted } = await aDesk({ pausedUntilMs: t0 + 5_000 });
    expect(await over(take())).toEqual({ kind: "paused", untilMs: t0 + 5_000 });
    expect(verbs()).toEqual([]);
    expect(noted).toMatchObject([{ kind: "lease-refused", reason: "paused", lane: "rt", waitMs: 0 }]);
  });

  test("goes on when the pause is over", async () => {
    const { hold, clock } = await aDesk({ pausedUntilMs: t0 + 5_000 });
    await clock.advance(5_000);
    await expect(hold()).resolves.toMatchObject({ kind: "taken" });
  });
});

describe("waiting for a lease", () => {
  test("lasts no longer than it may", async () => {
    const { take, over, others, clock, noted } = await aDesk();
    await others(5);
    expect(await over(take())).toEqual({ kind: "full" });
    expect(clock.nowMs() - t0).toBe(1_000 + 2 * wireMs);
    expect(noted).toMatchObject([{ kind: "lease-refused", reason: "full", waitMs: 1_004 }]);
  });

  test("asks the table less and less often", async () => {
    const { take, over, others, verbs } = await aDesk();
    await others(5);
    await over(take({}, 10_000));
    expect(verbs().length).toBeGreaterThan(8);
    expect(verbs().length).toBeLessThan(20);
  });

  test("behind others who waited in vain goes on as seldom as they did, until they are forgotten", async () => {
    const { take, over, others, clock, sent } = await aDesk();
    await others(5, t0 + 600_000);
    const looksOfTwo = async () => {
      const before = sent.length;
      await over(take({}, 1_000));
      await over(take({}, 1_000));
      return sent.length - before;
    };
    const fresh = await looksOfTwo();
    const later = await looksOfTwo();
    await clock.advance(2_001);
    const afterwards = await looksOfTwo();
    expect(later).toBeLessThan(fresh);
    expect(afterwards).toBeGreaterThan(later);
  });

  test("goes on as often as ever once somebody found room", async () => {
    const { take, hold, giveBack, over, others, table, sent } = await aDesk();
    await others(5, t0 + 600_000);
    const looks = async () => {
      const before = sent.length;
      await over(take({}, 700));
      return sent.length - before;
    };
    const fresh = await looks();
    await looks();
    await table.giveBack(first, ["other-0"]);
    await giveBack(await hold());
    await others(1, t0 + 600_000);
    expect(await looks()).toBeGreaterThanOrEqual(fresh);
  });

  test("asks not only where a lease once came back", async () => {
    const { take, hold, giveBack, over, others, sent } = await aDesk();
    const limits = { limitStart: 500, limitMax: 500 };
    for (let number = 0; number < 16; number++) await others(0, 0, { ledger, page: number });
    await giveBack(await hold(limits));
    for (let number = 0; number < 16; number++) await others(32, t0 + 600_000, { ledger, page: number });
    sent.length = 0;
    await over(take(limits, 30_000));
    expect(new Set(sent.map(({ ref }) => ref?.page)).size).toBeGreaterThan(6);
  });

  test("asks one page of a crowded ledger at a time", async () => {
    const { take, over, others, verbs } = await aDesk();
    for (let number = 0; number < 4; number++) await others(32, t0 + 30_000, { ledger, page: number });
    const limits = { limitStart: 128, limitMax: 128 };
    await over(take(limits, 0));
    expect(verbs()).toHaveLength(3);
    await over(take(limits, 0));
    expect(verbs()).toHaveLength(4);
  });

  test("of none is one look", async () => {
    const { take, over, others, verbs } = await aDesk();
    await others(5);
    expect(await over(take({}, 0))).toEqual({ kind: "full" });
    expect(verbs()).toEqual(["take"]);
  });

  test("of none is one look also behind one who waits", async () => {
    const { take, over, others, clock } = await aDesk();
    await others(5);
    const patient = take({}, 60_000);
    await clock.advance(2_000);
    expect(await over(take({}, 0))).toEqual({ kind: "full" });
    expect(clock.nowMs() - t0).toBe(2_000 + 2 * wireMs);
    expect(await over(Promise.race([patient, clock.sleep(0).then(() => "waits")]))).toBe("waits");
  });

  test("ends when a lease of this container comes back", async () => {
    const { take, hold, over, others, desk, clock, noted } = await aDesk();
    await others(4);
    const held = await hold();
    const waiting = take({}, 60_000);
    await clock.advance(10_000);
    const atMs = clock.nowMs();
    void desk.giveBack(held, { kind: "neutral" });
    expect(await over(waiting)).toMatchObject({ kind: "taken" });
    expect(noted.at(-1)).toMatchObject({ kind: "lease-taken", atOnce: false });
    expect(clock.nowMs() - atMs).toBe(4 * wireMs);
  });

  test("ends when a lease comes back while the table says full", async () => {
    const { take, hold, over, others, desk, clock, wire } = await aDesk();
    await others(4);
    const taken = await hold();
    wire.answerMs = 100;
    const waiting = take({}, 60_000);
    await clock.advance(50);
    void desk.giveBack(taken, { kind: "neutral" });
    wire.answerMs = wireMs;
    await clock.advance(60);
    expect(await over(Promise.race([waiting, clock.sleep(0).then(() => "waits")]))).toMatchObject({ kind: "taken" });
  });

  test("of rt is served before bulk, though bulk came first", async () => {
    const { take, hold, over, others, desk, clock } = await aDesk();
    await others(4);
    const taken = await hold();
    const served: string[] = [];
    const bulk = take({ lane: "bulk" }, 2_000).then(({ kind }) => served.push(`bulk ${kind}`));
    await clock.advance(100);
    const rt = take({}, 2_000).then(({ kind }) => served.push(`rt ${kind}`));
    await clock.advance(100);
    void desk.giveBack(taken, { kind: "neutral" });
    await over(Promise.all([bulk, rt]));
    expect(served).toEqual(["rt taken", "bulk full"]);
  });

  test("ends at once, with no lease, when its signal fires", async () => {
    const { take, over, others, clock, desk } = await aDesk();
    await others(5);
    const abort = new AbortController();
    const waiting = take({}, 60_000, abort.signal);
    await clock.advance(1_000);
    abort.abort();
    expect(await waiting).toEqual({ kind: "aborted" });
    await over(desk.idle());
    expect(clock.nowMs()).toBe(t0 + 1_000);
    expect(clock.nextAtMs()).toBeUndefined();
  });

  test("does not begin under a signal that has fired", async () => {
    const { take, verbs, clock } = await aDesk();
    expect(await take({}, 1_000, AbortSignal.abort())).toEqual({ kind: "aborted" });
    expect([verbs(), clock.nextAtMs()]).toEqual([[], undefined]);
  });

  test("by one who left while the write was under way leaves no lease behind, and no other's grant disturbed", async () => {
    const { take, over, desk, clock, page, verbs } = await aDesk();
    const abort = new AbortController();
    const leaver = take({}, 1_000, abort.signal);
    const stayer = take();
    await clock.advance(1);
    abort.abort();
    expect(await leaver).toEqual({ kind: "aborted" });
    const taken = await over(stayer);
    await over(desk.idle());
    expect(await page()).toEqual([taken.kind === "taken" ? taken.leases[0].id : taken.kind]);
    expect(verbs()).toEqual(["take", "giveBack"]);
  });
});

describe("a take whose answer is lost", () => {
  test("is written again, and has won then", async () => {
    const { hold, faults, page, verbs, sent } = await aDesk();
    faults.take = ["answer lost"];
    const {
      leases: [lease],
    } = await hold();
    expect(await page()).toEqual([lease.id]);
    expect(verbs()).toEqual(["take", "take"]);
    expect(sent[1]).toEqual(sent[0]);
  });

  test("on the last free place has won as well", async () => {
    const { hold, faults, others, noted } = await aDesk();
    await others(4);
    faults.take = ["answer lost"];
    await hold();
    expect(noted).toMatchObject([{ kind: "lease-taken", atOnce: true }]);
  });

  test.each<[says: string, faults: Fault[]]>([
    ["never arrived", ["request lost", "request lost"]],
    ["was carried out", ["answer lost", "answer lost"]],
    ["was carried out at first", ["answer lost", "request lost"]],
  ])("twice, and %s, is no lease but trouble, and is returned", async (_says, lost) => {
    const { take, over, desk, faults, page, verbs, noted } = await aDesk();
    faults.take = [...lost];
    expect(await over(take())).toMatchObject({ kind: "infra", error: { name: "TimeoutError" } });
    await over(desk.idle());
    expect(await page()).toEqual([]);
    expect(verbs()).toEqual(["take", "take", "giveBack"]);
    expect(noted).toMatchObject([{ kind: "lease-refused", reason: "infra" }]);
  });

  test("ends when an early copy of it said, not when the later one asked", async () => {
    const { take, over, others, table, clock, sent } = await aDesk();
    await others(5);
    const waiting = take({}, 20_000);
    await clock.advance(9_000);
    // The copy of an early look arrives now.
    await table.giveBack(first, ["other-0"]);
    await table.take(first, sent[0]?.ids ?? [], 5, t0 + 30_000);
    const taken = await over(waiting);
    expect(taken).toMatchObject({ kind: "taken", leases: [{ expiresAtMs: t0 + 30_000 }] });
    const lost = taken.kind === "taken" ? taken.lost : undefined;
    await clock.advance(t0 + 28_000 - clock.nowMs() - 1);
    expect(lost?.aborted).toBe(false);
    await clock.advance(1);
    expect(lost?.aborted).toBe(true);
  });

  test("that answers when its lease is over is not held by anybody", async () => {
    const { take, over, clock, desk, wire, sent, page } = await aDesk();
    wire.answerMs = 28_000;
    const waiting = take({}, 60_000);
    await clock.advance(1_000);
    wire.answerMs = wireMs;
    const taken = await over(waiting);
    await over(desk.idle());
    expect(sent.map(({ verb }) => verb)).toEqual(["take", "giveBack", "take"]);
    expect(sent[2]?.ids).not.toEqual(sent[0]?.ids);
    expect(await page()).toEqual([taken.kind === "taken" ? taken.leases[0].id : taken.kind]);
  });
});

describe("leases of the dead", () => {
  test("are reclaimed 3 s after their expiry", async () => {
    const { hold, others, verbs, page, noted } = await aDesk();
    await others(5, t0 - 3_003);
    const {
      leases: [lease],
    } = await hold();
    expect(await page()).toEqual([lease.id]);
    expect(verbs()).toEqual(["take", "reclaim"]);
    expect(noted).toMatchObject([
      { kind: "lease-reclaimed", count: 5, model: "fast-text", target: "us-west-2" },
      { kind: "lease-taken" },
    ]);
  });

  test("are left alone before", async () => {
    const { take, over, others } = await aDesk();
    await others(5, t0 - 2_900);
    expect(await over(take({}, 0))).toEqual({ kind: "full" });
  });

  test("are reclaimed once when the answer is lost", async () => {
    const { hold, others, faults, page } = await aDesk();
    await others(5, t0 - 10_000);
    faults.reclaim = ["answer lost"];
    const {
      leases: [lease],
    } = await hold();
    expect(await page()).toEqual([lease.id]);
  });
});

describe("holding a lease", () => {
  test("ends 2 s before its expiry without a word from anybody", async () => {
    const { hold, clock, noted } = await aDesk();
    const { lost } = await hold();
    await clock.advance(28_000 - 2 * wireMs - 1);
    expect(lost.aborted).toBe(false);
    await clock.advance(1);
    expect([lost.aborted, lost.reason]).toEqual([true, "lease-lost"]);
    expect(noted.at(-1)).toMatchObject({ kind: "lease-lost", target: "us-west-2" });
  });

  test("goes on with each renewal", async () => {
    const { hold, over, clock, desk, table } = await aDesk();
    const {
      leases: [lease],
      lost,
    } = await hold();
    for (let beat = 0; beat < 6; beat++) {
      await clock.advance(10_000);
      await over(desk.renew());
    }
    expect(lost.aborted).toBe(false);
    expect(((await table.readPage(first)) ?? {})[lease.id]).toBeGreaterThan(t0 + 85_000);
  });

  test("is renewed by one write a page", async () => {
    const { over, take, clock, desk, sent } = await aDesk();
    const limits = { limitStart: 50, limitMax: 50 };
    await over(Promise.all(Array.from({ length: 30 }, () => take(limits))));
    const pages = new Set(sent.map(({ ref }) => ref?.page));
    await clock.advance(10_000);
    sent.length = 0;
    await over(desk.renew());
    expect(sent.map(({ verb }) => verb)).toEqual([...pages].map(() => "renew"));
    expect(new Set(sent.map(({ ref }) => ref?.page))).toEqual(pages);
    expect(sent.flatMap(({ ids }) => ids)).toHaveLength(30);
  });

  test("needs no renewal while it is young, unless its page is renewed anyway", async () => {
    const { hold, over, clock, desk, sent } = await aDesk();
    const old = await hold();
    await clock.advance(4_000);
    await over(desk.renew());
    expect(sent.map(({ verb }) => verb)).toEqual(["take"]);
    const young = await hold();
    await clock.advance(1_000);
    await over(desk.renew());
    expect(sent.at(-1)).toMatchObject({ verb: "renew", ids: [old.leases[0].id, young.leases[0].id] });
  });

  test("shares its renewal among heartbeats that beat together", async () => {
    const { hold, over, clock, desk, verbs } = await aDesk();
    await hold();
    await clock.advance(10_000);
    await over(Promise.all([desk.renew(), desk.renew()]));
    expect(verbs()).toEqual(["take", "renew"]);
  });

  test("is over when the table has lost it, and the page's other leases go on", async () => {
    const { hold, over, clock, desk, table, verbs, noted } = await aDesk();
    const [gone, kept] = [await hold(), await hold()];
    await table.giveBack(first, [gone.leases[0].id]);
    await clock.advance(10_000);
    await over(desk.renew());
    expect([gone.lost.aborted, kept.lost.aborted]).toEqual([true, false]);
    expect(verbs()).toEqual(["take", "take", "renew", "renew"]);
    expect(noted.filter(({ kind }) => kind === "lease-lost")).toHaveLength(1);
    await clock.advance(19_000);
    expect(kept.lost.aborted).toBe(false);
  });

  test("outlives a renewal that fails, until its own end", async () => {
    const { hold, over, clock, desk, faults, noted } = await aDesk();
    const { lost } = await hold();
    faults.renew = ["request lost", "request lost"];
    for (let beat = 0; beat < 2; beat++) {
      await clock.advance(10_000);
      await over(desk.renew());
    }
    expect(lost.aborted).toBe(false);
    expect(noted.filter(({ kind }) => kind === "trouble")).toHaveLength(2);
    await clock.advance(8_000);
    expect(lost.aborted).toBe(true);
  });

  test("is no longer renewed once it is over", async () => {
    const { hold, over, clock, desk, verbs } = await aDesk();
    await hold();
    await clock.advance(28_000);
    await over(desk.renew());
    expect(verbs()).toEqual(["take"]);
  });

  test("is not brought back when its end was slept through in a freeze", async () => {
    const { hold, over, desk, frozen, verbs } = await aDesk();
    const { lost } = await hold();
    frozen.ms = 28_000;
    await over(desk.renew());
    expect(lost.aborted).toBe(true);
    expect(verbs()).toEqual(["take"]);
  });

  test.each([
    ["is returned before", 50],
    ["is returned after", wireMs],
  ])("that %s its renewal arrives is not lost, and fires nothing later", async (_says, requestMs) => {
    const { hold, over, clock, desk, wire, noted, page } = await aDesk();
    const taken = await hold();
    await clock.advance(10_000);
    wire.requestMs = requestMs;
    const renewing = desk.renew();
    wire.requestMs = wireMs;
    const returning = desk.giveBack(taken, { kind: "neutral" });
    await over(returning);
    await over(renewing);
    expect(await page()).toEqual([]);
    expect(clock.nextAtMs()).toBeUndefined();
    expect([taken.lost.aborted, noted.some(({ kind }) => kind === "lease-lost")]).toEqual([false, false]);
  });

  test("fires nothing after its return", async () => {
    const { hold, giveBack, clock } = await aDesk();
    const taken = await hold();
    await giveBack(taken);
    expect(clock.nextAtMs()).toBeUndefined();
    expect(taken.lost.aborted).toBe(false);
  });
});

describe("a return", () => {
  test("of several in one tick is one write", async () => {
    const { hold, over, desk, sent } = await aDesk();
    const held = [await hold(), await hold(), await hold()];
    sent.length = 0;
    await over(Promise.all(held.map((taken) => desk.giveBack(taken, { kind: "neutral" }))));
    expect(sent.map(({ verb, ids }) => [verb, ids])).toEqual([["giveBack", held.map(({ leases }) => leases[0].id)]]);
  });

  test("waits for no other tick", async () => {
    const { hold, giveBack, clock } = await aDesk();
    const taken = await hold();
    const atMs = clock.nowMs();
    await giveBack(taken);
    expect(clock.nowMs() - atMs).toBe(2 * wireMs);
  });

  test("of a lost lease is sent too", async () => {
    const { hold, giveBack, clock, page } = await aDesk();
    const taken = await hold();
    await clock.advance(28_000);
    expect(taken.lost.aborted).toBe(true);
    await giveBack(taken);
    expect(await page()).toEqual([]);
  });

  test("that fails is noted, and no error", async () => {
    const { hold, giveBack, faults, noted } = await aDesk();
    const taken = await hold();
    faults.giveBack = ["request lost"];
    await giveBack(taken);
    expect(noted.at(-1)).toEqual({ kind: "lease-return-failed", error: "TimeoutError" });
  });

  test("after a throttle cuts the limit and pauses, once the lease is back", async () => {
    const { hold, over, desk, table, verbs, noted } = await aDesk();
    const taken = await hold({ limitStart: 20, limitMax: 20 });
    await over(desk.giveBack(taken, { kind: "throttled", retryAfterMs: 7_000 }));
    expect(verbs()).toEqual(["take", "giveBack", "writeHead"]);
    const cutAtMs = t0 + 4 * wireMs;
    expect(await headOf(table, ledger)).toEqual({
      lim: 18,
      cutFrom: 20,
      cutAtMs,
      pausedUntilMs: cutAtMs + 7_000,
    });
    expect(noted.at(-1)).toMatchObject({ kind: "limit-cut", from: 20, to: 18, target: "us-west-2" });
  });

  test("after a throttle of many cuts once", async () => {
    const { hold, over, desk, verbs, noted } = await aDesk();
    const held = [await hold(), await hold(), await hold()];
    for (const taken of held) await over(desk.giveBack(taken, { kind: "throttled" }));
    expect(verbs().filter((verb) => verb === "writeHead")).toHaveLength(1);
    expect(noted.filter(({ kind }) => kind === "limit-cut")).toHaveLength(1);
  });

  test("after a throttle changes nothing that another has cut already", async () => {
    const { hold, over, desk, table, noted } = await aDesk();
    const taken = await hold();
    const theirs = { lim: 4, cutAtMs: t0, cutFrom: 5, pausedUntilMs: t0 + 2_000 };
    await table.writeHead(ledger, undefined, theirs);
    await over(desk.giveBack(taken, { kind: "throttled", retryAfterMs: 60_000 }));
    expect(await headOf(table, ledger)).toEqual(theirs);
    expect(noted.some(({ kind }) => kind === "limit-cut")).toBe(false);
  });

  test("at the end of the day's quota pauses and cuts nothing", async () => {
    const { hold, over, desk, table, take } = await aDesk();
    const taken = await hold();
    await over(desk.giveBack(taken, { kind: "daily" }));
    const untilMs = t0 + 4 * wireMs + 900_000;
    expect(await headOf(table, ledger)).toEqual({ pausedUntilMs: untilMs });
    expect(await over(take())).toEqual({ kind: "paused", untilMs });
  });

  test("whose word does not reach the head is one trouble", async () => {
    const { hold, over, desk, faults, noted, page } = await aDesk();
    const taken = await hold();
    faults.writeHead = ["request lost"];
    await over(desk.giveBack(taken, { kind: "throttled" }));
    expect(noted.at(-1)).toEqual({ kind: "trouble", what: "write a head", error: "TimeoutError" });
    expect(await page()).toEqual([]);
  });
});

describe("a limit below its maximum", () => {
  const limits = { limitStart: 4, limitMax: 10 };
  test("is raised once half of it is out, after the lease was taken", async () => {
    const { hold, clock, desk, over, table, verbs, noted } = await aDesk();
    await hold(limits);
    await clock.advance(1_000);
    await hold(limits);
    await over(desk.idle());
    expect(verbs()).toEqual(["take", "take", "writeHead"]);
    expect(await headOf(table, ledger)).toMatchObject({ lim: 5 });
    expect(noted.at(-1)).toEqual({ kind: "limit-raised", model: "fast-text", target: "us-west-2", from: 4, to: 5 });
  });

  test.each([
    ["is raised when the page in hand is half full, whatever its others hold", 9, ["take", "writeHead"]],
    ["is left when it is emptier", 8, ["take"]],
  ])("over several pages %s", async (_says, each, expected) => {
    const { hold, over, others, desk, verbs } = await aDesk();
    for (let number = 0; number < 4; number++) await others(each, t0 + 30_000, { ledger, page: number });
    await hold({ limitStart: 80, limitMax: 128 });
    await over(desk.idle());
    expect(verbs()).toEqual(expected);
  });

  test("is raised for those who wait for it", async () => {
    const { take, over, others } = await aDesk();
    await others(4);
    expect(await over(take(limits, 2_000))).toMatchObject({ kind: "taken" });
  });
});

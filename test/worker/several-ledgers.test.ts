import { describe, expect, test } from "vitest";
import type { Wanted } from "../../lib/core/ledgers.ts";
import type { LeaseAsk } from "../../lib/core/lease.ts";
import { t0 } from "../a.ts";
import { someDesks, wireMs } from "./a-desk.ts";
import { headOf } from "./lease-wire.ts";

const target = "fast-text@us-west-2";
const operation = "operation:summarise";
const group = "group:nova";
const all = [operation, target, group, "global"];

const asksFor = (ledgers: readonly string[], limitMax = 2): readonly LeaseAsk[] =>
  ledgers.map((ledger) => ({ ledger, lane: "rt", share: 1, limitStart: limitMax, limitMax }));
const wanted = (ledgers: readonly string[] = all, limitMax = 2): Wanted => ({
  target,
  asks: asksFor(ledgers, limitMax),
});

describe("an attempt under several limits", () => {
  test("takes a lease of each, in the order in which they are wanted, and returns them in the reverse", async () => {
    const { desk, hold, over, said, out } = someDesks(all);
    const taken = await hold(wanted());
    expect(await out()).toEqual([1, 1, 1, 1]);
    expect(taken.leases.map(({ ref }) => ref.ledger)).toEqual(all);
    await over(desk.giveBack(taken, { kind: "neutral" }));
    expect(await out()).toEqual([0, 0, 0, 0]);
    expect(said()).toEqual([
      ...all.map((ledger) => `take ${ledger}`),
      ...all.toReversed().map((ledger) => `giveBack ${ledger}`),
    ]);
  });

  test("is one of ten who share a write a ledger, to take and to return", async () => {
    const { desk, take, over, sent } = someDesks(all);
    const taken = await over(Promise.all(Array.from({ length: 10 }, () => take(wanted(all, 20)))));
    expect(sent.map(({ verb, ids }) => [verb, ids.length])).toEqual(all.map(() => ["take", 10]));
    await over(
      Promise.all(taken.map(async (each) => each.kind === "taken" && (await desk.giveBack(each, { kind: "neutral" })))),
    );
    expect(sent).toHaveLength(8);
  });

  test("notes how full the target is, not what else it is under", async () => {
    const { hold, noted } = someDesks(all);
    const asks = asksFor(all).map((ask) => (ask.ledger === target ? { ...ask, limitStart: 7, limitMax: 7 } : ask));
    await hold({ target, asks });
    expect(noted).toMatchObject([{ kind: "lease-taken", inUse: 1, limit: 7 }]);
  });

  test("notes one lease taken, of the target, however many there are", async () => {
    const { hold, noted } = someDesks(all);
    await hold(wanted());
    const waitMs = all.length * 2 * wireMs;
    expect(noted).toEqual([
      {
        kind: "lease-taken",
        lane: "rt",
        model: "fast-text",
        target: "us-west-2",
        waitMs,
        atOnce: true,
        inUse: 1,
        limit: 2,
      },
    ]);
  });

  test("costs no request more for a single limit", async () => {
    const { desk, hold, over, said } = someDesks(all);
    await over(desk.giveBack(await hold(wanted([target])), { kind: "neutral" }));
    expect(said()).toEqual([`take ${target}`, `giveBack ${target}`]);
  });

  test("teaches the target's ledger alone what a throttle says", async () => {
    const { desk, hold, over, table } = someDesks(all);
    const taken = await hold({ target, asks: asksFor(all, 20) });
    await over(desk.giveBack(taken, { kind: "throttled" }));
    const heads = await Promise.all(all.map((ledger) => headOf(table, ledger)));
    expect(heads.map((head) => head?.lim)).toEqual([undefined, 18, undefined, undefined]);
  });

  test("is refused while its target is paused, whatever comes first", async () => {
    const { take, over, table, out } = someDesks(all);
    await table.writeHead(target, undefined, { pausedUntilMs: t0 + 9_000 });
    expect(await over(take(wanted()))).toEqual({ kind: "paused", untilMs: t0 + 9_000 });
    expect(await out()).toEqual([0, 0, 0, 0]);
  });
});

describe.each(all.map((full, place) => [full, place] as const))("when %s is full, an attempt", (full, place) => {
  const reasons = ["operation", "full", "group", "global"];

  test("returns all that it had, in the reverse order, and none is left out", async () => {
    const { take, over, others, out, said, noted } = someDesks(all);
    await others(full, 2);
    const refused = await over(take(wanted(), 0));
    expect(refused).toEqual(full === target ? { kind: "full" } : { kind: "full", ledger: full });
    expect(await out()).toEqual(all.map((ledger) => (ledger === full ? 2 : 0)));
    const before = all.slice(0, place);
    expect(said()).toEqual([
      ...[...before, full].map((ledger) => `take ${ledger}`),
      ...before.toReversed().map((ledger) => `giveBack ${ledger}`),
    ]);
    expect(noted).toMatchObject([{ kind: "lease-refused", reason: reasons[place], target: "us-west-2" }]);
  });

  test("waits there, and holds nothing meanwhile", async () => {
    const { take, others, out, clock, said, table, over, noted } = someDesks(all);
    await others(full, 2);
    const waiting = take(wanted(), 5_000);
    await clock.advance(3 * all.length * 2 * wireMs);
    // It has been asked once: the same question at once would have the same answer.
    expect(said().filter((text) => text === `take ${full}`)).toHaveLength(1);
    const before = said().length;
    for (let waitedMs = 0; waitedMs < 2_000; waitedMs += 50) {
      await clock.advance(50);
      expect(await out()).toEqual(all.map((ledger) => (ledger === full ? 2 : 0)));
    }
    expect(new Set(said().slice(before))).toEqual(new Set([`take ${full}`]));

    await table.giveBack({ ledger: full, page: 0 }, ["other-0"]);
    expect(await over(waiting)).toMatchObject({ kind: "taken" });
    expect(noted.at(-1)).toMatchObject({ kind: "lease-taken", atOnce: false });
    expect(await out()).toEqual(all.map((ledger) => (ledger === full ? 2 : 1)));
  });

  test("waits no longer than it may, and asks seldom", async () => {
    const { take, over, others, clock, said } = someDesks(all);
    await others(full, 2);
    expect((await over(take(wanted(), 1_000))).kind).toBe("full");
    expect(clock.nowMs() - t0).toBeLessThanOrEqual(1_000 + 2 * all.length * 2 * wireMs);
    expect(said().filter((text) => text === `take ${full}`).length).toBeLessThan(9);
  });
});

describe("an attempt that gets no further", () => {
  test.each([0, 1, 2, 3])("because it is aborted at ledger %i leaves nothing out", async (place) => {
    const { take, desk, clock, over, out } = someDesks(all);
    const abort = new AbortController();
    const taking = take(wanted(), 1_000, abort.signal);
    await clock.advance(place * 2 * wireMs + 1);
    abort.abort();
    const atMs = clock.nowMs();
    expect(await over(taking)).toEqual({ kind: "aborted" });
    expect(clock.nowMs()).toBe(atMs); // waits for no answer
    await over(desk.idle());
    expect(await out()).toEqual([0, 0, 0, 0]);
    expect(clock.nextAtMs()).toBeUndefined();
  });

  test.each([1, 2, 3, 4])("because take %i is never answered leaves nothing out", async (number) => {
    const { take, desk, over, out, faults } = someDesks(all);
    faults.take = [...Array.from({ length: number - 1 }, () => undefined), "answer lost", "answer lost"];
    expect(await over(take(wanted()))).toMatchObject({ kind: "infra" });
    await over(desk.idle());
    expect(await out()).toEqual([0, 0, 0, 0]);
  });
});

test("an attempt whose first lease is over before its last one is there is trouble, and leaves nothing out", async () => {
  const { take, desk, clock, over, out, wire } = someDesks(all);
  const taking = take(wanted());
  await clock.advance(2 * wireMs + 1);
  wire.answerMs = 14_000; // of the second and the third each
  await clock.advance(20_000);
  expect(await over(taking)).toMatchObject({ kind: "infra", error: { name: "LeaseLost" } });
  wire.answerMs = wireMs;
  await over(desk.idle());
  expect(await out()).toEqual([0, 0, 0, 0]);
});

describe("the leases of an attempt", () => {
  test.each(all)("are lost when that of %s is", async (ledger) => {
    const { desk, hold, over, table, clock, noted, out } = someDesks(all);
    const taken = await hold(wanted());
    const gone = taken.leases.find(({ ref }) => ref.ledger === ledger);
    await table.giveBack({ ledger, page: 0 }, [gone?.id ?? ""]);
    await clock.advance(10_000);
    await over(desk.renew());
    expect(taken.lost.aborted).toBe(true);
    await clock.advance(20_000); // the others' ends come too
    expect(noted.filter(({ kind }) => kind === "lease-lost")).toHaveLength(1);
    await over(desk.giveBack(taken, { kind: "neutral" }));
    expect(await out()).toEqual([0, 0, 0, 0]);
    expect(clock.nextAtMs()).toBeUndefined();
  });

  test("are renewed, one write a ledger for all attempts", async () => {
    const { desk, hold, over, clock, sent } = someDesks(all);
    const held = [await hold(wanted()), await hold(wanted())];
    for (let beat = 0; beat < 6; beat++) {
      await clock.advance(10_000);
      sent.length = 0;
      await over(desk.renew());
      expect(sent.map(({ verb, ids }) => [verb, ids.length])).toEqual(all.map(() => ["renew", 2]));
    }
    expect(held.some(({ lost }) => lost.aborted)).toBe(false);
  });
});

describe("two kinds of job that need the same two limits", () => {
  /** Each in its own container and order, again and again; answers how often each had both in a minute. */
  const contend = async (orders: readonly (readonly string[])[], limitMax: number, seed: number) => {
    const ledgers = [target, group];
    const { newDesk, clock, out } = someDesks(ledgers, { seed });
    const had = orders.map(() => 0);
    let mostOut = 0;
    let holding = 0;
    for (const [kind, order] of orders.entries()) {
      const desk = newDesk();
      const work = async () => {
        while (clock.nowMs() < t0 + 60_000) {
          const taken = await desk.take(wanted(order, limitMax), {
            waitMs: 2_000,
            signal: new AbortController().signal,
          });
          if (taken.kind !== "taken") continue;
          holding += order.length === 2 ? 1 : 0;
          mostOut = Math.max(mostOut, holding);
          had[kind] = (had[kind] ?? 0) + 1;
          await clock.sleep(200);
          holding -= order.length === 2 ? 1 : 0;
          await desk.giveBack(taken, { kind: "neutral" });
          await clock.sleep(clock.jitter() * 400); // the next job is claimed, this one's reply stored
        }
      };
      void work();
      void work();
    }
    await clock.advance(65_000);
    return { had, mostOut, left: await out() };
  };

  test.each([1, 2, 3])("never wait for each other for ever, and neither starves (seed %i)", async (seed) => {
    const { had, mostOut, left } = await contend(
      [
        [target, group],
        [group, target],
      ],
      1,
      seed,
    );
    expect(mostOut).toBe(1);
    expect(Math.min(...had)).toBeGreaterThan(40);
    expect(left).toEqual([0, 0]);
  });

  test.each([1, 2, 3])("get their turn beside jobs that need one of them (seed %i)", async (seed) => {
    const { had, left } = await contend([[target, group], [target], [group]], 2, seed);
    expect(Math.min(...had)).toBeGreaterThan(40);
    expect(left).toEqual([0, 0]);
  });
});

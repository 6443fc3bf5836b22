import { DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/aws/clock.ts";
import { createLeaseTable } from "../../lib/aws/lease-table.ts";
import type { Breaker } from "../../lib/core/breaker.ts";
import { budgetName, markOf } from "../../lib/core/budget.ts";
import type { Addition, BudgetDay } from "../../lib/core/budget.ts";
import type { Json } from "../../lib/core/json.ts";
import type { Head, PageRef } from "../../lib/core/lease.ts";
import type { LedgerOverride } from "../../lib/core/override.ts";
import type { Clocks } from "../../lib/core/rate.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import type { BoardNames, LeaseTable } from "../../lib/ports.ts";
import { a } from "../a.ts";
import { createLeaseTable as createTable, dynamoEngines, engineForTests, localClient } from "./engines.ts";

const noNames: BoardNames = { ledgers: [], targets: [], lanes: [], models: [] };

interface Opened {
  readonly table: LeaseTable;
  /** Requests sent so far; memory sends none. */
  readonly requests: () => number;
}

interface Implementation {
  readonly open: () => Promise<Opened>;
  /** What a refusal costs beside the write: an engine that keeps the row to itself is asked for it. */
  readonly refusalReads: number;
}

const implementations: readonly (readonly [name: string, Implementation])[] = [
  ["memory", { open: async () => ({ table: createMemoryLeaseTable(), requests: () => 0 }), refusalReads: 0 }],
  ...dynamoEngines.map(([name, start]) => {
    const open = async () => onDynamo(await engineForTests(start));
    return [name, { open, refusalReads: name === "dynalite" ? 1 : 0 }] as const;
  }),
];

async function onDynamo(endpoint: string): Promise<Opened> {
  const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
  let requests = 0;
  dynamo.middlewareStack.add(
    (next) => (args) => {
      requests += 1;
      return next(args);
    },
    { step: "finalizeRequest" },
  );
  return { table: createLeaseTable(dynamo, await createTable(endpoint)), requests: () => requests };
}

describe.each(implementations)("the lease table on %s", (name, { open, refusalReads }) => {
  let table: LeaseTable;
  let requests: () => number;
  beforeAll(async () => {
    ({ table, requests } = await open());
  });

  let ledgers = 0;
  const newLedger = () => `fast-text@ledger-${ledgers++}`;
  const missing = (): PageRef => ({ ledger: newLedger(), page: 0 });
  const page = async (...held: readonly string[]): Promise<PageRef> => {
    const ref = missing();
    await table.createPage(ref);
    for (const id of held) await table.take(ref, [id], 32, 1_000);
    return ref;
  };
  const board = async (names: Partial<BoardNames>) => await table.readBoard({ ...noNames, ...names });
  const heads = async (...of: readonly string[]) => (await board({ ledgers: of })).heads;
  const countOf = async (ref: PageRef) => Object.keys((await table.readPage(ref)) ?? {}).length;

  describe("a page", () => {
    test("that was never made refuses, and is not made by being asked", async () => {
      const ref = missing();
      expect(await table.take(ref, ["a"], 5, 1_000)).toEqual({ kind: "refused", page: undefined });
      expect(await table.renew(ref, ["a"], 1_000)).toEqual({ kind: "refused", page: undefined });
      expect(await table.reclaim(ref, { x: 1 }, ["a"], 5, 1_000)).toEqual({ kind: "refused", page: undefined });
      await table.giveBack(ref, ["a"]);
      expect(await table.readPage(ref)).toBeUndefined();
    });

    test("is made empty", async () => {
      expect(await table.readPage(await page())).toEqual({});
    });

    test("keeps its leases when it is made again", async () => {
      const ref = await page("a");
      await table.createPage(ref);
      expect(await table.readPage(ref)).toEqual({ a: 1_000 });
    });

    test("loses nothing when many make it while others take", async () => {
      const ref = missing();
      const ids = Array.from({ length: 16 }, (_, index) => `lease-${index}`);
      const taken = await Promise.all(
        ids.map(async (id) => {
          await table.createPage(ref);
          return await table.take(ref, [id], 32, 1_000);
        }),
      );
      expect(taken.every(({ kind }) => kind === "taken")).toBe(true);
      expect(await countOf(ref)).toBe(16);
    });

    test("is a page of its own ledger and number alone", async () => {
      const ref = await page("a");
      await table.createPage({ ...ref, page: 1 });
      expect(await table.readPage({ ...ref, page: 1 })).toEqual({});
    });
  });

  describe("take", () => {
    test("answers the page with the lease on it", async () => {
      const ref = await page("a");
      expect(await table.take(ref, ["b"], 2, 2_000)).toEqual({ kind: "taken", page: { a: 1_000, b: 2_000 } });
    });

    test("is refused at the cap, with the page that refused", async () => {
      const ref = await page("a", "b");
      expect(await table.take(ref, ["c"], 2, 2_000)).toEqual({ kind: "refused", page: { a: 1_000, b: 1_000 } });
      expect(await countOf(ref)).toBe(2);
    });

    test("of several is all or none", async () => {
      const ref = await page("a");
      expect(await table.take(ref, ["b", "c"], 2, 2_000)).toEqual({ kind: "refused", page: { a: 1_000 } });
      expect(await table.take(ref, ["b", "c"], 3, 2_000)).toMatchObject({
        kind: "taken",
        page: { b: 2_000, c: 2_000 },
      });
    });

    test("of more than the cap is refused by an empty page too", async () => {
      expect(await table.take(await page(), ["a", "b", "c"], 2, 2_000)).toEqual({ kind: "refused", page: {} });
    });

    test("sent again answers the lease as it stands, on a full page too", async () => {
      const ref = await page("a", "b");
      expect(await table.take(ref, ["a", "b"], 2, 9_000)).toEqual({ kind: "taken", page: { a: 1_000, b: 1_000 } });
    });

    test("bears ids that begin with anything", async () => {
      const ids = ["-_9zAZ", "0", "size", "l", "__proto"];
      expect(await table.take(await page(), ids, 5, 1_000)).toMatchObject({ kind: "taken", page: { "-_9zAZ": 1_000 } });
    });

    test("by 64 at once fills the page to the cap exactly", async () => {
      const ref = await page();
      const ids = Array.from({ length: 64 }, (_, index) => `lease-${index}`);
      const taken = await Promise.all(ids.map((id) => table.take(ref, [id], 10, 1_000)));
      expect(taken.filter(({ kind }) => kind === "taken")).toHaveLength(10);
      expect(await countOf(ref)).toBe(10);
    });

    test("by 64 groups of three at once never passes the cap", async () => {
      const ref = await page();
      const groups = Array.from({ length: 64 }, (_, index) => [`a-${index}`, `b-${index}`, `c-${index}`]);
      const taken = await Promise.all(groups.map((ids) => table.take(ref, ids, 10, 1_000)));
      expect(taken.filter(({ kind }) => kind === "taken")).toHaveLength(3);
      expect(await countOf(ref)).toBe(9);
    });
  });

  describe("reclaim", () => {
    test("removes the expired and takes in one write", async () => {
      const ref = await page("x", "y", "a");
      const answer = await table.reclaim(ref, { x: 1_000, y: 1_000 }, ["b"], 3, 2_000);
      expect(answer).toEqual({ kind: "taken", page: { a: 1_000, b: 2_000 } });
    });

    test("leaves a lease that was renewed since it was seen", async () => {
      const ref = await page("x", "y");
      await table.renew(ref, ["x"], 5_000);
      const answer = await table.reclaim(ref, { x: 1_000, y: 1_000 }, ["b"], 2, 2_000);
      expect(answer).toEqual({ kind: "refused", page: { x: 5_000, y: 1_000 } });
    });

    test("keeps to the cap when others came meanwhile", async () => {
      const ref = await page("x", "a", "b");
      expect(await table.reclaim(ref, { x: 1_000 }, ["c"], 2, 2_000)).toMatchObject({ kind: "refused" });
      expect(await table.reclaim(ref, { x: 1_000 }, ["c"], 3, 2_000)).toMatchObject({ kind: "taken" });
    });

    test("sent again is refused by a page that has the lease already", async () => {
      const ref = await page("x");
      await table.reclaim(ref, { x: 1_000 }, ["a"], 1, 2_000);
      const answer = await table.reclaim(ref, { x: 1_000 }, ["a"], 1, 2_000);
      expect(answer).toEqual({ kind: "refused", page: { a: 2_000 } });
    });

    test("by many at once is one's", async () => {
      const ref = await page("x");
      const ids = Array.from({ length: 16 }, (_, index) => `lease-${index}`);
      const taken = await Promise.all(ids.map((id) => table.reclaim(ref, { x: 1_000 }, [id], 1, 2_000)));
      expect(taken.filter(({ kind }) => kind === "taken")).toHaveLength(1);
      expect(await countOf(ref)).toBe(1);
    });
  });

  describe("renew", () => {
    test("moves all of its leases and no other", async () => {
      const ref = await page("a", "b", "c");
      const answer = await table.renew(ref, ["a", "b"], 5_000);
      expect(answer).toEqual({ kind: "taken", page: { a: 5_000, b: 5_000, c: 1_000 } });
    });

    test("moves none when one is gone, and the page tells which survive", async () => {
      const ref = await page("a");
      expect(await table.renew(ref, ["a", "gone"], 5_000)).toEqual({ kind: "refused", page: { a: 1_000 } });
      expect(await table.readPage(ref)).toEqual({ a: 1_000 });
    });

    test("sent again says the same", async () => {
      const ref = await page("a");
      await table.renew(ref, ["a"], 5_000);
      expect(await table.renew(ref, ["a"], 5_000)).toEqual({ kind: "taken", page: { a: 5_000 } });
    });

    test("never makes an expiry earlier", async () => {
      const ref = await page("a");
      await table.renew(ref, ["a"], 5_000);
      expect(await table.renew(ref, ["a"], 4_000)).toEqual({ kind: "refused", page: { a: 5_000 } });
    });
  });

  describe("a return", () => {
    test("makes room", async () => {
      const ref = await page("a", "b", "c");
      await table.giveBack(ref, ["a", "b"]);
      expect(await table.readPage(ref)).toEqual({ c: 1_000 });
    });

    test("is harmless twice, late, and for a lease that never was", async () => {
      const ref = await page("attempt-1");
      await table.giveBack(ref, ["attempt-1"]);
      await table.take(ref, ["attempt-2"], 1, 2_000);
      await table.giveBack(ref, ["attempt-1", "never"]);
      expect(await table.readPage(ref)).toEqual({ "attempt-2": 2_000 });
    });
  });

  describe("a head", () => {
    const full: Head = { lim: 9, cutAtMs: 100, cutFrom: 10, raisedAtMs: 50, pausedUntilMs: 300 };

    test("is none until it is written, then as it was written", async () => {
      const [ledger, other] = [newLedger(), newLedger()];
      expect(await heads(ledger, other)).toEqual(new Map());
      expect(await table.writeHead(ledger, undefined, full)).toEqual({ kind: "written" });
      expect(await heads(ledger, other)).toEqual(new Map([[ledger, full]]));
    });

    test("drops what the next one does not say", async () => {
      const ledger = newLedger();
      await table.writeHead(ledger, undefined, full);
      await table.writeHead(ledger, full, { lim: 10 });
      expect(await heads(ledger)).toEqual(new Map([[ledger, { lim: 10 }]]));
    });

    test.each(Object.keys(full))("is not written over another's %s", async (field) => {
      const ledger = newLedger();
      const theirs = { ...full, [field]: 7 };
      await table.writeHead(ledger, undefined, theirs);
      expect(await table.writeHead(ledger, full, { lim: 1 })).toEqual({ kind: "refused", stands: theirs });
      expect(await table.writeHead(ledger, undefined, { lim: 1 })).toEqual({ kind: "refused", stands: theirs });
    });

    test("that was seen and is gone refuses", async () => {
      expect(await table.writeHead(newLedger(), full, { lim: 1 })).toEqual({ kind: "refused", stands: undefined });
    });

    test("written by many at once is one's", async () => {
      const ledger = newLedger();
      await table.writeHead(ledger, undefined, { lim: 100 });
      const written = await Promise.all(
        Array.from({ length: 16 }, (_, index) => table.writeHead(ledger, { lim: 100 }, { lim: index })),
      );
      expect(written.filter(({ kind }) => kind === "written")).toHaveLength(1);
    });

    test("is read among any number, also when it is named twice", async () => {
      const many = Array.from({ length: 150 }, newLedger);
      const [first = "", last = ""] = [many[0], many[149]];
      await table.writeHead(first, undefined, { lim: 1 });
      await table.writeHead(last, undefined, { lim: 2 });
      expect(await heads(...many, first)).toEqual(
        new Map([
          [first, { lim: 1 }],
          [last, { lim: 2 }],
        ]),
      );
    });
  });

  describe("a breaker", () => {
    const probe = { id: "attempt-1", expiresAtMs: 500 };
    const kinds: readonly (readonly [says: string, breaker: Breaker])[] = [
      ["closed with failures", { kind: "closed", failures: 3 }],
      ["open", { kind: "open", openUntilMs: 30_000 }],
      ["half-open with a probe", { kind: "half-open", probe }],
      ["half-open without one", { kind: "half-open" }],
    ];
    const breaker = async (target: string) => (await board({ targets: [target] })).breakers.get(target);
    const none: Breaker = { kind: "closed", failures: 0 };

    test("is none until it is written", async () => expect(await breaker(newLedger())).toBeUndefined());

    test.each(kinds)("%s is as it was written, and closed again is as if it had never been", async (_says, wrote) => {
      const target = newLedger();
      expect(await table.writeBreaker(target, undefined, wrote)).toEqual({ kind: "written" });
      expect(await breaker(target)).toEqual(wrote);
      expect(await table.writeBreaker(target, wrote, none)).toEqual({ kind: "written" });
      expect(await breaker(target)).toBeUndefined();
      expect(await table.writeBreaker(target, undefined, wrote)).toEqual({ kind: "written" });
      expect(await table.writeBreaker(target, none, wrote)).toEqual({ kind: "refused", stands: wrote });
    });

    test.each(kinds.flatMap(([says, from]) => kinds.map(([then, to]) => [says, then, from, to] as const)))(
      "%s becomes %s, with nothing left of what it was",
      async (_says, _then, from, to) => {
        const target = newLedger();
        await table.writeBreaker(target, undefined, from);
        await table.writeBreaker(target, from, to);
        expect(await breaker(target)).toEqual(to);
      },
    );

    test.each<[says: string, theirs: Breaker]>([
      ["another's probe", { kind: "half-open", probe: { ...probe, id: "attempt-2" } }],
      ["a probe's other end", { kind: "half-open", probe: { ...probe, expiresAtMs: 501 } }],
      ["no probe any more", { kind: "half-open" }],
      ["an opening", { kind: "open", openUntilMs: 500 }],
    ])("is not written over %s", async (_says, theirs) => {
      const target = newLedger();
      await table.writeBreaker(target, undefined, theirs);
      const written = await table.writeBreaker(target, { kind: "half-open", probe }, none);
      expect(written).toEqual({ kind: "refused", stands: theirs });
    });

    test("that was seen and is gone refuses", async () => {
      const written = await table.writeBreaker(newLedger(), { kind: "half-open", probe }, none);
      expect(written).toEqual({ kind: "refused", stands: undefined });
    });

    test("gives its probe to one of many at once", async () => {
      const target = newLedger();
      const opened: Breaker = { kind: "open", openUntilMs: 1 };
      await table.writeBreaker(target, undefined, opened);
      const written = await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          table.writeBreaker(target, opened, { kind: "half-open", probe: { ...probe, id: `attempt-${index}` } }),
        ),
      );
      expect(written.filter(({ kind }) => kind === "written")).toHaveLength(1);
    });
  });

  describe("an operator's override", () => {
    test("on a ledger is read with its head, and goes without a trace", async () => {
      const ledger = newLedger();
      const override: LedgerOverride = { limit: 3, pausedUntilMs: 9_000, out: true };
      await table.setOverride({ kind: "ledger", name: ledger, override });
      expect(await board({ ledgers: [ledger] })).toMatchObject({
        heads: new Map([[ledger, {}]]),
        overrides: { ledgers: new Map([[ledger, override]]) },
      });
      await table.setOverride({ kind: "ledger", name: ledger });
      expect((await board({ ledgers: [ledger] })).overrides.ledgers).toEqual(new Map());
    });

    test("takes the place of the one before it", async () => {
      const ledger = newLedger();
      await table.setOverride({ kind: "ledger", name: ledger, override: { out: true } });
      await table.setOverride({ kind: "ledger", name: ledger, override: { limit: 3 } });
      expect((await board({ ledgers: [ledger] })).overrides.ledgers).toEqual(new Map([[ledger, { limit: 3 }]]));
    });

    test("outlives what is learned, and leaves that alone", async () => {
      const ledger = newLedger();
      await table.writeHead(ledger, undefined, { lim: 9 });
      await table.setOverride({ kind: "ledger", name: ledger, override: { limit: 3 } });
      expect(await table.writeHead(ledger, { lim: 9 }, { lim: 10 })).toEqual({ kind: "written" });
      expect(await board({ ledgers: [ledger] })).toMatchObject({
        heads: new Map([[ledger, { lim: 10 }]]),
        overrides: { ledgers: new Map([[ledger, { limit: 3 }]]) },
      });
    });

    test("does not keep the first head from being written", async () => {
      const ledger = newLedger();
      await table.setOverride({ kind: "ledger", name: ledger, override: { limit: 3 } });
      expect(await table.writeHead(ledger, undefined, { lim: 9 })).toEqual({ kind: "written" });
    });

    test("on a lane and on a model stands by itself", async () => {
      const model = newLedger();
      await table.setOverride({ kind: "lane", name: "bulk", override: { pausedUntilMs: 7_000 } });
      await table.setOverride({ kind: "model", name: model, override: { chain: ["b@west", "a"] } });
      const { overrides } = await board({ lanes: ["rt", "bulk"], models: [model] });
      expect(overrides.lanes).toEqual(new Map([["bulk", { pausedUntilMs: 7_000 }]]));
      expect(overrides.models).toEqual(new Map([[model, { chain: ["b@west", "a"] }]]));
      await table.setOverride({ kind: "lane", name: "bulk" });
      await table.setOverride({ kind: "model", name: model });
      expect((await board({ lanes: ["bulk"], models: [model] })).overrides).toEqual({
        ledgers: new Map(),
        lanes: new Map(),
        models: new Map(),
      });
    });

    test("is read together with all else, whatever bears the same name", async () => {
      const same = newLedger();
      await table.writeHead(same, undefined, { lim: 1 });
      await table.writeBreaker(same, undefined, { kind: "open", openUntilMs: 5 });
      await table.setOverride({ kind: "ledger", name: same, override: { out: true } });
      await table.setOverride({ kind: "model", name: same, override: { chain: [] } });
      expect(await board({ ledgers: [same], targets: [same], models: [same] })).toEqual({
        heads: new Map([[same, { lim: 1 }]]),
        breakers: new Map([[same, { kind: "open", openUntilMs: 5 }]]),
        overrides: {
          ledgers: new Map([[same, { out: true }]]),
          lanes: new Map(),
          models: new Map([[same, { chain: [] }]]),
        },
        spent: new Map(),
      });
    });
  });

  describe("what a lane has spent on a day", () => {
    const ttlS = 1_900_000_000;
    let days = 0;
    /** Another container's, whose mark lies in the same slot of the row, or in another. */
    const sharing = (with_: Addition, nanoUsd: number, isSame: boolean): Addition => {
      for (;;) {
        const other = a.addition(nanoUsd);
        if ((markOf(other).slot === markOf(with_).slot) === isSame) return other;
      }
    };
    const newDay = (): BudgetDay => ({ lane: "bulk", day: `2026-11-${days++}` });
    const spent = async (...budgets: readonly BudgetDay[]) => (await board({ budgets })).spent;

    test("is nothing until something is added", async () => expect(await spent(newDay())).toEqual(new Map()));

    test("is the sum of all that was added, and each addition tells it", async () => {
      const of = newDay();
      expect(await table.addSpent(of, a.addition(60_000), ttlS)).toBe(60_000);
      expect(await table.addSpent(of, a.addition(1), ttlS)).toBe(60_001);
      expect(await spent(of)).toEqual(new Map([[budgetName(of), 60_001]]));
    });

    test("is of that lane and that day alone", async () => {
      const [one, other] = [newDay(), newDay()];
      await table.addSpent(one, a.addition(5), ttlS);
      await table.addSpent({ ...one, lane: "rt" }, a.addition(7), ttlS);
      expect(await spent(one, other, { ...one, lane: "rt" })).toEqual(
        new Map([
          [budgetName(one), 5],
          [budgetName({ ...one, lane: "rt" }), 7],
        ]),
      );
    });

    test("keeps every nano-USD of millions", async () => {
      const of = newDay();
      await table.addSpent(of, a.addition(9_000_000_000_000_000), ttlS);
      expect(await table.addSpent(of, a.addition(1), ttlS)).toBe(9_000_000_000_000_001);
      expect(await spent(of)).toEqual(new Map([[budgetName(of), 9_000_000_000_000_001]]));
    });

    test("added by 64 at once lacks none of it", async () => {
      const of = newDay();
      await Promise.all(Array.from({ length: 64 }, (_, index) => table.addSpent(of, a.addition(index), ttlS)));
      expect(await spent(of)).toEqual(new Map([[budgetName(of), (64 * 63) / 2]]));
    });

    test("counts an addition that is sent again once, and tells the sum as it stands", async () => {
      const of = newDay();
      const addition = a.addition(5);
      await table.addSpent(of, addition, ttlS);
      await table.addSpent(of, sharing(addition, 7, false), ttlS);
      expect(await table.addSpent(of, addition, ttlS)).toBe(12);
      expect(await table.addSpent(of, { ...addition, number: 2 }, ttlS)).toBe(17);
      // A copy that was late on its way.
      expect(await table.addSpent(of, addition, ttlS)).toBe(17);
      expect(await spent(of)).toEqual(new Map([[budgetName(of), 17]]));
    });

    test("knows the tenth addition for newer than the ninth", async () => {
      const of = newDay();
      const ninth = a.addition(1, { number: 9 });
      await table.addSpent(of, ninth, ttlS);
      expect(await table.addSpent(of, { ...ninth, number: 10 }, ttlS)).toBe(2);
      expect(await table.addSpent(of, ninth, ttlS)).toBe(2);
    });

    test("takes nobody else's addition for a resend, whoever shares the slot", async () => {
      const of = newDay();
      const addition = a.addition(5, { number: 2 });
      await table.addSpent(of, addition, ttlS);
      expect(await table.addSpent(of, sharing(addition, 7, true), ttlS)).toBe(12);
      // Forgotten by then: it counts twice.
      expect(await table.addSpent(of, addition, ttlS)).toBe(17);
    });

    test("counts an addition on each of its days", async () => {
      const [one, other] = [newDay(), newDay()];
      const addition = a.addition(5);
      expect([await table.addSpent(one, addition, ttlS), await table.addSpent(other, addition, ttlS)]).toEqual([5, 5]);
    });

    test("costs a request", async () => {
      const before = requests();
      await table.addSpent(newDay(), a.addition(1), ttlS);
      expect(requests() - before).toBe(name === "memory" ? 0 : 1);
    });
  });

  const aBoard = {
    ledgers: Array.from({ length: 50 }, newLedger),
    targets: Array.from({ length: 47 }, newLedger),
    lanes: ["rt", "bg", "bulk"],
    models: [],
  } satisfies BoardNames;
  describe("the clocks of a quota", () => {
    const quota = { tokensPerMinute: 6_000, requestsPerMinute: 600 }; // a token is 11 ms, a request 110
    const charge = (ledger: string, id: string, tokens: number, atMs: number, seen?: Clocks) =>
      table.charge(ledger, { id, tokens }, quota, atMs, seen);
    const clocksOf = async (ledger: string) => {
      const { tokensAtMs, requestsAtMs } = await table.readClocks(ledger);
      return [tokensAtMs, requestsAtMs];
    };

    test("begin when they are first charged", async () => {
      const ledger = newLedger();
      expect(await charge(ledger, "a", 100, 1_000)).toEqual({
        kind: "charged",
        clocks: { tokensAtMs: 2_100, requestsAtMs: 1_110, charged: { a: 1_000 } },
      });
      expect(await clocksOf(ledger)).toEqual([2_100, 1_110]);
    });

    test.each<[says: string, atMs: number, tokensAtMs: number, requestsAtMs: number]>([
      ["both ahead, move on from where they are", 1_050, 3_200, 1_220],
      ["one ahead and one in the past, each as it must", 1_500, 3_200, 1_610],
      ["both in the past, begin anew", 9_000, 10_100, 9_110],
      ["exactly at the time, move on too", 2_100, 3_200, 2_210],
    ])("that are %s", async (_says, atMs, tokensAtMs, requestsAtMs) => {
      for (const seen of [undefined, "as it was"]) {
        const ledger = newLedger();
        const first = await charge(ledger, "a", 100, 1_000);
        const known = seen === undefined || first.kind !== "charged" ? undefined : first.clocks;
        expect(await charge(ledger, "b", 100, atMs, known)).toMatchObject({ kind: "charged" });
        expect(await clocksOf(ledger)).toEqual([tokensAtMs, requestsAtMs]);
      }
    });

    test("are right whatever was thought of them before", async () => {
      const ledger = newLedger();
      await charge(ledger, "a", 100, 1_000);
      const wrong: Clocks[] = [
        {},
        { tokensAtMs: 90_000, requestsAtMs: 90_000, charged: {} },
        { tokensAtMs: 500, requestsAtMs: 90_000, charged: { x: 1 } },
      ];
      for (const [index, seen] of wrong.entries()) await charge(ledger, `b${index}`, 100, 1_050, seen);
      expect(await clocksOf(ledger)).toEqual([2_100 + 3 * 1_100, 1_110 + 3 * 110]);
    });

    test("refuse with the exact wait, and do not move", async () => {
      const ledger = newLedger();
      const first = await charge(ledger, "a", 6_000, 1_000);
      const seen = first.kind === "charged" ? first.clocks : undefined;
      for (const known of [undefined, seen])
        expect(await charge(ledger, "b", 1, 2_000, known)).toEqual({ kind: "wait", waitMs: 60_001 });
      expect(await clocksOf(ledger)).toEqual([67_000, 1_110]);
      expect(await charge(ledger, "b", 1, 62_001)).toMatchObject({ kind: "charged" });
    });

    test("admit at once what others have given back since one looked", async () => {
      const ledger = newLedger();
      const full = await charge(ledger, "a", 6_000, 1_000);
      await table.settle(ledger, { id: "a", tokens: 6_000 }, quota, 1_500);
      const seen = full.kind === "charged" ? full.clocks : undefined;
      expect(await charge(ledger, "b", 100, 2_000, seen)).toMatchObject({ kind: "charged" });
    });

    test("are charged once for an attempt, however often and however late it is sent", async () => {
      const ledger = newLedger();
      await charge(ledger, "a", 100, 1_000);
      expect(await charge(ledger, "a", 100, 1_000)).toEqual({ kind: "already" });
      await charge(ledger, "b", 100, 1_100);
      expect(await charge(ledger, "a", 100, 90_000)).toEqual({ kind: "already" });
      expect(await clocksOf(ledger)).toEqual([3_200, 1_220]);
    });

    test("are charged and settled once also by who knew them before", async () => {
      const ledger = newLedger();
      const first = await charge(ledger, "x", 100, 1_000);
      const before = await table.settle(ledger, { id: "x", tokens: 10 }, quota, 1_000);
      expect(first.kind).toBe("charged");
      expect(await charge(ledger, "a", 100, 1_000, before)).toMatchObject({ kind: "charged" });
      expect(await charge(ledger, "a", 100, 1_000, before)).toEqual({ kind: "already" });
      for (let times = 0; times < 2; times++) await table.settle(ledger, { id: "a", tokens: 40 }, quota, 1_000, before);
      expect(await clocksOf(ledger)).toEqual([1_000 + 2 * 1_100 - 110 - 440, 1_220]);
    });

    test("are settled once for an attempt, and only by tokens", async () => {
      const ledger = newLedger();
      await charge(ledger, "a", 100, 1_000);
      for (let times = 0; times < 3; times++) await table.settle(ledger, { id: "a", tokens: 40 }, quota, 1_200);
      expect(await clocksOf(ledger)).toEqual([2_100 - 440, 1_110]);
      await table.settle(ledger, { id: "b", tokens: 10 }, quota, 1_200);
      expect(await clocksOf(ledger)).toEqual([2_100 - 550, 1_110]);
    });

    test("that nobody has charged are not settled", async () => {
      expect(await table.settle(newLedger(), { id: "a", tokens: 40 }, quota, 1_000)).toEqual({});
    });

    test("count only what the quota counts", async () => {
      const ledger = newLedger();
      await table.charge(ledger, { id: "a", tokens: 100 }, { requestsPerMinute: 600 }, 1_000);
      expect(await clocksOf(ledger)).toEqual([undefined, 1_110]);
      await table.charge(ledger, { id: "b", tokens: 100 }, { tokensPerMinute: 6_000 }, 1_000);
      expect(await clocksOf(ledger)).toEqual([2_100, 1_110]);
    });

    test("keep fractions of a ms", async () => {
      const [ledger, big] = [newLedger(), { tokensPerMinute: 4_000_000 }]; // a token is 0.0165 ms
      for (let count = 0; count < 10; count++) await table.charge(ledger, { id: `a${count}`, tokens: 1 }, big, 1_000);
      const { tokensAtMs } = await table.readClocks(ledger);
      expect(tokensAtMs).toBeCloseTo(1_000.165, 6);
    });

    test("charged by 64 at once admit what fits, and no more", async () => {
      const ledger = newLedger();
      const ids = Array.from({ length: 64 }, (_, index) => `attempt-${index}`);
      const answers = await Promise.all(ids.map((id) => charge(ledger, id, 0, 1_000)));
      // Of 110 ms each, the one that passes 5,000 ms is the last: 46.
      expect(answers.filter(({ kind }) => kind === "charged")).toHaveLength(46);
      expect(answers.filter(({ kind }) => kind === "wait")).toHaveLength(18);
      expect(await clocksOf(ledger)).toEqual([1_000, 1_000 + 46 * 110]);
    });

    test("remember the attempts of late only, however many there were", async () => {
      const ledger = newLedger();
      for (let count = 0; count < 40; count++) {
        await charge(ledger, `a${count}`, 2, 1_000 + count * 200);
        await table.settle(ledger, { id: `a${count}`, tokens: 1 }, quota, 1_100 + count * 200);
      }
      const { charged = {}, settled = {} } = await table.readClocks(ledger);
      expect(Object.keys(charged)).toHaveLength(16);
      expect(Object.keys(settled)).toHaveLength(16);
      expect(await charge(ledger, "a39", 2, 9_000)).toEqual({ kind: "already" });
    });

    test("forget the others also by writers who last knew them when they began", async () => {
      const [ledger, big] = [newLedger(), { tokensPerMinute: 4_000_000 }];
      const seen: (Clocks | undefined)[] = [];
      const ids = Array.from({ length: 50 }, (_, index) => `a${index}`);
      for (const round of [1, 2]) {
        for (const [place, id] of ids.entries()) {
          const answer = await table.charge(ledger, { id: `${id}-${round}`, tokens: 100 }, big, 1_000, seen[place]);
          seen[place] = answer.kind === "charged" ? answer.clocks : undefined;
        }
        for (const [place, id] of ids.entries())
          seen[place] = await table.settle(ledger, { id: `${id}-${round}`, tokens: 40 }, big, 1_000, seen[place]);
      }
      const { charged = {}, settled = {}, tokensAtMs } = await table.readClocks(ledger);
      expect(Object.keys(charged).length).toBeLessThanOrEqual(32);
      expect(Object.keys(settled).length).toBeLessThanOrEqual(32);
      expect(tokensAtMs).toBeCloseTo(1_000 + 100 * 60 * 0.0165, 6);
    });

    test("bear ids that begin with anything", async () => {
      const ledger = newLedger();
      for (const id of ["-_9zAZ", "0", "charged", "__proto"]) await charge(ledger, id, 1, 1_000);
      expect(await charge(ledger, "-_9zAZ", 1, 1_000)).toEqual({ kind: "already" });
      expect(await clocksOf(ledger)).toEqual([1_044, 1_440]);
    });

    test("and what is learned do not disturb each other on one head", async () => {
      const ledger = newLedger();
      await charge(ledger, "a", 100, 1_000);
      expect((await board({ ledgers: [ledger] })).heads).toEqual(new Map([[ledger, {}]]));
      expect(await table.writeHead(ledger, undefined, { lim: 9 })).toEqual({ kind: "written" });
      await charge(ledger, "b", 100, 1_000);
      expect(await table.writeHead(ledger, { lim: 9 }, { lim: 8 })).toEqual({ kind: "written" });
      expect(await clocksOf(ledger)).toEqual([3_200, 1_220]);
    });
  });

  describe("the clocks on a page", () => {
    const quota = { tokensPerMinute: 6_000, requestsPerMinute: 600 }; // a token is 11 ms, a request 110
    const take = (ref: PageRef, ids: readonly string[], nowMs: number, seen?: Clocks, tokens = 100) =>
      table.take(ref, ids, 10, 90_000, { quota, tokens: ids.map(() => tokens), nowMs, seen });
    const clocksOf = async ({ ledger }: PageRef) => await table.readClocks(ledger);

    test("are charged with the take, for all in it", async () => {
      const ref = await page("x");
      const clocks = { tokensAtMs: 1_000 + 3_300, requestsAtMs: 1_330 };
      expect(await take(ref, ["a", "b", "c"], 1_000)).toEqual({
        kind: "taken",
        page: { x: 1_000, a: 90_000, b: 90_000, c: 90_000 },
        clocks,
      });
      expect(await clocksOf(ref)).toEqual(clocks);
    });

    test.each<[says: string, nowMs: number, tokensAtMs: number, requestsAtMs: number]>([
      ["both ahead, move on from where they are", 1_050, 3_200, 1_220],
      ["one ahead and one in the past, each as it must", 1_500, 3_200, 1_610],
      ["both in the past, begin anew", 9_000, 10_100, 9_110],
      ["exactly at the time, move on too", 2_100, 3_200, 2_210],
    ])("that are %s", async (_says, nowMs, tokensAtMs, requestsAtMs) => {
      const ref = await page();
      const { clocks } = await take(ref, ["a"], 1_000);
      expect(await take(ref, ["b"], nowMs, clocks)).toMatchObject({ kind: "taken" });
      expect(await clocksOf(ref)).toEqual({ tokensAtMs, requestsAtMs });
    });

    test("are told by the page that refused, and are never wrong by what was thought of them", async () => {
      const ref = await page();
      await take(ref, ["a"], 1_000);
      const wrong = [undefined, { tokensAtMs: 0, requestsAtMs: 90_000 }, { tokensAtMs: 90_000, requestsAtMs: 0 }];
      for (const [index, seen] of wrong.entries()) {
        const answer = await take(ref, [`b${index}`], 1_050, seen);
        if (answer.kind === "refused") await take(ref, [`b${index}`], 1_050, answer.clocks);
      }
      expect(await clocksOf(ref)).toEqual({ tokensAtMs: 2_100 + 3 * 1_100, requestsAtMs: 1_110 + 3 * 110 });
      expect(await countOf(ref)).toBe(4);
    });

    test("that are a burst ahead refuse, and neither they nor the page change", async () => {
      const ref = await page();
      const { clocks } = await take(ref, ["a"], 1_000, undefined, 6_000);
      for (const seen of [undefined, clocks])
        expect(await take(ref, ["b"], 2_000, seen)).toEqual({ kind: "refused", page: { a: 90_000 }, clocks });
      expect(await take(ref, ["b"], 62_001, clocks)).toMatchObject({ kind: "taken" });
    });

    test("refuse a group of which they would not admit the last after the others", async () => {
      const ref = await page();
      const { clocks } = await take(ref, ["a"], 1_000, undefined, 300); // 3,300 ms ahead
      expect(await take(ref, ["b", "c", "d"], 1_000, clocks)).toMatchObject({ kind: "refused", page: { a: 90_000 } });
      expect(await take(ref, ["b", "c"], 1_000, clocks)).toMatchObject({ kind: "taken" });
    });

    test("stand still where the page is full", async () => {
      const ref = await page(..."0123456789".split(""));
      expect(await take(ref, ["a"], 1_000)).toMatchObject({ kind: "refused" });
      expect(await clocksOf(ref)).toEqual({});
    });

    test("are charged once for a take, however often it is sent", async () => {
      const ref = await page();
      const { clocks } = await take(ref, ["a", "b"], 1_000);
      for (const seen of [undefined, clocks])
        for (const ids of [["a", "b"], ["a"], ["b", "c"]])
          expect(await take(ref, ids, 1_000, seen)).toEqual({
            kind: "refused",
            page: { a: 90_000, b: 90_000 },
            clocks,
          });
    });

    test("are charged by a reclaim, and get nothing back for what it takes away", async () => {
      const ref = await page();
      const { clocks } = await take(ref, ["a"], 1_000);
      const toll = { quota, tokens: [100], nowMs: 1_050, seen: clocks };
      const reclaim = () => table.reclaim(ref, { a: 90_000 }, ["b"], 1, 99_000, toll);
      expect(await reclaim()).toEqual({
        kind: "taken",
        page: { b: 99_000 },
        clocks: { tokensAtMs: 3_200, requestsAtMs: 1_220 },
      });
      expect(await reclaim()).toMatchObject({ kind: "refused" });
      await table.giveBack(ref, ["a"], { a: 440 });
      expect(await clocksOf(ref)).toEqual({ tokensAtMs: 3_200, requestsAtMs: 1_220 });
    });

    test("that refuse a reclaim take nothing away", async () => {
      const ref = await page();
      const { clocks } = await take(ref, ["a"], 1_000, undefined, 6_000);
      const toll = { quota, tokens: [100], nowMs: 2_000, seen: clocks };
      expect(await table.reclaim(ref, { a: 90_000 }, ["b"], 1, 99_000, toll)).toMatchObject({ kind: "refused" });
      expect(await table.readPage(ref)).toEqual({ a: 90_000 });
    });

    test("are set back with the return, once", async () => {
      const ref = await page();
      await take(ref, ["a"], 1_000);
      for (let times = 0; times < 3; times++) await table.giveBack(ref, ["a"], { a: 440 });
      expect(await clocksOf(ref)).toEqual({ tokensAtMs: 2_100 - 440, requestsAtMs: 1_110 });
      expect(await table.readPage(ref)).toEqual({});
    });

    test("are set back for those of a return that still are there, and all of it is returned", async () => {
      const ref = await page();
      await take(ref, ["a", "b", "c", "d"], 1_000);
      await table.giveBack(ref, ["b"], { b: 1 });
      await table.giveBack(ref, ["a", "b", "c", "d"], { a: 10, b: 100, c: 1_000 });
      expect(await clocksOf(ref)).toEqual({ tokensAtMs: 1_000 + 4_400 - 1_011, requestsAtMs: 1_440 });
      expect(await table.readPage(ref)).toEqual({});
    });

    test("are not made by a return to a page without any", async () => {
      const ref = await page("a");
      await table.giveBack(missing(), ["a"], { a: 440 });
      await table.giveBack(ref, ["x"], { x: 440 });
      expect(await clocksOf(ref)).toEqual({});
    });

    test("are touched by no renewal, and by no take without a toll", async () => {
      const ref = await page();
      const { clocks } = await take(ref, ["a"], 1_000);
      expect(await table.renew(ref, ["a"], 99_000)).toMatchObject({ kind: "taken", clocks });
      expect(await table.take(ref, ["b"], 10, 99_000)).toMatchObject({ kind: "taken", clocks });
    });

    test("charged by 64 at once admit what fits, and no more", async () => {
      const ref = await page();
      const takeOne = async (id: string): Promise<boolean> => {
        let seen: Clocks | undefined;
        for (let tries = 0; tries < 64; tries++) {
          const toll = { quota: { requestsPerMinute: 60 }, tokens: [0], nowMs: 1_000, seen }; // 1,100 ms each
          const answer = await table.take(ref, [id], 64, 90_000, toll);
          if (answer.kind === "taken") return true;
          seen = answer.clocks;
          if (seen?.requestsAtMs !== undefined && seen.requestsAtMs >= 6_000) return false;
        }
        return false;
      };
      const taken = await Promise.all(Array.from({ length: 64 }, (_, index) => takeOne(`lease-${index}`)));
      expect(taken.filter((each) => each)).toHaveLength(5);
      expect([await countOf(ref), await clocksOf(ref)]).toEqual([5, { requestsAtMs: 1_000 + 5 * 1_100 }]);
    });

    test("bear ids that begin with anything", async () => {
      const [ref, ids] = [await page(), ["-_9zAZ", "0", "size", "l", "tokensAt"]];
      expect(await take(ref, ids, 1_000, undefined, 1)).toMatchObject({ kind: "taken" });
      await table.giveBack(ref, ids, Object.fromEntries(ids.map((id) => [id, 11])));
      expect(await clocksOf(ref)).toEqual({ tokensAtMs: 1_000, requestsAtMs: 1_550 });
    });
  });

  const sends = name === "memory" ? 0 : 1;
  const perMinute = { tokensPerMinute: 6_000 };
  const costs: readonly [says: string, requests: number, act: (held: PageRef) => Promise<unknown>][] = [
    ["a take", 1, (held) => table.take(held, ["b"], 5, 1_000)],
    ["a take of ten", 1, (held) => table.take(held, "0123456789".split(""), 11, 1_000)],
    ["a refused take", 1 + refusalReads, (held) => table.take(held, ["b"], 1, 1_000)],
    [
      "a take with its toll",
      1,
      (held) => table.take(held, ["b"], 5, 1_000, { quota: perMinute, tokens: [1], nowMs: 0 }),
    ],
    ["a reclaim", 1, (held) => table.reclaim(held, { a: 1_000 }, ["b"], 1, 2_000)],
    ["a renewal", 1, (held) => table.renew(held, ["a"], 2_000)],
    ["a return", 1, (held) => table.giveBack(held, ["a"])],
    [
      "a return that was made before, with what it sets back,",
      1 + refusalReads,
      (held) => table.giveBack(held, ["b"], { b: 1 }),
    ],
    ["a return to no page", 1, () => table.giveBack(missing(), ["a"])],
    ["a hundred rows of a board", 1, () => board(aBoard)],
    [
      "a charge of clocks that nobody has charged",
      1,
      () => table.charge(newLedger(), { id: "a", tokens: 1 }, perMinute, 0),
    ],
    ["a head's write", 1, () => table.writeHead(newLedger(), undefined, { lim: 1 })],
    ["a breaker's write", 1, () => table.writeBreaker(newLedger(), undefined, { kind: "open", openUntilMs: 1 })],
    ["an operator's override", 1, () => table.setOverride({ kind: "lane", name: "bulk", override: {} })],
  ];
  test.each(costs)("%s costs %i request(s)", async (_says, expected, act) => {
    const held = await page("a");
    const before = requests();
    await act(held);
    expect(requests() - before).toBe(expected * sends);
  });
});

describe.each(dynamoEngines)("the clocks of a quota on %s", (name, start) => {
  test("cost a write a charge and a write a settlement, as long as what one knows is true", async () => {
    const { table, requests } = await onDynamo(await engineForTests(start));
    const quota = { tokensPerMinute: 6_000, requestsPerMinute: 600 };
    const ledger = "fast-text@somewhere";
    let clocks: Clocks | undefined;
    for (let count = 0; count < 5; count++) {
      const ask = { id: `a${count}`, tokens: 10 };
      const charged = await table.charge(ledger, ask, quota, 1_000, clocks);
      clocks = charged.kind === "charged" ? charged.clocks : clocks;
      clocks = await table.settle(ledger, { ...ask, tokens: 5 }, quota, 1_000, clocks);
    }
    expect(requests()).toBe(10);

    // A wait is asked for once; an engine that keeps the row to itself is asked for that too.
    await table.charge(ledger, { id: "big", tokens: 6_000 }, quota, 1_000, clocks);
    const before = requests();
    expect(await table.charge(ledger, { id: "b", tokens: 1 }, quota, 1_000, clocks)).toMatchObject({ kind: "wait" });
    expect(requests() - before).toBe(name === "dynalite" ? 2 : 1);
  });
});

describe.each(dynamoEngines.slice(0, 1))("the lease table on DynamoDB (%s)", (_name, start) => {
  let endpoint: string;
  beforeAll(async () => {
    endpoint = await engineForTests(start);
  });

  test("takes a path that is called invalid before its condition is looked at for a missing page, too", async () => {
    const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
    dynamo.middlewareStack.add((next, { commandName }) => (args) => {
      if (commandName !== "UpdateItemCommand") return next(args);
      const words = "The document path provided in the update expression is invalid for update";
      throw Object.assign(new Error(words), { name: "ValidationException" });
    });
    const table = createLeaseTable(dynamo, await createTable(endpoint));
    const ref = { ledger: "fast-text@somewhere", page: 0 };
    expect(await table.take(ref, ["a"], 5, 1_000)).toEqual({ kind: "refused", page: undefined });
    await expect(table.giveBack(ref, ["a"])).resolves.toBeUndefined();
  });

  test.each([
    ["at half the price for those who compare when they write", {}, {}],
    ["consistently for those who write what they read", { consistent: true }, { ConsistentRead: true }],
  ] as const)("reads the board %s", async (_says, how, expected) => {
    const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
    const asked: unknown[] = [];
    dynamo.middlewareStack.add((next) => (args) => {
      asked.push(args.input);
      return next(args);
    });
    const TableName = await createTable(endpoint);
    await createLeaseTable(dynamo, TableName).readBoard({ ...noNames, lanes: ["bulk"], ...how });
    expect(asked).toEqual([{ RequestItems: { [TableName]: { Keys: [{ pk: { S: "LANE#bulk" } }], ...expected } } }]);
  });

  test("lets whatever else went wrong through", async () => {
    const table = createLeaseTable(new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 }), "no-such-table");
    const ref = { ledger: "fast-text@somewhere", page: 0 };
    const gone = { name: "ResourceNotFoundException" };
    await expect(table.take(ref, ["a"], 5, 1_000)).rejects.toMatchObject(gone);
    await expect(table.giveBack(ref, ["a"])).rejects.toMatchObject(gone);
    await expect(table.writeHead("l", undefined, { lim: 1 })).rejects.toMatchObject(gone);
    await expect(table.writeBreaker("b", undefined, { kind: "half-open" })).rejects.toMatchObject(gone);
  });

  test.each<[says: string, byHand: AttributeValue, read: unknown]>([
    ["digits as text", { M: { limit: { S: "3" } } }, { limit: "3" }],
    ["a set in the place of a list", { M: { chain: { SS: ["a", "b"] } } }, { chain: ["a", "b"] }],
    [
      "nothing, and things in each other",
      { M: { a: { NULL: true }, b: { L: [{ BOOL: false }] } } },
      { a: null, b: [false] },
    ],
    ["text in the place of the map", { S: "paused" }, "paused"],
    ["bytes", { B: new Uint8Array([1]) }, null],
  ])("reads what an operator has written by hand: %s", async (_says, byHand, read) => {
    const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
    const TableName = await createTable(endpoint);
    await dynamo.send(new PutItemCommand({ TableName, Item: { pk: { S: "MODEL#fast" }, override: byHand } }));
    const { overrides } = await createLeaseTable(dynamo, TableName).readBoard({ ...noNames, models: ["fast"] });
    expect(overrides.models).toEqual(new Map([["fast", read]]));
  });

  test.each<[says: string, row: Record<string, AttributeValue>, read: Json]>([
    ["text in the place of the sum", { spentNanoUsd: { S: "5" } }, "5"],
    ["no sum", {}, null],
  ])("reads a day's row that is damaged as it is: %s", async (_says, row, read) => {
    const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
    const TableName = await createTable(endpoint);
    const of = { lane: "bulk", day: "2026-11-29" } as const;
    await dynamo.send(new PutItemCommand({ TableName, Item: { pk: { S: "BUDGET#bulk#2026-11-29" }, ...row } }));
    const { spent } = await createLeaseTable(dynamo, TableName).readBoard({ ...noNames, budgets: [of] });
    expect(spent).toEqual(new Map([["bulk#2026-11-29", read]]));
  });

  test("throws where what was spent is no number, and leaves the row", async () => {
    const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
    const TableName = await createTable(endpoint);
    const row = { pk: { S: "BUDGET#bulk#2026-11-29" }, spentNanoUsd: { S: "5" } };
    await dynamo.send(new PutItemCommand({ TableName, Item: row }));
    const added = createLeaseTable(dynamo, TableName).addSpent({ lane: "bulk", day: "2026-11-29" }, a.addition(1), 9);
    await expect(added).rejects.toMatchObject({ name: "ValidationException" });
    expect((await dynamo.send(new GetItemCommand({ TableName, Key: { pk: row.pk } }))).Item).toEqual(row);
  });

  test("lets a day's row go by the table's TTL", async () => {
    const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
    const TableName = await createTable(endpoint);
    await createLeaseTable(dynamo, TableName).addSpent(
      { lane: "bulk", day: "2026-11-29" },
      a.addition(5, { by: "abcdefghijkl", number: 3 }),
      1_900_000_000,
    );
    const Key = { pk: { S: "BUDGET#bulk#2026-11-29" } };
    expect((await dynamo.send(new GetItemCommand({ TableName, Key }))).Item).toEqual({
      ...Key,
      spentNanoUsd: { N: "5" },
      ttl: { N: "1900000000" },
      by14: { S: "abcdefghijkl#000000003" },
    });
  });

  test("keeps a day's row within the kilobyte of one write unit, however many containers there are", async () => {
    const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
    const TableName = await createTable(endpoint);
    const table = createLeaseTable(dynamo, TableName);
    const of = { lane: "bulk", day: "2026-11-29" } as const;
    const slots = new Set<string>();
    while (slots.size < 32) {
      const addition = a.addition(1e13, { by: systemClock.newId(), number: 999_999_999 });
      slots.add(markOf(addition).slot);
      await table.addSpent(of, addition, 1_900_000_000);
    }
    const { Item = {} } = await dynamo.send(
      new GetItemCommand({ TableName, Key: { pk: { S: "BUDGET#bulk#2026-11-29" } } }),
    );
    expect(Object.keys(Item).filter((attribute) => attribute.startsWith("by"))).toHaveLength(32);
    const bytes = Object.entries(Item).map(([attribute, { S = "", N = "" }]) => attribute.length + S.length + N.length);
    expect(bytes.reduce((all, each) => all + each, 0)).toBeLessThan(1_024);
  });

  test.each<[says: string, row: Record<string, AttributeValue>]>([
    ["a state that nobody knows", { state: { S: "ajar" } }],
    ["open without an end", { state: { S: "open" }, openUntil: { S: "soon" } }],
    ["closed without a count", { state: { S: "closed" } }],
  ])("takes a breaker that is damaged for none: %s", async (_says, row) => {
    const dynamo = new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 });
    const TableName = await createTable(endpoint);
    await dynamo.send(new PutItemCommand({ TableName, Item: { pk: { S: "B#west" }, ...row } }));
    const { breakers } = await createLeaseTable(dynamo, TableName).readBoard({ ...noNames, targets: ["west"] });
    expect(breakers).toEqual(new Map());
  });
});

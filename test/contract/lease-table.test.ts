import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { beforeAll, describe, expect, test } from "vitest";
import { createLeaseTable } from "../../lib/aws/lease-table.ts";
import type { Head, PageRef } from "../../lib/core/lease.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import type { LeaseTable } from "../../lib/ports.ts";
import { createLeaseTable as createTable, dynamoEngines, engineForTests, localClient } from "./engines.ts";

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
      expect(await table.readHeads([ledger, other])).toEqual(new Map());
      expect(await table.writeHead(ledger, undefined, full)).toEqual({ kind: "written" });
      expect(await table.readHeads([ledger, other])).toEqual(new Map([[ledger, full]]));
    });

    test("drops what the next one does not say", async () => {
      const ledger = newLedger();
      await table.writeHead(ledger, undefined, full);
      await table.writeHead(ledger, full, { lim: 10 });
      expect(await table.readHeads([ledger])).toEqual(new Map([[ledger, { lim: 10 }]]));
    });

    test.each(Object.keys(full))("is not written over another's %s", async (field) => {
      const ledger = newLedger();
      const theirs = { ...full, [field]: 7 };
      await table.writeHead(ledger, undefined, theirs);
      expect(await table.writeHead(ledger, full, { lim: 1 })).toEqual({ kind: "refused", head: theirs });
      expect(await table.writeHead(ledger, undefined, { lim: 1 })).toEqual({ kind: "refused", head: theirs });
    });

    test("that was seen and is gone refuses", async () => {
      expect(await table.writeHead(newLedger(), full, { lim: 1 })).toEqual({ kind: "refused", head: undefined });
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
      const heads = await table.readHeads([...many, first]);
      expect(heads).toEqual(
        new Map([
          [first, { lim: 1 }],
          [last, { lim: 2 }],
        ]),
      );
    });
  });

  const sends = name === "memory" ? 0 : 1;
  const costs: readonly [says: string, requests: number, act: (held: PageRef) => Promise<unknown>][] = [
    ["a take", 1, (held) => table.take(held, ["b"], 5, 1_000)],
    ["a take of ten", 1, (held) => table.take(held, "0123456789".split(""), 11, 1_000)],
    ["a refused take", 1 + refusalReads, (held) => table.take(held, ["b"], 1, 1_000)],
    ["a reclaim", 1, (held) => table.reclaim(held, { a: 1_000 }, ["b"], 1, 2_000)],
    ["a renewal", 1, (held) => table.renew(held, ["a"], 2_000)],
    ["a return", 1, (held) => table.giveBack(held, ["a"])],
    ["a return to no page", 1, () => table.giveBack(missing(), ["a"])],
    ["a hundred heads", 1, () => table.readHeads(Array.from({ length: 100 }, newLedger))],
    ["a head's write", 1, () => table.writeHead(newLedger(), undefined, { lim: 1 })],
  ];
  test.each(costs)("%s costs %i request(s)", async (_says, expected, act) => {
    const held = await page("a");
    const before = requests();
    await act(held);
    expect(requests() - before).toBe(expected * sends);
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

  test("lets whatever else went wrong through", async () => {
    const table = createLeaseTable(new DynamoDBClient({ ...localClient(endpoint), maxAttempts: 1 }), "no-such-table");
    const ref = { ledger: "fast-text@somewhere", page: 0 };
    const gone = { name: "ResourceNotFoundException" };
    await expect(table.take(ref, ["a"], 5, 1_000)).rejects.toMatchObject(gone);
    await expect(table.giveBack(ref, ["a"])).rejects.toMatchObject(gone);
    await expect(table.writeHead("l", undefined, { lim: 1 })).rejects.toMatchObject(gone);
  });
});

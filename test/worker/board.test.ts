import { describe, expect, test } from "vitest";
import type { Breaker } from "../../lib/core/breaker.ts";
import type { Head } from "../../lib/core/lease.ts";
import type { Noted } from "../../lib/core/noted.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import type { LeaseTable } from "../../lib/ports.ts";
import { Board } from "../../lib/worker/board.ts";
import { t0 } from "../a.ts";
import { headOf } from "./lease-wire.ts";

const [fast, smart] = ["fast-text@us-west-2", "smart-text@us-west-2"];

/** A board over a table in memory that can fail; `reads` are the ledgers of each request. */
function aBoard(ledgers: readonly string[] = [fast]) {
  const clock = createVirtualClock(t0);
  const table = createMemoryLeaseTable();
  const reads: (readonly string[])[] = [];
  const noted: Noted[] = [];
  const broken = { reads: false, writes: false };
  const leases: LeaseTable = {
    ...table,
    readBoard: async (names) => {
      reads.push(names.ledgers);
      const rows = await table.readBoard(names);
      await clock.sleep(4);
      if (broken.reads) throw Object.assign(new Error("down"), { name: "TimeoutError" });
      return rows;
    },
    writeBreaker: async (...ask) => {
      if (broken.writes) throw Object.assign(new Error("down"), { name: "TimeoutError" });
      return await table.writeBreaker(...ask);
    },
    writeHead: async (...ask) => {
      if (broken.writes) throw Object.assign(new Error("down"), { name: "TimeoutError" });
      return await table.writeHead(...ask);
    },
  };
  const board = new Board(
    { clock, leases, telemetry: { note: (event) => noted.push(event) } },
    { ledgers, targets: ledgers },
  );
  const read = async () => {
    const reading = board.read();
    await clock.advance(4);
    await reading;
  };
  const write = async (ledger: string, head: Head) => {
    await table.writeHead(ledger, await headOf(table, ledger), head);
  };
  return { board, clock, table, reads, noted, broken, read, write };
}

describe("a container's board of heads", () => {
  test("knows nothing before it has read", () => expect(aBoard().board.head(fast)).toBeUndefined());

  test("reads all ledgers of the config in one request", async () => {
    const { board, reads, read, write } = aBoard([fast, smart]);
    await write(smart, { lim: 7 });
    await read();
    expect(reads).toEqual([[fast, smart]]);
    expect([board.head(fast), board.head(smart)]).toEqual([undefined, { lim: 7 }]);
  });

  test("reads again only after a second", async () => {
    const { board, clock, reads, read, write } = aBoard();
    await read();
    await write(fast, { lim: 7 });
    await clock.advance(995);
    await read();
    expect([reads.length, board.head(fast)]).toEqual([1, undefined]);
    await read();
    expect([reads.length, board.head(fast)]).toEqual([2, { lim: 7 }]);
  });

  test("asks once for all who ask at the same time", async () => {
    const { board, clock, reads } = aBoard();
    const all = Promise.all([board.read(), board.read(), board.read()]);
    await clock.advance(4);
    await all;
    expect(reads).toHaveLength(1);
  });

  test("lets nobody go before the request that is under way has answered", async () => {
    const { board, clock, write } = aBoard();
    await write(fast, { lim: 7 });
    void board.read();
    await clock.advance(2);
    const seen = board.read().then(() => board.head(fast));
    await clock.advance(2);
    expect(await seen).toEqual({ lim: 7 });
  });

  test("forgets what a head does not say any more", async () => {
    const { board, table, clock, read, write } = aBoard();
    await write(fast, { lim: 7 });
    await read();
    await table.writeHead(fast, { lim: 7 }, {});
    await clock.advance(1_000);
    await read();
    expect(board.head(fast)).toEqual({});
  });

  test("keeps what it knew while it cannot read, says so once, and asks no more often", async () => {
    const { board, clock, reads, noted, broken, read, write } = aBoard();
    await write(fast, { lim: 7 });
    await read();
    broken.reads = true;
    for (let second = 0; second < 3; second++) {
      await clock.advance(1_000);
      await read();
      await read();
    }
    expect(board.head(fast)).toEqual({ lim: 7 });
    expect(reads).toHaveLength(4);
    expect(noted).toEqual([{ kind: "trouble", what: "read the board", error: "TimeoutError" }]);
  });

  test("says so again the next time", async () => {
    const { clock, noted, broken, read } = aBoard();
    for (const broke of [true, false, true]) {
      broken.reads = broke;
      await read();
      await clock.advance(1_000);
    }
    expect(noted).toHaveLength(2);
  });
});

const raised = (seen: Head | undefined): Head => ({ lim: (seen?.lim ?? 10) + 1 });

describe("a container's board of breakers", () => {
  const open: Breaker = { kind: "open", openUntilMs: t0 + 30_000 };

  test("knows what others have written, a second later at most", async () => {
    const { board, table, clock, read } = aBoard();
    await read();
    await table.writeBreaker(fast, undefined, open);
    await clock.advance(1_000);
    await read();
    expect(board.breaker(fast)).toEqual(open);
    await table.writeBreaker(fast, open, { kind: "closed", failures: 0 });
    await clock.advance(1_000);
    await read();
    expect(board.breaker(fast)).toBeUndefined();
  });

  test("knows its own writes at once, also while a read is under way", async () => {
    const { board, clock } = aBoard();
    const reading = board.read();
    await clock.advance(1);
    await board.changeBreaker(fast, () => open);
    await clock.advance(3);
    await reading;
    expect(board.breaker(fast)).toEqual(open);
  });

  test("hears every one of many failures at the same time", async () => {
    const { board, table } = aBoard();
    const more = (seen: Breaker | undefined): Breaker => ({
      kind: "closed",
      failures: seen?.kind === "closed" ? seen.failures + 1 : 1,
    });
    await Promise.all(Array.from({ length: 10 }, () => board.changeBreaker(fast, more)));
    const { breakers } = await table.readBoard({ ledgers: [], targets: [fast], lanes: [], models: [] });
    expect(breakers.get(fast)).toEqual({ kind: "closed", failures: 10 });
  });

  test("looks again at once after a write of which nobody knows whether it was applied", async () => {
    const { board, noted, broken, reads, read } = aBoard();
    await read();
    broken.writes = true;
    expect(await board.changeBreaker(fast, () => open)).toBeUndefined();
    await read();
    expect(reads).toHaveLength(2);
    expect(noted).toEqual([{ kind: "trouble", what: "write a breaker", error: "TimeoutError" }]);
  });

  test("goes on with the next change when one has failed", async () => {
    const { board, broken } = aBoard();
    broken.writes = true;
    const failing = board.changeBreaker(fast, () => open);
    const next = board.changeBreaker(fast, () => {
      broken.writes = false;
      return open;
    });
    expect([await failing, (await next)?.next]).toEqual([undefined, open]);
  });
});

describe("a change of a head", () => {
  test("is written, and known here at once", async () => {
    const { board, table } = aBoard();
    expect(await board.changeHead(fast, raised)).toEqual({ seen: undefined, next: { lim: 11 } });
    expect(board.head(fast)).toEqual({ lim: 11 });
    expect(await headOf(table, fast)).toEqual({ lim: 11 });
  });

  test("is made of the head that stands when another was faster", async () => {
    const { board, write } = aBoard();
    await write(fast, { lim: 20 });
    expect(await board.changeHead(fast, raised)).toEqual({ seen: { lim: 20 }, next: { lim: 21 } });
  });

  test("is dropped when the head that stands needs none", async () => {
    const { board, table, write } = aBoard();
    await write(fast, { lim: 20 });
    expect(await board.changeHead(fast, (seen) => (seen === undefined ? { lim: 1 } : undefined))).toBeUndefined();
    expect(board.head(fast)).toEqual({ lim: 20 });
    expect(await headOf(table, fast)).toEqual({ lim: 20 });
  });

  test("that was refused by its own success has succeeded", async () => {
    const { board, write } = aBoard();
    await write(fast, { lim: 11 });
    expect(await board.changeHead(fast, raised)).toEqual({ seen: undefined, next: { lim: 11 } });
  });

  test("outlives a read that began before it", async () => {
    const { board, clock } = aBoard();
    const reading = board.read();
    await clock.advance(1);
    await board.changeHead(fast, raised);
    await clock.advance(3);
    await reading;
    expect(board.head(fast)).toEqual({ lim: 11 });
  });

  test("that fails is one trouble, and no error", async () => {
    const { board, noted, broken } = aBoard();
    broken.writes = true;
    expect(await board.changeHead(fast, raised)).toBeUndefined();
    expect(noted).toEqual([{ kind: "trouble", what: "write a head", error: "TimeoutError" }]);
  });
});

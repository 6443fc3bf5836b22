import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { PageRef } from "../../lib/core/lease.ts";
import { createDice, createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import { Board } from "../../lib/worker/board.ts";
import { LeaseDesk } from "../../lib/worker/lease-desk.ts";
import type { TakenLease } from "../../lib/worker/lease-desk.ts";
import { t0 } from "../a.ts";
import { wired } from "./lease-wire.ts";

const ledger = "fast-text@us-west-2";
const page: PageRef = { ledger, page: 0 };

/** What one waiter does: joins, leaves early or never, holds for a while. Times are ms. */
const aWaiter = fc.record({
  joinsMs: fc.nat(200),
  leavesMs: fc.option(fc.nat(600), { nil: undefined, freq: 3 }),
  waitMs: fc.constantFrom(0, 50, 1_000, 5_000),
  holdsMs: fc.nat(500),
});

test("whatever the order of answers: nobody is granted twice, nobody is forgotten, first come is first served", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(aWaiter, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 6 }),
      fc.integer(),
      async (scheduler, waiters, limit, seed) => {
        const clock = createVirtualClock(t0);
        const table = createMemoryLeaseTable();
        await table.createPage(page);
        const turn = (says: string) => scheduler.schedule(Promise.resolve(), says);
        const leases = wired(table, async ({ verb }, send) => {
          await turn(`${verb} is sent`);
          const answer = await send();
          await turn(`${verb} is answered`);
          return answer;
        });
        const world = { clock, leases, telemetry: { note: () => undefined } };
        const desk = new LeaseDesk(world, new Board(world, { ledgers: [ledger] }));

        let outMost = 0;
        const out = new Set<TakenLease>();
        const granted: { readonly order: number; readonly id: string; readonly waitMs: number }[] = [];
        const settled = waiters.map(async ({ joinsMs, leavesMs, waitMs, holdsMs }, index) => {
          await clock.sleep(joinsMs);
          const order = joinsMs * waiters.length + index;
          const abort = new AbortController();
          const cancel = leavesMs === undefined ? undefined : clock.after(leavesMs, () => abort.abort());
          const ask = { ledger, lane: "rt", share: 1, limitStart: limit, limitMax: limit } as const;
          const taken = await desk.take({ target: ledger, asks: [ask] }, { waitMs, signal: abort.signal });
          cancel?.();
          if (taken.kind !== "taken") return taken.kind;
          out.add(taken);
          outMost = Math.max(outMost, out.size);
          granted.push({ order, id: taken.leases[0].id, waitMs });
          await clock.sleep(holdsMs);
          out.delete(taken);
          await desk.giveBack(taken, { kind: "neutral" });
          return taken.kind;
        });

        const ended: string[][] = [];
        void Promise.all(settled).then(async (kinds) => {
          await desk.idle();
          ended.push(kinds);
        });
        const dice = createDice(seed);
        for (await clock.advance(0); ended.length === 0; await clock.advance(0)) {
          const nextAtMs = clock.nextAtMs();
          const canWait = scheduler.count() > 0;
          if (nextAtMs !== undefined && (!canWait || dice() < 0.3)) await clock.advance(nextAtMs - clock.nowMs());
          else if (canWait) await scheduler.waitOne();
          else throw new Error("somebody is forgotten");
        }

        expect(outMost).toBeLessThanOrEqual(limit);
        expect(new Set(granted.map(({ id }) => id)).size).toBe(granted.length);
        expect(granted.map(({ order }) => order)).toEqual(granted.map(({ order }) => order).toSorted((a, b) => a - b));
        expect(ended.flat()).not.toContain("infra");
        expect(await table.readPage(page)).toEqual({});
        expect(clock.nextAtMs()).toBeUndefined();
      },
    ),
    { numRuns: 150 },
  );
});

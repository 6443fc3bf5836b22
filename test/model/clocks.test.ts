import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { charge, settle } from "../../lib/core/rate.ts";
import type { Charge, Clocks, Quota, Toll } from "../../lib/core/rate.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import { t0 } from "../a.ts";
import { costOf, reserved, setBack, trueClocks as sluice } from "./clock-protocol.ts";
import type { ClockProtocol, Ending, Row } from "./clock-protocol.ts";
import { clockMachine, onHead, onPage } from "./clocks.ts";
import type { ClockScene } from "./clocks.ts";
import { explore } from "./explore.ts";
import { sizeOf, without } from "./protocol.ts";

const minute = { timeout: 60_000 };

describe("a clock that two clients charge and settle breaks no promise", () => {
  // With fewer states the model goes nowhere: then it would keep every promise.
  const walks: [says: string, statesMin: number, scene: ClockScene, stepsMax: number][] = [
    ["in 10 steps on the only page of a ledger", 25_000, onPage, 10],
    ["in 12 steps on a head", 18_000, onHead, 12],
  ];
  test.each(walks)("%s: in more than %i states", minute, (_says, statesMin, scene, stepsMax) => {
    const { states, ...found } = explore(clockMachine(scene), { stepsMax });
    expect(found).toEqual({});
    expect(states).toBeGreaterThan(statesMin);
  });
});

const chargedTwice = /^an attempt is charged twice$/;
const paysForNothing = /^an attempt pays for what it has not used$/;
const tooMuchBack = /^more comes back than was charged$/;
const aboveQuota = /^an attempt is admitted above the quota$/;

/** The core's own, as if it did not know the attempt's mark. */
const forgetting = {
  charge: ((seen, ask, ...facts) => {
    const answer = charge({ ...seen, charged: {} }, ask, ...facts);
    if (answer.kind !== "charged") return answer;
    return { ...answer, clocks: { ...answer.clocks, charged: { ...seen?.charged, ...answer.clocks.charged } } };
  }) satisfies ClockProtocol["charge"],
  settle: ((seen, ...facts) => {
    const next = settle({ ...seen, settled: {} }, ...facts);
    return next && { ...next, settled: { ...seen?.settled, ...next.settled } };
  }) satisfies ClockProtocol["settle"],
};
const unused = (of: Ending, tokens: number): Pick<ClockProtocol, "unused"> => ({
  unused: (ending, place) => (ending === of ? tokens : sluice.unused(ending, place)),
});
const sumOf = (back: Readonly<Record<string, number>>) => Object.values(back).reduce((sum, ms) => sum + ms, 0);

describe("and would break one if", () => {
  const mutants: [says: string, mutant: Partial<ClockProtocol>, breaks: RegExp, scene: ClockScene][] = [
    ["there were an undo without refund, where the next ledger refuses", unused("refused", 0), paysForNothing, onPage],
    ["there were an undo without refund, where the leases came too late", unused("late", 0), paysForNothing, onPage],
    ["there were an undo without refund, on a head", unused("late", 0), paysForNothing, onHead],
    [
      "there were an undo without refund, of a take of which nobody knows",
      unused("unknown", 0),
      paysForNothing,
      onPage,
    ],
    [
      "a charge of which nobody knows were settled, for it may come later",
      unused("unknown", reserved),
      tooMuchBack,
      onHead,
    ],
    ["a request that was cut came back", unused("cut", reserved), tooMuchBack, onPage],
    [
      "a refund were not keyed by the attempt, for a resent return would refund twice",
      {
        giveBack: ({ page, clocks }, ids, back) => ({ page: without(page, ids), clocks: setBack(clocks, sumOf(back)) }),
      },
      tooMuchBack,
      onPage,
    ],
    [
      "a settlement were not marked by the attempt, for a resent one would refund twice",
      { settle: forgetting.settle },
      tooMuchBack,
      onHead,
    ],
    [
      "a resent take paid twice",
      {
        take: (row, ids, cap, untilMs, toll) => {
          const others = { ...row, page: without(row.page, ids) };
          const { kind, row: next } = sluice.take(others, ids, cap, untilMs, toll);
          return kind === "taken" ? { kind, row: { ...next, page: { ...next.page, ...row.page } } } : { kind, row };
        },
      },
      chargedTwice,
      onPage,
    ],
    ["a resent charge paid twice", { charge: forgetting.charge }, chargedTwice, onHead],
    [
      "a reclaim gave a refund, for what nobody knows is spent",
      {
        reclaim: (row, expired, ...facts) => {
          const { kind, row: next } = sluice.reclaim(row, expired, ...facts);
          const backMs = costOf(reserved) * sizeOf(expired);
          return kind === "taken" ? { kind, row: { ...next, clocks: setBack(next.clocks, backMs) } } : { kind, row };
        },
      },
      /^what nobody knows comes back$/,
      onPage,
    ],
    [
      "a take did not ask the clock",
      {
        take: (row, ids, cap, untilMs, toll) =>
          sluice.take(row, ids, cap, untilMs, { ...toll, nowMs: Math.max(toll.nowMs, row.clocks?.tokensAtMs ?? 0) }),
      },
      aboveQuota,
      onPage,
    ],
    [
      "a lease had no end, for a crash would keep its place",
      { take: (row, ids, cap, _untilMs, toll) => sluice.take(row, ids, cap, Infinity, toll) },
      /^a page is never empty again$/,
      onPage,
    ],
  ];
  test.each(mutants)("%s", minute, (_says, mutant, breaks, scene) => {
    const machine = clockMachine(scene, { ...sluice, ...mutant });
    expect(explore(machine, { promise: breaks, stepsMax: 10 }).violation).toMatch(breaks);
  });
});

describe("the model", () => {
  const someId = fc.constantFrom("a", "b", "c", "d");
  const someTimeMs = fc.integer({ min: 0, max: 5 });
  const someTokens = fc.integer({ min: 0, max: 3 });
  const someVerb = fc.record({
    kind: fc.constantFrom("take", "reclaim", "giveBack", "charge", "settle"),
    ids: fc.uniqueArray(someId, { minLength: 1, maxLength: 3 }),
    cap: fc.integer({ min: 0, max: 6 }),
    untilMs: someTimeMs,
    expired: fc.dictionary(someId, someTimeMs, { minKeys: 1, maxKeys: 2 }),
    isAsSeen: fc.boolean(),
    tokens: fc.array(someTokens, { minLength: 3, maxLength: 3 }),
    nowMs: fc.integer({ min: t0, max: t0 + 60_000 }),
    backMs: fc.dictionary(someId, fc.integer({ min: 1, max: 5_000 })),
  });
  const quota: Quota = { tokensPerMinute: 66, requestsPerMinute: 660 };

  test("writes clocks as the lease table does", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someVerb, { maxLength: 20 }), async (verbs) => {
        const table = createMemoryLeaseTable();
        const [ref, many] = [{ ledger: "one-page@us-west-2", page: 0 }, "many-pages@us-west-2"];
        await table.createPage(ref);

        let row: Row = { page: {} };
        let head: Clocks | undefined;
        for (const { kind, ids, cap, untilMs, expired, isAsSeen, tokens, nowMs, backMs } of verbs) {
          const seen = isAsSeen
            ? Object.fromEntries(Object.keys(expired).map((id) => [id, row.page[id] ?? 0]))
            : expired;
          const fresh = ids.filter((id) => !Object.hasOwn(seen, id)); // nobody takes what has expired
          const tollOf = ({ length }: readonly string[]): Toll => ({ quota, tokens: tokens.slice(0, length), nowMs });
          const one: Charge = { id: ids[0] ?? "a", tokens: tokens[0] ?? 0 };
          const both = (): readonly [theirs: Promise<unknown>, ours: unknown] => {
            switch (kind) {
              case "take": {
                const facts = [ids, cap, untilMs, tollOf(ids)] as const;
                const ours = sluice.take(row, ...facts);
                row = ours.row;
                return [table.take(ref, ...facts), { kind: ours.kind, ...row }];
              }
              case "reclaim": {
                const facts = [seen, fresh, cap, untilMs, tollOf(fresh)] as const;
                const ours = sluice.reclaim(row, ...facts);
                row = ours.row;
                return [table.reclaim(ref, ...facts), { kind: ours.kind, ...row }];
              }
              case "giveBack":
                row = sluice.giveBack(row, ids, backMs);
                return [table.giveBack(ref, ids, backMs), row.clocks];
              case "charge": {
                const ours = sluice.charge(head, one, quota, nowMs);
                if (ours.kind === "charged") head = ours.clocks;
                return [table.charge(many, one, quota, nowMs), ours];
              }
              case "settle":
                head = sluice.settle(head, one, quota, nowMs) ?? head;
                return [table.settle(many, one, quota, nowMs), head ?? {}];
            }
          };
          const [theirs, ours] = both();
          expect(await theirs).toEqual(ours);
          expect(await table.readPage(ref)).toEqual(row.page);
          expect(await table.readClocks(ref.ledger)).toEqual(row.clocks ?? {});
          expect(await table.readClocks(many)).toEqual(head ?? {});
        }
      }),
    );
  });
});

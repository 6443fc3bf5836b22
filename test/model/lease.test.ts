import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Page } from "../../lib/core/lease.ts";
import { cut } from "../../lib/core/limit.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import { explore } from "./explore.ts";
import { headMachine, trueHead } from "./head.ts";
import type { HeadProtocol } from "./head.ts";
import { groups, lanes, leaseMachine, oneLease, twoPages } from "./lease.ts";
import type { Scene } from "./lease.ts";
import { all, sizeOf, trueProtocol as sluice, without } from "./protocol.ts";
import type { Answer, Protocol } from "./protocol.ts";

const minute = { timeout: 60_000 };

describe("the lease protocol breaks no promise", () => {
  // With fewer states the model goes nowhere: then it would keep every promise.
  const walks: [says: string, statesMin: number, scene: Scene, stepsMax: number][] = [
    ["in 14 steps of two clients for one lease", 25_000, oneLease, 14],
    ["in 8 steps with leases taken and renewed in groups", 18_000, groups, 8],
    ["in 8 steps on two pages", 16_000, twoPages, 8],
    ["in 12 steps beside a lane of half the share", 25_000, lanes, 12],
  ];
  test.each(walks)("%s: in more than %i states", minute, (_says, statesMin, scene, stepsMax) => {
    const { states, ...found } = explore(leaseMachine(scene), { stepsMax });
    expect(found).toEqual({});
    expect(states).toBeGreaterThan(statesMin);
  });

  test("in 7 steps with throttles on all pages at once: in more than 12000 states of a head", minute, () => {
    const { states, ...found } = explore(headMachine(), { stepsMax: 7 });
    expect(found).toEqual({});
    expect(states).toBeGreaterThan(12_000);
  });
});

const overLimit = /^2 leases are live under a limit of 1$/;
const believesLonger = /^a client believes in a longer lease than the table's$/;

describe("and would break one if", () => {
  const mutants: [says: string, mutant: Partial<Protocol>, breaks: RegExp, scene?: Scene][] = [
    [
      "a take overwrote the expiry",
      {
        take: (page, ids, cap, untilMs) => {
          const answer = sluice.take(page, ids, cap, untilMs);
          return answer.kind === "taken" ? { kind: "taken", page: { ...page, ...all(ids, untilMs) } } : answer;
        },
      },
      believesLonger,
    ],
    [
      "a client trusted the expiry that it sent",
      { believedMs: ({ kind, page }, id, sentMs) => (kind === "taken" ? sentMs : (page[id] ?? 0)) },
      believesLonger,
    ],
    [
      "grace and margin were less than the skew, by the grace",
      { onRefused: (page, ids, cap, nowMs) => sluice.onRefused(page, ids, cap, nowMs + 1_000) },
      overLimit,
    ],
    [
      "grace and margin were less than the skew, by the margin",
      { holderStopsAtMs: (expiresAtMs) => sluice.holderStopsAtMs(expiresAtMs) + 1_000 },
      overLimit,
      { ...lanes, limit: 1 },
    ],
    ["a holder ignored its own expiry", { holderStopsAtMs: () => Infinity }, overLimit],
    [
      "the table counted, for a resend would count twice",
      {
        take: (page, _ids, cap) =>
          sizeOf(page) < cap
            ? { kind: "taken", page: { ...page, [`#${sizeOf(page)}`]: Infinity } }
            : { kind: "refused", page },
        giveBack: (page) => without(page, [`#${sizeOf(page) - 1}`]),
        believedMs: (_answer, _id, sentMs) => sentMs,
      },
      /^a page is never empty again$/,
    ],
    ["a return had no owner", { giveBack: (page) => without(page, Object.keys(page).slice(0, 1)) }, overLimit],
    [
      "attempts shared an id, for a late return of the first would free the second",
      { newIds: (client) => [`${"AB"[client]}0`] },
      overLimit,
    ],
    [
      "a reclaim took more than it had seen",
      {
        reclaim: (page, expired, ids, cap, untilMs) =>
          sluice.take(without(page, Object.keys(expired)), ids, cap, untilMs),
      },
      overLimit,
    ],
    [
      "a renewal that loses one gave up all",
      { survivors: (ids, page) => (ids.every((id) => page[id] !== undefined) ? ids : []) },
      /^a client gives up a lease that it has$/,
      groups,
    ],
    [
      "a renewal brought back what is gone",
      { renew: (page, ids, untilMs) => sluice.renew({ ...all(ids, untilMs), ...page }, ids, untilMs) },
      /^a lease is taken beyond its lane's share$/,
    ],
    [
      "a late renewal could shorten",
      {
        renew: (page, ids, untilMs) =>
          ids.every((id) => page[id] !== undefined)
            ? { kind: "taken", page: { ...page, ...all(ids, untilMs) } }
            : { kind: "refused", page },
      },
      believesLonger,
    ],
    ["every page held the whole limit", { pageCap: (cap) => cap }, overLimit, { ...twoPages, limit: 1 }],
  ];
  test.each(mutants)("%s", minute, (_says, mutant, breaks, scene = oneLease) => {
    const machine = leaseMachine(scene, { ...sluice, ...mutant });
    expect(explore(machine, { promise: breaks }).violation).toMatch(breaks);
  });

  const heads: [says: string, mutant: Partial<HeadProtocol>, breaks: RegExp][] = [
    ["every page had its own limit to cut", { headOf: (page) => page }, /^the limit is cut twice in a cooldown$/],
    [
      "a cut had no cooldown",
      { cut: (head, ...facts) => cut({ ...head, cutAtMs: -Infinity }, ...facts) },
      /^the limit is cut twice in a cooldown$/,
    ],
    ["a head were overwritten unseen", { allows: () => true }, /^a cut is forgotten$/],
    [
      "a shorter pause replaced a longer one",
      {
        cut: (head, bounds, nowMs, retryAfterMs) => {
          const next = cut(head, bounds, nowMs, retryAfterMs);
          return next && { ...next, pausedUntilMs: nowMs + (retryAfterMs ?? 2_000) };
        },
      },
      /^a pause ends before its time$/,
    ],
  ];
  test.each(heads)("%s", minute, (_says, mutant, breaks) => {
    expect(explore(headMachine({ ...trueHead, ...mutant }), { promise: breaks }).violation).toMatch(breaks);
  });
});

describe("the model", () => {
  const someId = fc.constantFrom("a", "b", "c", "d");
  const someTimeMs = fc.integer({ min: 0, max: 5 });
  const someVerb = fc.record({
    kind: fc.constantFrom("take", "reclaim", "renew", "giveBack"),
    ids: fc.uniqueArray(someId, { minLength: 1, maxLength: 3 }),
    cap: fc.integer({ min: 0, max: 4 }),
    untilMs: someTimeMs,
    expired: fc.dictionary(someId, someTimeMs, { minKeys: 1, maxKeys: 2 }),
    isAsSeen: fc.boolean(),
  });

  test("writes pages as the lease table does", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someVerb, { maxLength: 20 }), async (verbs) => {
        const table = createMemoryLeaseTable();
        const ref = { ledger: "fast-text@us-west-2", page: 0 };
        await table.createPage(ref);

        let page: Page = {};
        for (const { kind, ids, cap, untilMs, expired, isAsSeen } of verbs) {
          const seen = isAsSeen ? Object.fromEntries(Object.keys(expired).map((id) => [id, page[id] ?? 0])) : expired;
          const fresh = without(all(ids, 0), Object.keys(seen)); // nobody takes what has expired
          const both = (): readonly [Answer, Promise<unknown>] => {
            switch (kind) {
              case "take":
                return [sluice.take(page, ids, cap, untilMs), table.take(ref, ids, cap, untilMs)];
              case "reclaim": {
                const facts = [seen, Object.keys(fresh), cap, untilMs] as const;
                return [sluice.reclaim(page, ...facts), table.reclaim(ref, ...facts)];
              }
              case "renew":
                return [sluice.renew(page, ids, untilMs), table.renew(ref, ids, untilMs)];
              case "giveBack": {
                const left = table.giveBack(ref, ids).then(async () => await table.readPage(ref));
                return [
                  { kind: "taken", page: sluice.giveBack(page, ids) },
                  left.then((row) => ({ kind: "taken", page: row })),
                ];
              }
            }
          };
          const [ours, theirs] = both();
          expect(await theirs).toEqual(ours);
          expect(await table.readPage(ref)).toEqual(ours.page);
          page = ours.page;
        }
      }),
    );
  });
});

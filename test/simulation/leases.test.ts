import { describe, expect, test } from "vitest";
import { laneCap } from "../../lib/core/lease.ts";
import type { LeaseAsk } from "../../lib/core/lease.ts";
import { t0 } from "../a.ts";
import { breaches, outMean, outMost } from "./leases/history.ts";
import type { Interval } from "./leases/history.ts";
import { requestsPerAttempt, throttledPart, utilisation, waitMsOf } from "./leases/measure.ts";
import { pages } from "./leases/protocol.ts";
import { crewsOf, inTrouble, learning, rtOverBulk } from "./leases/scenarios.ts";
import { simulate } from "./leases/simulate.ts";
import type { Scenario } from "./leases/simulate.ts";

const run = async (scenario: Scenario) => {
  const findings = await simulate(scenario, pages());
  // Whatever is measured, the limit was kept, and everything came back.
  expect(breaches(findings.history)).toEqual([]);
  expect(findings.left).toBe(0);
  return findings;
};

describe("the judge of a history", () => {
  const lease = (takenAtMs: number, endedAtMs: number, facts: Partial<LeaseAsk> = {}): Interval => ({
    ask: { ledger: "fast-text@us-west-2", lane: "rt", share: 1, limitStart: 2, limitMax: 2, ...facts },
    takenAtMs: t0 + takenAtMs,
    endedAtMs: t0 + endedAtMs,
  });
  const bulk = { lane: "bulk", share: 0.5 } as const;
  const rows: [says: string, history: Interval[], found: number][] = [
    ["lets a full ledger pass", [lease(0, 10), lease(5, 15), lease(10, 20)], 0],
    ["finds one too many, whoever ends first", [lease(0, 30), lease(5, 15), lease(6, 7)], 1],
    ["finds each that was granted beyond the limit", [lease(0, 9), lease(0, 9), lease(1, 9), lease(2, 9)], 2],
    ["knows ledgers apart", [lease(0, 9), lease(0, 9), lease(0, 9, { ledger: "smart-text@us-west-2" })], 0],
    ["finds a lane above its share", [lease(0, 9, bulk), lease(1, 9, bulk)], 1],
    ["does not count lanes with a bigger share against it", [lease(0, 9), lease(1, 9, bulk)], 0],
    ["counts lanes with a smaller one", [lease(0, 9, bulk), lease(0, 9, { ...bulk, lane: "bg", share: 0.6 })], 1],
  ];
  test.each(rows)("%s", (_says, history, found) => expect(breaches(history)).toHaveLength(found));

  test("counts those out at once, and those out on average", () => {
    const history = [lease(0, 10), lease(5, 15), lease(15, 20)];
    expect([outMost(history), outMean(history, t0, t0 + 20)]).toEqual([2, 1.25]);
  });
});

describe.each([
  [1, 6, 150],
  [5, 6, 150],
  [50, 1, 80],
])("a limit of %i under three times the demand", (limit, runs, untilS) => {
  const happened = new Set<string>();
  test.each(Array.from({ length: runs }, (_, index) => index + 1))(
    "is kept while workers die, answers are lost, requests repeat and clocks differ, and all of it comes back (seed %i)",
    async (seed) => {
      const { noted, history } = await run({ ...inTrouble(limit, seed), untilS });
      expect(outMost(history)).toBeGreaterThanOrEqual(laneCap(limit, 0.9));
      for (const kind of noted.keys()) happened.add(kind);
    },
  );

  test("has seen leases lost and reclaimed", () =>
    expect([...happened]).toEqual(expect.arrayContaining(["lease-lost", "lease-reclaimed"])));
});

test.each([5, 50])("a limit of %i is in use for 95 % under three times the demand", async (limitMax) => {
  const scenario = {
    seed: 1,
    crews: crewsOf({ rt: limitMax, bg: limitMax, bulk: limitMax }),
    limitMax,
    fromS: 15,
    untilS: 45,
  };
  expect(utilisation(await run(scenario), scenario)).toBeGreaterThanOrEqual(0.95);
});

test("somebody who waits for an answer waits 100 ms at most for a lease beside a saturated bulk queue", async () => {
  const scenario = rtOverBulk(1);
  const findings = await run(scenario);
  expect(waitMsOf(findings, "rt", 99)).toBeLessThanOrEqual(100);
  expect(utilisation(findings, scenario)).toBeGreaterThan(0.95);
});

describe("requests to the table for each attempt", () => {
  const spans = { seed: 1, fromS: 15, untilS: 75 };
  test.each<[says: string, most: number, scenario: Scenario]>([
    ["2.1 at 0.8 × the limit", 2.1, { ...spans, limitMax: 50, crews: [{ lane: "rt", workers: 40 }] }],
    ["1.2 in batches of ten", 1.2, { ...spans, limitMax: 100, crews: [{ lane: "bulk", workers: 8, batch: 10 }] }],
    ["2.1 at the limit itself", 2.1, { ...spans, limitMax: 100, crews: [{ lane: "rt", workers: 100 }] }],
    ["5.5 at 1.2 × the limit", 5.5, { ...spans, limitMax: 50, crews: [{ lane: "rt", workers: 60 }] }],
    ["5.5 at 1.2 × what a lane may hold", 5.5, { ...spans, limitMax: 50, crews: [{ lane: "bulk", workers: 54 }] }],
  ])("are at most %s", async (_says, most, scenario) =>
    expect(requestsPerAttempt(await run(scenario))).toBeLessThanOrEqual(most),
  );
});

test("a limit of 40 settles at the 12 that a model really takes, and climbs to the 40 that it takes later", async () => {
  const scenario = learning(1);
  const findings = await run(scenario);
  const settled = findings.limits.filter(({ second }) => second >= 60 && second < 180).map(({ limit }) => limit);
  expect(Math.min(...settled)).toBeGreaterThanOrEqual(9);
  expect(Math.max(...settled)).toBeLessThanOrEqual(13);
  expect(throttledPart(findings, scenario, 60, 180)).toBeLessThan(0.05);
  expect(findings.limits.some(({ second, limit }) => second > 180 && second <= 300 && limit >= 36)).toBe(true);
});

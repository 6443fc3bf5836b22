import { describe, expect, test } from "vitest";
import { laneCap } from "../../lib/core/lease.ts";
import { breaches, outMost } from "./leases/history.ts";
import { requestsPerAttempt, throttledPart, utilisation, waitMsOf } from "./leases/measure.ts";
import { pages } from "./leases/protocol.ts";
import { crewsOf, inTrouble, learning, rtOverBulk, takesMoreFromS } from "./leases/scenarios.ts";
import { simulate } from "./leases/simulate.ts";
import type { Crew, Scenario } from "./leases/simulate.ts";

const timeoutMs = 120_000;
const seedsTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

const run = async (scenario: Scenario) => {
  const findings = await simulate(scenario, pages());
  expect(breaches(findings.history)).toEqual([]);
  expect(findings.left).toBe(0);
  return findings;
};

describe.each([
  [1, 30],
  [5, 20],
  [50, 4],
])("a limit of %i under three times the demand", (limit, runs) => {
  test.each(seedsTo(runs))(
    "is kept whatever goes wrong, and all of it comes back (seed %i)",
    async (seed) => {
      const { history } = await run({ ...inTrouble(limit, 100 + seed), untilS: 300 });
      expect(outMost(history)).toBeGreaterThanOrEqual(laneCap(limit, 0.9));
    },
    timeoutMs,
  );
});

/** Workers, the limit, and what they may cost: requests for each attempt. */
test.each<[workers: number, limitMax: number, most: number]>([
  [400, 500, 2.1],
  [800, 1_000, 2.1],
  [1_000, 1_000, 2.1],
  [600, 500, 5.5],
  [1_000, 100, Infinity],
])(
  "%i workers under a limit of %i ask no key for more than DynamoDB gives, and lose nothing of it",
  async (workers, limitMax, most) => {
    const scenario = { seed: 1, crews: crewsOf({ rt: workers }), limitMax, fromS: 15, untilS: 40 };
    const findings = await run(scenario);
    expect(findings.bill.unitsPerSMost).toBeLessThanOrEqual(1_000);
    expect(findings.bill.throttled).toBe(0);
    expect(utilisation(findings, scenario)).toBeGreaterThanOrEqual(0.95 * Math.min(1, workers / limitMax));
    expect(requestsPerAttempt(findings)).toBeLessThanOrEqual(most);
  },
  timeoutMs,
);

test(
  "batches of ten cost 1.2 requests for each attempt also over 16 pages",
  async () => {
    const crews: readonly Crew[] = [{ lane: "bulk", workers: 36, batch: 10 }];
    const findings = await run({ seed: 1, crews, limitMax: 500, fromS: 15, untilS: 60 });
    expect(requestsPerAttempt(findings)).toBeLessThanOrEqual(1.2);
  },
  timeoutMs,
);

test.each(seedsTo(4))(
  "somebody who waits for an answer waits 100 ms at most beside a saturated bulk queue (seed %i)",
  async (seed) => expect(waitMsOf(await run(rtOverBulk(10 + seed)), "rt", 99)).toBeLessThanOrEqual(100),
  timeoutMs,
);

describe.each<[says: string, crews: readonly Crew[]]>([
  ["rt alone", crewsOf({ rt: 72 })],
  ["rt and batches of bulk", [...crewsOf({ rt: 20 }), { lane: "bulk", workers: 13, batch: 10 }]],
])("a limit of 40 over a model that takes 12, then 40, under %s", (_says, crews) => {
  test.each(seedsTo(4))(
    "is learned both ways (seed %i)",
    async (seed) => {
      const scenario = learning(20 + seed, crews);
      const findings = await run(scenario);
      const settled = findings.limits.filter(({ second }) => second >= 60 && second < takesMoreFromS);
      const limits = settled.map(({ limit }) => limit);
      expect([Math.min(...limits) >= 9, Math.max(...limits) <= 13]).toEqual([true, true]);
      expect(throttledPart(findings, scenario, 60, takesMoreFromS)).toBeLessThan(0.05);
      expect(findings.limits.some(({ second, limit }) => second > takesMoreFromS && limit >= 36)).toBe(true);
    },
    timeoutMs,
  );
});

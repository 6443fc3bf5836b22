import { describe, expect, test } from "vitest";
import { fc } from "@fast-check/vitest";
import { laneMapping, leasesOf } from "../../infra/concurrency.ts";
import type { Mapping } from "../../infra/concurrency.ts";
import { checkConfig } from "../../lib/config.ts";
import type { ConfigInput } from "../../lib/config.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { lanes } from "../../lib/core/lane.ts";
import { laneLimits } from "../../lib/core/limits.ts";
import { config, target } from "./synth.ts";

const limited = (max: number, facts: Partial<ConfigInput> = {}) =>
  checkConfig(config({ models: { m: { targets: { here: target({ limit: { start: 1, max } }) } } }, ...facts }));

const grouped = (max: number) => target({ limit: { start: 1, max }, quotaGroup: "shared" });

const pair = (first: number, second: number, facts: Partial<ConfigInput> = {}) => {
  const models = { m: { targets: { a: grouped(first), b: grouped(second) } } };
  return checkConfig(config({ models, quotaGroups: { shared: { limitMax: 1_000 } }, ...facts }));
};

describe("the leases a lane may hold", () => {
  test("are its share of the target's maximum, rounded down", () =>
    expect(lanes.map((lane) => leasesOf(limited(50), lane))).toEqual([50, 47, 45]));
  test("are 29 of 100 for a share of 0.29, whatever floating point makes of it", () =>
    expect(leasesOf(limited(100, { lanes: { rt: { share: 0.29 } } }), "rt")).toBe(29));
  test("are one at least", () => expect(leasesOf(limited(1), "bulk")).toBe(1));
  test("add up over targets, each rounded for itself", () => expect(leasesOf(pair(15, 15), "bulk")).toBe(13 + 13));
  test("are no more than a quota group's", () =>
    expect(leasesOf(pair(40, 40, { quotaGroups: { shared: { limitMax: 50 } } }), "bg")).toBe(47));
  test("are no more than the global limit's", () =>
    expect(leasesOf(limited(50, { global: { limitMax: 10 } }), "bulk")).toBe(9));
  test("follow a share that the config gives", () =>
    expect(leasesOf(limited(50, { lanes: { rt: { share: 0.5 } } }), "rt")).toBe(25));
});

const rows: [says: string, max: number, lane: Lane, mapping: Mapping][] = [
  ["a lone job needs a fifth more workers than leases", 50, "rt", { batchSize: 1, concurrencyMax: 60 }],
  ["batches bring two and a half jobs a lease", 100, "bulk", { batchSize: 10, concurrencyMax: 22 }],
  [
    "a small limit shrinks the batch before it goes below AWS's minimum of two",
    5,
    "bulk",
    { batchSize: 5, concurrencyMax: 2 },
  ],
  ["down to lone jobs", 1, "bulk", { batchSize: 1, concurrencyMax: 2 }],
  ["a huge limit ends at AWS's maximum", 5_000, "rt", { batchSize: 1, concurrencyMax: 1_000 }],
];

describe("a lane's mapping", () => {
  test.each(rows)("%s", (_says, max, lane, mapping) => expect(laneMapping(limited(max), lane)).toEqual(mapping));

  test("never has more jobs in work than two and a half a lease, but for AWS's minimum of two", () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9_000 }), fc.constantFrom(...lanes), (max, lane) => {
        const { batchSize, concurrencyMax } = laneMapping(limited(max), lane);
        expect(batchSize).toBeGreaterThanOrEqual(1);
        expect(batchSize).toBeLessThanOrEqual(laneLimits[lane].batchSize);
        expect(concurrencyMax).toBeGreaterThanOrEqual(2);
        expect(concurrencyMax).toBeLessThanOrEqual(1_000);
        expect(batchSize * concurrencyMax).toBeLessThanOrEqual(Math.max(2, 2.5 * leasesOf(limited(max), lane)));
      }),
    ));
});

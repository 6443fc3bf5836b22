import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  headFields,
  holderStopsAtMs,
  isReclaimable,
  laneCap,
  leaseIdOf,
  onRefused,
  pageCap,
  pageCount,
} from "../../lib/core/lease.ts";
import type { OnRefused, Page } from "../../lib/core/lease.ts";
import { leasesPerPage } from "../../lib/core/limits.ts";
import { t0 } from "../a.ts";

const live = t0 + 10_000;
const lapsed = t0 - 3_001;

describe("the pages of a ledger", () => {
  test.each([
    [1, 1],
    [5, 1],
    [32, 1],
    [33, 2],
    [50, 2],
    [500, 16],
    [5_000, 157],
  ])("for a maximum of %i are %i", (limitMax, pages) => expect(pageCount(limitMax)).toBe(pages));

  test.each([
    [50, 2, [25, 25]],
    [45, 2, [23, 22]],
    [2, 3, [1, 1, 0]],
    [1, 1, [1]],
  ])("share a cap of %i among %i", (cap, pages, parts) =>
    expect(Array.from({ length: pages }, (_, page) => pageCap(cap, page, pages))).toEqual(parts),
  );

  test("hold the lane's cap exactly, each within its size", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (limitMax, share) => {
          const [pages, cap] = [pageCount(limitMax), laneCap(limitMax, share)];
          const parts = Array.from({ length: pages }, (_, page) => pageCap(cap, page, pages));
          expect(parts.reduce((sum, part) => sum + part, 0)).toBe(cap);
          expect(Math.max(...parts)).toBeLessThanOrEqual(leasesPerPage);
          // Those that hold none are the last ones: so many are open, and they are the first.
          expect(parts.filter((part) => part > 0)).toEqual(parts.slice(0, Math.min(cap, pages)));
        },
      ),
    );
  });
});

describe("a lane's cap", () => {
  test.each([
    [50, 1, 50],
    [50, 0.95, 47],
    [50, 0.9, 45],
    [20, 0.95, 19],
    [100, 0.29, 29],
    [1, 0.9, 1],
    [5, 0.01, 1],
  ])("of a limit of %i at a share of %f is %i", (limit, share, cap) => expect(laneCap(limit, share)).toBe(cap));
});

describe("a lease's end", () => {
  test("comes 2 s early for its holder", () => expect(holderStopsAtMs(t0)).toBe(t0 - 2_000));

  test.each([
    ["not at its expiry", t0, false],
    ["not 3 s after it", t0 - 3_000, false],
    ["but then", t0 - 3_001, true],
  ])("comes for others %s", (_says, expiresAtMs, over) => expect(isReclaimable(expiresAtMs, t0)).toBe(over));

  test("never comes for others first while clocks differ by 5 s at most", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -2_500, max: 2_500 }),
        fc.integer({ min: -2_500, max: 2_500 }),
        fc.nat(60_000),
        (holdersSkewMs, othersSkewMs, ageMs) => {
          const nowMs = t0 + ageMs;
          const holds = nowMs + holdersSkewMs < holderStopsAtMs(t0 + 30_000);
          const taken = isReclaimable(t0 + 30_000, nowMs + othersSkewMs);
          expect(holds && taken).toBe(false);
        },
      ),
    );
  });
});

describe("the verdict on the page that refused", () => {
  const rows: [says: string, page: Page | undefined, ids: string[], cap: number, verdict: OnRefused][] = [
    ["there is none: it is to be made", undefined, ["a"], 5, { kind: "missing" }],
    ["ours is on it: taken, until the row's own time", { a: 7, x: live }, ["a"], 1, { kind: "taken", ours: { a: 7 } }],
    ["some of ours are on it: those are taken", { b: live }, ["a", "b"], 1, { kind: "taken", ours: { b: live } }],
    ["ours counts before what expired", { a: live, x: lapsed }, ["a"], 1, { kind: "taken", ours: { a: live } }],
    ["full", { x: live, y: live }, ["a"], 2, { kind: "full" }],
    ["more on it than its cap after a cut", { x: live, y: live, z: live }, ["a"], 1, { kind: "full" }],
    ["room for fewer", { x: live }, ["a", "b", "c"], 3, { kind: "shrink", room: 2 }],
    ["room for all, by now", {}, ["a"], 3, { kind: "shrink", room: 1 }],
    ["one expired", { x: lapsed, y: live }, ["a"], 2, { kind: "reclaim", expired: { x: lapsed }, room: 1 }],
    ["more wanted than expired", { x: lapsed }, ["a", "b"], 1, { kind: "reclaim", expired: { x: lapsed }, room: 1 }],
    [
      "all that expired go together",
      { x: lapsed, y: lapsed - 1, z: live },
      ["a"],
      3,
      { kind: "reclaim", expired: { x: lapsed, y: lapsed - 1 }, room: 1 },
    ],
    ["expired, yet too many are left for the cap", { x: lapsed, y: live, z: live }, ["a"], 2, { kind: "full" }],
    ["within the grace nothing is expired", { x: t0 - 3_000 }, ["a"], 1, { kind: "full" }],
    ["a lease named like a property of all objects is nobody's", {}, ["toString"], 1, { kind: "shrink", room: 1 }],
  ];
  test.each(rows)("%s", (_says, page, ids, cap, verdict) => expect(onRefused(page, ids, cap, t0)).toEqual(verdict));
});

test("a head has its fields for good: rows that were written bear them", () =>
  expect(headFields).toEqual(["lim", "cutAtMs", "cutFrom", "raisedAtMs", "pausedUntilMs"]));

test("a lease's id begins with the last four letters of its container's name, and is as long and as new as any id", () => {
  expect(leaseIdOf("bg-worker-one1", "AAAABBBBCCCC")).toBe("one1BBBBCCCC");
  expect(leaseIdOf("w1", "AAAABBBBCCCC")).toBe("w1AABBBBCCCC");
  expect(leaseIdOf("", "AAAABBBBCCCC")).toBe("AAAABBBBCCCC");
});

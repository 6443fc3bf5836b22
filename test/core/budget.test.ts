import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { noUsage } from "../../lib/core/attempt.ts";
import type { Usage } from "../../lib/core/attempt.ts";
import {
  budgetedLanes,
  budgetName,
  budgetPause,
  budgetUsdOf,
  chargeNanoUsd,
  dayEndMs,
  dayOf,
  markOf,
  readSpent,
  spentTtlS,
  standingOfBudget,
} from "../../lib/core/budget.ts";
import type { Spent } from "../../lib/core/budget.ts";
import type { Json } from "../../lib/core/json.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { noOverrides } from "../../lib/core/override.ts";
import type { LaneOverride } from "../../lib/core/override.ts";

const at = (text: string) => Date.parse(text);
const noonMs = at("2026-11-29T12:00:00Z");
const [day, nextDay] = ["2026-11-29", "2026-11-30"];
const midnightMs = at("2026-11-30T00:00:00Z");

/** Budgets of 5 USD in bg and 50 in bulk, none in rt. */
const config = {
  lanes: { rt: { share: 1 }, bg: { share: 1, dailyBudgetUsd: 5 }, bulk: { share: 1, dailyBudgetUsd: 50 } },
};
const said = (lane: Lane, override: LaneOverride) => ({ lanes: new Map([[lane, override]]) });

describe("a day", () => {
  test.each<[says: string, now: string, day: string, end: string]>([
    ["begins at midnight UTC", "2026-11-29T00:00:00.000Z", day, "2026-11-30T00:00:00Z"],
    ["lasts to its last ms", "2026-11-29T23:59:59.999Z", day, "2026-11-30T00:00:00Z"],
    ["is the next one then", "2026-11-30T00:00:00.000Z", nextDay, "2026-12-01T00:00:00Z"],
    ["ends a year", "2026-12-31T12:00:00Z", "2026-12-31", "2027-01-01T00:00:00Z"],
    ["may be the 29th of February", "2028-02-29T01:00:00Z", "2028-02-29", "2028-03-01T00:00:00Z"],
  ])("%s", (_says, now, name, end) => {
    expect(dayOf(at(now))).toBe(name);
    expect(dayEndMs(at(now))).toBe(at(end));
  });

  test("ends as its name changes", () =>
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (nowMs) => {
        const endMs = dayEndMs(nowMs);
        expect(endMs).toBeGreaterThan(nowMs);
        expect(dayOf(endMs - 1)).toBe(dayOf(nowMs));
        expect(dayOf(endMs)).not.toBe(dayOf(nowMs));
      }),
    ));

  test("is kept for 35 days more, by a time in whole seconds", () =>
    expect(spentTtlS(noonMs)).toBe(at("2027-01-04T00:00:00Z") / 1_000));

  test("has a row for each lane", () => expect(budgetName({ lane: "bulk", day })).toBe("bulk#2026-11-29"));
});

describe("an attempt is charged", () => {
  const price = { inputPerMTok: 0.06, outputPerMTok: 0.24 };
  test.each<[says: string, usage: Partial<Usage>, price: object, nanoUsd: number]>([
    ["nothing for nothing", {}, {}, 0],
    ["60 nano-USD for a token of 0.06 USD a million", { inputTokens: 1 }, {}, 60],
    ["exactly, whatever floating point makes of it", { inputTokens: 1_001, outputTokens: 7 }, {}, 61_740],
    [
      "cached tokens at their own prices",
      { cacheReadTokens: 10, cacheWriteTokens: 10 },
      { cacheReadPerMTok: 0.01 },
      700,
    ],
    ["a part of a nano-USD as a whole one", { inputTokens: 1 }, { inputPerMTok: 0.0055 }, 6],
    ["tokens perhaps billed at the dearer price", { possiblyBilledTokens: 10 }, {}, 2_400],
    ["however many", { possiblyBilledTokens: 10_000_000 }, {}, 2_400_000_000],
    ["be that of the input", { possiblyBilledTokens: 10 }, { inputPerMTok: 1 }, 10_000],
    ["those beside the others", { inputTokens: 1, possiblyBilledTokens: 1 }, {}, 300],
    ["a million dollars to the last nano", { outputTokens: 4_166_666_666_666 }, {}, 999_999_999_999_840],
  ])("%s", (_says, usage, facts, nanoUsd) =>
    expect(chargeNanoUsd({ ...noUsage, ...usage }, { ...price, ...facts })).toBe(nanoUsd),
  );

  test("a whole number, never less than it cost", () =>
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(1_000_000), fc.nat(100_000), (inputTokens, outputTokens, milliPerMTok) => {
        const prices = { inputPerMTok: milliPerMTok / 1_000, outputPerMTok: (3 * milliPerMTok) / 1_000 };
        // A thousandth of a USD for a million tokens is a nano-USD a token.
        const exactly = (inputTokens + 3 * outputTokens) * milliPerMTok;
        expect(chargeNanoUsd({ ...noUsage, inputTokens, outputTokens }, prices)).toBe(exactly);
      }),
    ));
});

describe("a lane waits for midnight", () => {
  const spent = (usd: number, on = day): Spent => ({ day: on, nanoUsd: usd * 1e9 });
  const until = { untilMs: midnightMs };
  test.each<[says: string, lane: Lane, spent: Spent | undefined, override: LaneOverride, pause: object | undefined]>([
    ["not before anything was spent", "bulk", undefined, {}, undefined],
    ["not while anything is left", "bulk", { day, nanoUsd: 50e9 - 1 }, {}, undefined],
    ["when its budget is spent", "bulk", spent(50), {}, { ...until, spentUsd: 50, budgetUsd: 50 }],
    ["and when more is", "bulk", spent(51.5), {}, { ...until, spentUsd: 51.5, budgetUsd: 50 }],
    ["each by its own budget", "bg", spent(5), {}, { ...until, spentUsd: 5, budgetUsd: 5 }],
    ["not for what it spent yesterday", "bulk", spent(50, "2026-11-28"), {}, undefined],
    ["nor for what a faster clock has spent tomorrow", "bulk", spent(50, nextDay), {}, undefined],
    ["never without a budget", "rt", spent(1e6), {}, undefined],
    ["not when its operator gives more", "bulk", spent(50), { budgetUsd: 50.01 }, undefined],
    ["sooner when he gives less", "bulk", spent(10), { budgetUsd: 10 }, { ...until, spentUsd: 10, budgetUsd: 10 }],
    ["at once when he gives nothing", "bulk", undefined, { budgetUsd: 0 }, { ...until, spentUsd: 0, budgetUsd: 0 }],
    ["not by an operator's word for a lane without one", "rt", spent(1), { budgetUsd: 0 }, undefined],
    [
      "whatever else he says of the lane",
      "bulk",
      spent(50),
      { pausedUntilMs: 0 },
      { ...until, spentUsd: 50, budgetUsd: 50 },
    ],
  ])("%s", (_says, lane, known, override, pause) =>
    expect(budgetPause(lane, known, config, said(lane, override), noonMs)).toEqual(pause),
  );

  test("not for another lane's word", () =>
    expect(budgetPause("bulk", spent(20), config, said("bg", { budgetUsd: 1 }), noonMs)).toBeUndefined());

  test("until it comes", () => {
    const pauseAt = (nowMs: number) => budgetPause("bulk", spent(50), config, noOverrides, nowMs)?.untilMs;
    expect([midnightMs - 1, midnightMs].map(pauseAt)).toEqual([midnightMs, undefined]);
  });
});

test("the lanes with a budget are those that the config gives one", () =>
  expect(budgetedLanes(config)).toEqual(["bg", "bulk"]));

test("a lane's budget is its operator's, else the config's", () => {
  expect(budgetUsdOf("bulk", config, noOverrides)).toBe(50);
  expect(budgetUsdOf("bulk", config, said("bulk", { budgetUsd: 7 }))).toBe(7);
  expect(budgetUsdOf("rt", config, said("rt", { budgetUsd: 7 }))).toBeUndefined();
});

test.each<[nanoUsd: number, budgetUsd: number, told: [spentUsd: number, usedPercent: number]]>([
  [0, 50, [0, 0]],
  [40e9, 50, [40, 80]],
  [1, 50, [1e-9, 2e-9]],
  [60e9, 50, [60, 120]],
  [250_000_000, 0.5, [0.25, 50]],
  [0, 0, [0, 100]],
])("%d nano-USD of %d USD are told in USD and as a part", (nanoUsd, budgetUsd, [spentUsd, usedPercent]) =>
  expect(standingOfBudget(nanoUsd, budgetUsd)).toEqual({ spentUsd, budgetUsd, usedPercent }),
);

test.each<[says: string, value: Json, read: number | undefined]>([
  ["nothing spent", 0, 0],
  ["a sum", 12, 12],
  ["less than nothing", -1, undefined],
  ["a sum as text", "12", undefined],
  ["no number that there is", Number.NaN, undefined],
  ["without end", Infinity, undefined],
  ["nothing at all", null, undefined],
])("a row is read with %s", (_says, value, read) => expect(readSpent(value)).toBe(read));

describe("an addition is remembered", () => {
  const markedBy = (by: string, number: number) => markOf({ by, number, nanoUsd: 1 });
  test("in a slot of its container's, by a text that grows with its number", () => {
    expect(markedBy("AAAAAAAAAAAA", 7)).toEqual({
      slot: "by12",
      begins: "AAAAAAAAAAAA#",
      mark: "AAAAAAAAAAAA#000000007",
    });
    expect(markedBy("AAAAAAAAAAAB", 10)).toEqual({
      slot: "by13",
      begins: "AAAAAAAAAAAB#",
      mark: "AAAAAAAAAAAB#000000010",
    });
  });
});

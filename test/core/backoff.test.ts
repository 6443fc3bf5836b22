import { describe, expect, test } from "vitest";
import { backoffMs } from "../../lib/core/backoff.ts";
import type { Failure, FailureKind } from "../../lib/core/failure.ts";

const a = (kind: FailureKind, retryAfterMs?: number): Failure => ({
  kind,
  name: "X",
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const nearlyOne = 1 - Number.EPSILON;

describe("the pause after a failed attempt", () => {
  test.each<[says: string, failure: Failure, attempt: number, leastMs: number, mostMs: number]>([
    ["a blip: up to 1 s", a("transient"), 1, 0, 1_000],
    ["a second blip: up to 2 s", a("transient"), 2, 0, 2_000],
    ["a third blip: up to 4 s", a("transient"), 3, 0, 4_000],
    ["and 4 s from there on", a("transient"), 9, 0, 4_000],
    ["a hung target: the same", a("hung"), 2, 0, 2_000],
    ["a throttle: 15 s, half of them certain", a("throttled"), 1, 7_500, 15_000],
    ["a second throttle: 30 s", a("throttled"), 2, 15_000, 30_000],
    ["a third throttle: 60 s", a("throttled"), 3, 30_000, 60_000],
    ["and 60 s from there on", a("throttled"), 9, 30_000, 60_000],
    ["a model that loads: as a throttle", a("not-ready"), 1, 7_500, 15_000],
    ["a spent day: 15 min", a("daily"), 1, 900_000, 900_000],
    ["the server's answer wins when it is shorter", a("throttled", 200), 1, 200, 200],
    ["the server's answer wins when it is longer", a("transient", 90_000), 1, 90_000, 90_000],
    ["no pause, if the server says so", a("throttled", 0), 3, 0, 0],
    ["never above 15 min", a("daily", 1e9), 1, 900_000, 900_000],
    ["never below none", a("throttled", -1), 1, 0, 0],
  ])("%s", (_says, failure, attempt, leastMs, mostMs) => {
    expect(backoffMs(failure, attempt, 0)).toBe(leastMs);
    expect(backoffMs(failure, attempt, nearlyOne)).toBe(mostMs);
  });
});

import { expect, test } from "vitest";
import { addUsage, noUsage, spendsLife } from "../../lib/core/attempt.ts";
import type { Attempted } from "../../lib/core/attempt.ts";
import type { FailureKind } from "../../lib/core/failure.ts";

const tookMs = 5;
const failed = (kind: FailureKind): Attempted => ({
  kind: "failed",
  failure: { kind, name: "X" },
  usage: noUsage,
  tookMs,
});
const answered: Attempted = { kind: "answered", output: {}, usage: noUsage, tookMs };
const cut: Attempted = { kind: "cut", by: "bell", usage: noUsage, tookMs };

test.each<[says: string, attempted: Attempted, asProbe: boolean, spends: boolean]>([
  ["an answer is taken off the job's life", answered, false, true],
  ["so is a failure", failed("transient"), false, true],
  ["and what the bell cut, probe or not", cut, true, true],
  ["no throttle", failed("throttled"), false, false],
  ["no spent day", failed("daily"), false, false],
  ["no model that loads", failed("not-ready"), false, false],
  ["no probe that failed, for it was made for all", failed("transient"), true, false],
])("%s", (_says, attempted, asProbe, spends) => expect(spendsLife(attempted, asProbe)).toBe(spends));

test("tokens add up, each kind by itself, from none", () => {
  const used = {
    inputTokens: 1,
    outputTokens: 20,
    cacheReadTokens: 300,
    cacheWriteTokens: 4_000,
    possiblyBilledTokens: 50_000,
  };
  expect(addUsage(noUsage, used)).toEqual(used);
  expect(addUsage(used, used)).toEqual({
    inputTokens: 2,
    outputTokens: 40,
    cacheReadTokens: 600,
    cacheWriteTokens: 8_000,
    possiblyBilledTokens: 100_000,
  });
});

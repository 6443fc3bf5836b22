import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { noUsage } from "../../lib/core/attempt.ts";
import type { Attempted, Usage } from "../../lib/core/attempt.ts";
import type { FailureKind } from "../../lib/core/failure.ts";
import { exceededTokens } from "../../lib/core/rate.ts";
import { burndownOf, reservedTokens, unusedTokens } from "../../lib/core/reserve.ts";

describe("an output token", () => {
  test.each([
    ["us.anthropic.claude-sonnet-4-6", 5],
    ["global.anthropic.claude-opus-4-5-20251101-v1:0", 5],
    ["anthropic.claude-haiku-4-5-20251001-v1:0", 5],
    ["anthropic.claude-something-new", 5],
    ["anthropic.claude-4-something", 5],
    ["us.anthropic.claude-3-7-sonnet-20250219-v1:0", 1],
    ["anthropic.claude-3-haiku-20240307-v1:0", 1],
    ["anthropic.claude-v2:1", 1],
    ["anthropic.claude-instant-v1", 1],
    ["us.amazon.nova-lite-v1:0", 1],
    ["meta.llama3-3-70b-instruct-v1:0", 1],
  ])("of %s costs %i of the quota", (modelId, burndown) => expect(burndownOf(modelId)).toBe(burndown));

  test("costs what the config says", () => expect(burndownOf("us.anthropic.claude-sonnet-4-6", 3)).toBe(3));
});

describe("an attempt sets aside", () => {
  const rows: [says: string, maxTokens: number, burndown: number, tokens: number][] = [
    ["its input and the longest answer", 4_000, 1, 5_000],
    ["the longest answer × burndown", 4_000, 5, 21_000],
    ["a whole minute at most for an answer that may be dearer", 64_000, 5, 200_000],
    ["more than that, for ever too much, where Bedrock would refuse it at the beginning", 199_001, 5, 200_001],
  ];
  test.each(rows)("%s", (_says, maxTokens, burndown, tokens) =>
    expect(reservedTokens({ inputTokens: 1_000, maxTokens, burndown, tokensPerMinute: 200_000 })).toBe(tokens),
  );

  test("never so much that a clock refuses for ever what Bedrock would take", () => {
    const anyCount = fc.integer({ min: 1, max: 300_000 });
    fc.assert(
      fc.property(
        anyCount,
        anyCount,
        fc.constantFrom(1, 5),
        anyCount,
        (inputTokens, maxTokens, burndown, tokensPerMinute) => {
          const tokens = reservedTokens({ inputTokens, maxTokens, burndown, tokensPerMinute });
          const exceeds = exceededTokens({ tokens, quota: { tokensPerMinute } }) !== undefined;
          expect(exceeds).toBe(inputTokens + maxTokens > tokensPerMinute);
        },
      ),
    );
  });
});

const answered = (usage: Partial<Usage>): Attempted => ({
  kind: "answered",
  output: {},
  usage: { ...noUsage, ...usage },
  tookMs: 1,
});
const failed = (kind: FailureKind, usage: Partial<Usage> = {}): Extract<Attempted, { kind: "failed" }> => ({
  kind: "failed",
  failure: { kind, name: kind },
  usage: { ...noUsage, ...usage },
  tookMs: 1,
});

describe("of 10,000 tokens, an attempt at burndown 5 gives back", () => {
  const rows: [says: string, attempted: Attempted | undefined, tokens: number][] = [
    ["all that its answer did not use", answered({ inputTokens: 1_000, outputTokens: 100 }), 8_500],
    [
      "what was written into a cache is used",
      answered({ inputTokens: 1_000, cacheWriteTokens: 2_000, outputTokens: 100 }),
      6_500,
    ],
    [
      "what was read from a cache is not",
      answered({ inputTokens: 1_000, cacheReadTokens: 5_000, outputTokens: 100 }),
      8_500,
    ],
    ["nothing, and takes nothing, when the answer was dearer", answered({ inputTokens: 9_000, outputTokens: 900 }), 0],
    ["nothing when the answer tells no usage", answered({}), 0],
    ["all but a token when it tells of one", answered({ inputTokens: 1 }), 9_999],
    ["what is left when it tells of as many in as out", answered({ inputTokens: 100, outputTokens: 100 }), 9_400],
    ["all of it when no request was sent", undefined, 10_000],
    ["all of it when the target was full", failed("throttled"), 10_000],
    ["all of it when the day's quota was spent", failed("daily"), 10_000],
    ["all of it when the model was not ready", failed("not-ready"), 10_000],
    ["all of it when the target refused", failed("target"), 10_000],
    ["all of it when the prompt was too long", failed("context"), 10_000],
    ["all of it when the request was bad", failed("fatal"), 10_000],
    [
      "what was left when the window ran full in the midst",
      failed("context", { inputTokens: 4_000, outputTokens: 1_000 }),
      1_000,
    ],
    ["nothing when a model had begun and was stopped", failed("throttled", { possiblyBilledTokens: 1 }), 0],
    ["nothing when nobody knows how far it came", failed("transient"), 0],
    ["all of it when no connection came about", { ...failed("transient"), unsent: true }, 10_000],
    ["nothing when it hung", failed("hung"), 0],
    ["nothing when it was cut", { kind: "cut", by: "bell", usage: noUsage, tookMs: 1 }, 0],
  ];
  test.each(rows)("%s", (_says, attempted, tokens) => expect(unusedTokens(10_000, attempted, 5)).toBe(tokens));
});

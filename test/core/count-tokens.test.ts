import { describe, expect, test } from "vitest";
import { countable, countedAs, needOn, wantsCount } from "../../lib/core/count-tokens.ts";
import type { Need, Step } from "../../lib/core/plan.ts";
import { a } from "../a.ts";

const arn = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/a1";

describe("the model that counts for a target", () => {
  test.each<[says: string, target: Pick<Step, "modelId" | "baseModelId">, model: string | undefined]>([
    ["is its model", { modelId: "amazon.nova-lite-v1:0" }, "amazon.nova-lite-v1:0"],
    ["is what stands behind its profile", { modelId: "us.amazon.nova-lite-v1:0" }, "amazon.nova-lite-v1:0"],
    [
      "is what stands behind its ARN",
      { modelId: arn, baseModelId: "global.amazon.nova-lite-v1:0" },
      "amazon.nova-lite-v1:0",
    ],
    ["is nobody, where its ARN does not tell", { modelId: arn }, undefined],
  ])("%s", (_says, target, model) => expect(countedAs(target)).toBe(model));
});

describe("a prompt is counted", () => {
  test.each<[says: string, step: Partial<Step>, wanted: boolean]>([
    ["to be held against a window", { countTokens: true, contextWindow: 9 }, true],
    ["to be set aside of a minute's tokens", { countTokens: true, quota: { tokensPerMinute: 9 } }, true],
    ["not for a minute's requests", { countTokens: true, quota: { requestsPerMinute: 9 } }, false],
    ["not where the config does not say so", { contextWindow: 9, quota: { tokensPerMinute: 9 } }, false],
  ])("%s", (_says, step, wanted) => expect(wantsCount(a.step(step))).toBe(wanted));
});

describe("on a step, the need", () => {
  const need: Need = { op: "converse", features: [], inputTokens: 1_000 };
  const on = (counts: [string, number | undefined][]) => needOn(a.step(), need, new Map(counts));

  test("is what the step's model has counted, whatever was estimated", () =>
    expect(on([["amazon.nova-lite-v1:0", 7]])).toEqual({ ...need, inputTokens: 7, counted: true }));
  test("is the estimate, where another model has counted", () =>
    expect(on([["amazon.nova-pro-v1:0", 7]])).toEqual(need));
  test("is the estimate, where its model would not tell", () =>
    expect(on([["amazon.nova-lite-v1:0", undefined]])).toEqual(need));
});

describe("what can be counted", () => {
  const input = { messages: [], system: [], toolConfig: {}, additionalModelRequestFields: {} };

  test("of a Converse request is its input", () =>
    expect(
      countable("converse", { ...input, inferenceConfig: { maxTokens: 9 }, serviceTier: { type: "flex" } }),
    ).toEqual(input));
  test("of a model's own body is all of it", () =>
    expect(countable("invoke_model", { max_tokens: 9 })).toEqual({ max_tokens: 9 }));
});

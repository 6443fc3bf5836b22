import { describe, expect, test } from "vitest";
import { configHashOf } from "../lib/config-hash.ts";
import { checkConfig } from "../lib/config.ts";
import type { ConfigInput } from "../lib/config.ts";

const target = {
  modelId: "us.amazon.nova-lite-v1:0",
  region: "us-west-2",
  limit: { start: 1, max: 2 },
  maxTokens: 500,
};
const calm: ConfigInput = { models: { "fast-text": { targets: { here: target } } } };
const hashOf = (facts: Partial<ConfigInput> = {}) => configHashOf(checkConfig({ ...calm, ...facts }));

describe("the hash of a config is another with", () => {
  test.each<[says: string, facts: Partial<ConfigInput>]>([
    ["another target", { models: { "fast-text": { targets: { here: { ...target, maxTokens: 501 } } } } }],
    ["the limit of an operation", { operations: { summarize: { limitMax: 1 } } }],
    [
      "a quota group",
      {
        models: { "fast-text": { targets: { here: { ...target, quotaGroup: "g" } } } },
        quotaGroups: { g: { limitMax: 1 } },
      },
    ],
    ["a limit over everything", { global: { limitMax: 1 } }],
    ["a lane's share", { lanes: { bulk: { share: 0.5 } } }],
    ["how long replies are kept", { replies: { ttlDays: 30 } }],
    ["what goes to S3", { replies: { inlineBytesMax: 1_000 } }],
    ["a place where replies are announced", { replies: { allow: { eventBuses: ["default"] } } }],
    ["task tokens", { replies: { allow: { taskTokens: true } } }],
    ["a guardrail", { guardrails: ["arn:aws:bedrock:us-west-2:123456789012:guardrail/gr1a2b3c4d5e"] }],
    ["a bucket of params", { paramsRef: { buckets: ["in-box"] } }],
    ["payloads in the log", { logPayloads: true }],
  ])("%s", (_says, facts) => expect(hashOf(facts)).not.toBe(hashOf()));
});

describe("the hash of a config is the same", () => {
  test("whether a default is written or left out", () =>
    expect(hashOf({ logPayloads: false, replies: { ttlDays: 7 }, paramsRef: { buckets: [] } })).toBe(hashOf()));

  test("in whatever order its settings are written", () => {
    const { maxTokens, ...before } = target;
    const models = { "fast-text": { targets: { here: { maxTokens, ...before } } } };
    expect(configHashOf(checkConfig({ logPayloads: false, models }))).toBe(hashOf());
  });

  test("after its way through a file", () =>
    expect(configHashOf(checkConfig(JSON.parse(JSON.stringify(checkConfig(calm)))))).toBe(hashOf()));
});

import { Annotations, Match } from "aws-cdk-lib/assertions";
import { expect, test } from "vitest";
import { service } from "./synth.ts";

const target = { modelId: "amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: 1, max: 2 }, maxTokens: 10 };

test("a limit that cannot bind is told at synth, and one that can is not", () => {
  const limits = {
    operations: { o: { limitMax: 60 } },
    quotaGroups: { g: { limitMax: 59 } },
    global: { limitMax: 70 },
  };
  const models = { m: { targets: { t: { ...target, limit: { start: 1, max: 60 }, quotaGroup: "g" } } } };
  const told = Annotations.fromStack(service({ models, ...limits })).findInfo("*", Match.anyValue());
  expect(told.map(({ entry }) => entry.data)).toEqual([
    expect.stringContaining("no ledger is made for them: operations.o, global"),
  ]);
  expect(
    Annotations.fromStack(service({ models, quotaGroups: limits.quotaGroups })).findInfo("*", Match.anyValue()),
  ).toEqual([]);
});

test("a ceiling of tokens that no minute's quota admits is warned of at synth", () => {
  const warned = (tokensPerMinute: number) => {
    const models = { m: { targets: { t: { ...target, maxTokens: 1_000, tokensPerMinute } } } };
    return Annotations.fromStack(service({ models }))
      .findWarning("*", Match.anyValue())
      .map(({ entry }) => entry.data);
  };
  expect(warned(1_000)).toEqual([expect.stringContaining("models.m.targets.t.maxTokens")]);
  expect(warned(1_001)).toEqual([]);
});

test("a stop reason that Converse does not have is told at synth, and one that it has is not", () => {
  const models = { m: { targets: { t: target }, fallbackOn: ["content_filtered", "refusal"] } };
  const told = Annotations.fromStack(service({ models })).findInfo("*", Match.anyValue());
  expect(told.map(({ entry }) => entry.data)).toEqual([expect.stringMatching(/: models\.m\.fallbackOn\.1( |$)/)]);
});

import { Annotations, Match } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { checkConfig, ConfigError } from "../../lib/config.ts";
import { unenforced } from "../../infra/unenforced.ts";
import { service, template } from "./synth.ts";
import own from "../../infra/sluice.config.ts";

const target = { modelId: "amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: 1, max: 2 }, maxTokens: 10 };
const price = { inputPerMTok: 1, outputPerMTok: 1 };
const budgeted = { models: { m: { targets: { t: { ...target, price } } } }, lanes: { bulk: { dailyBudgetUsd: 5 } } };

describe("a setting that nothing would enforce is named", () => {
  test.each<[path: string, config: object]>([["lanes.bulk.dailyBudgetUsd", budgeted]])("%s", (path, config) =>
    expect(unenforced(checkConfig(config))).toEqual([path]),
  );

  test("and no limit, quota or destination is", () => {
    const quotas = { tokensPerMinute: 9, requestsPerMinute: 9, burndown: 5, quotaGroup: "g" };
    const models = { m: { targets: { t: { ...target, ...quotas } } } };
    const limits = { operations: { o: { limitMax: 1 } }, quotaGroups: { g: { limitMax: 1 } }, global: { limitMax: 1 } };
    const sqs = ["https://sqs.us-west-2.amazonaws.com/123456789012/done"];
    const sns = ["arn:aws:sns:us-west-2:123456789012:done"];
    const replies = { allow: { sqs, eventBuses: ["default"], sns, taskTokens: true } };
    expect(unenforced(checkConfig({ models, replies, ...limits }))).toEqual([]);
  });

  test("and stops the synth", () =>
    expect(() => template(budgeted)).toThrow("leave them out: lanes.bulk.dailyBudgetUsd"));

  test("as a fault of the config, told without a stack", () => expect(() => template(budgeted)).toThrow(ConfigError));

  test("the repository's own config has none", () => expect(unenforced(checkConfig(own))).toEqual([]));
});

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

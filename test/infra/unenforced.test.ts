import { describe, expect, test } from "vitest";
import { checkConfig, ConfigError } from "../../lib/config.ts";
import { unenforced } from "../../infra/unenforced.ts";
import { template } from "./synth.ts";
import own from "../../infra/sluice.config.ts";

const target = { modelId: "amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: 1, max: 2 }, maxTokens: 10 };
const price = { inputPerMTok: 1, outputPerMTok: 1 };

describe("a setting that nothing would enforce is named", () => {
  test.each<[path: string, config: object]>([
    ["models.m.targets.t.tokensPerMinute", { models: { m: { targets: { t: { ...target, tokensPerMinute: 9 } } } } }],
    [
      "models.m.targets.t.requestsPerMinute",
      { models: { m: { targets: { t: { ...target, requestsPerMinute: 9 } } } } },
    ],
    ["operations.o", { models: { m: { targets: { t: target } } }, operations: { o: { limitMax: 1 } } }],
    ["global", { models: { m: { targets: { t: target } } }, global: { limitMax: 1 } }],
    [
      "lanes.bulk.dailyBudgetUsd",
      { models: { m: { targets: { t: { ...target, price } } } }, lanes: { bulk: { dailyBudgetUsd: 5 } } },
    ],
    ["replies.allow", { models: { m: { targets: { t: target } } }, replies: { allow: { taskTokens: true } } }],
    ["replies.allow", { models: { m: { targets: { t: target } } }, replies: { allow: { eventBuses: ["default"] } } }],
  ])("%s", (path, config) => expect(unenforced(checkConfig(config))).toEqual([path]));

  test("a quota group, both where it is and where it is used", () => {
    const models = { m: { targets: { t: { ...target, quotaGroup: "g" } } } };
    expect(unenforced(checkConfig({ models, quotaGroups: { g: { limitMax: 1 } } }))).toEqual([
      "models.m.targets.t.quotaGroup",
      "quotaGroups.g",
    ]);
  });

  test("and stops the synth", () =>
    expect(() => template({ models: { m: { targets: { t: target } } }, global: { limitMax: 1 } })).toThrow(
      "leave them out: global",
    ));

  test("as a fault of the config, told without a stack", () =>
    expect(() => template({ models: { m: { targets: { t: target } } }, global: { limitMax: 1 } })).toThrow(
      ConfigError,
    ));

  test("the repository's own config has none", () => expect(unenforced(checkConfig(own))).toEqual([]));
});

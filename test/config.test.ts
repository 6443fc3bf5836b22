import { describe, expect, test } from "vitest";
import repositoryConfig from "../infra/sluice.config.ts";
import { StopReason } from "@aws-sdk/client-bedrock-runtime";
import { checkConfig, ConfigError } from "../lib/config.ts";
import { converseStopReasons } from "../lib/core/config.ts";

const place = {
  modelId: "us.amazon.nova-lite-v1:0",
  region: "us-west-2",
  limit: { start: 20, max: 60 },
  contextWindow: 300_000,
  maxTokens: 4_096,
};
const { contextWindow: _contextWindow, ...unwindowed } = place;
const fast = { targets: { "us-west-2": place } };
const smart = { targets: { "us-west-2": place, "us-east-1": place } };
const free = { inputPerMTok: 0, outputPerMTok: 0 };
const calm = { models: { "fast-text": fast, "smart-text": smart } };

/** The calm config with one target changed. */
const at = (facts: object) => ({ models: { "fast-text": { targets: { "us-west-2": { ...place, ...facts } } } } });
/** The calm config with these chains. */
const chained = (fastFallback: unknown, smartFallback: unknown = []) => ({
  models: { "fast-text": { ...fast, fallback: fastFallback }, "smart-text": { ...smart, fallback: smartFallback } },
});
const inTarget = "models.fast-text.targets.us-west-2";

function problems(input: unknown): readonly string[] {
  try {
    checkConfig(input);
    return [];
  } catch (error) {
    return String(error)
      .split("\n")
      .slice(1)
      .map((line) => line.trim());
  }
}

const profileArn = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/hq2of259skzs";
const awsArn = "arn:aws:bedrock:us-west-2::foundation-model/amazon.nova-lite-v1:0";
const noModelId =
  "must be the id of a model or an inference profile, like us.amazon.nova-lite-v1:0, or the ARN of an application inference profile, a provisioned, imported or deployed custom model";

const tokenProblem =
  "is known only at deploy, and the config is bundled before; give the resource a fixed name, and write its URL, ARN or name";

const refused: [says: string, input: unknown, problem: string][] = [
  ["a limit of zero", at({ limit: { start: 0, max: 60 } }), `${inTarget}.limit.start: must be at least 1; raise it`],
  ["a negative limit", at({ limit: { start: -1, max: 60 } }), `${inTarget}.limit.start: must be at least 1; raise it`],
  ["half a lease", at({ limit: { start: 1, max: 1.5 } }), `${inTarget}.limit.max: must be a whole number`],
  [
    "a start above the maximum",
    at({ limit: { start: 61, max: 60 } }),
    `${inTarget}.limit.start: must not be above max; lower start or raise max`,
  ],
  ["no maximum", at({ limit: { start: 1 } }), `${inTarget}.limit.max: is missing; give a number`],
  [
    "an answer longer than the window",
    at({ maxTokens: 300_001 }),
    `${inTarget}.maxTokens: must not be above contextWindow, input and output share it; lower it`,
  ],
  [
    "a count for a model that nobody names",
    at({ modelId: profileArn.replace("application-inference-profile", "imported-model"), countTokens: true }),
    `${inTarget}.countTokens: needs the model's id, which this ARN does not tell; give baseModelId, or remove countTokens`,
  ],
  [
    "a count that nothing is held against",
    { models: { m: { targets: { t: { ...unwindowed, countTokens: true } } } } },
    "models.m.targets.t.countTokens: has nothing to hold a count against; set contextWindow or tokensPerMinute, or remove it",
  ],
  [
    "a tier that costs nothing",
    at({ price: { inputPerMTok: 1, outputPerMTok: 1, tierFactors: { flex: 0 } } }),
    `${inTarget}.price.tierFactors.flex: must be above 0; raise it`,
  ],
  [
    "a negative price",
    at({ price: { inputPerMTok: -1, outputPerMTok: 0 } }),
    `${inTarget}.price.inputPerMTok: must be at least 0; raise it`,
  ],
  ["a region that is none", at({ region: "Oregon" }), `${inTarget}.region: must be a region's code, like us-west-2`],
  ...["eu-central1", "", "banana"].map((region): [string, unknown, string] => [
    `a destination called "${region}"`,
    at({ destinationRegions: [region] }),
    `${inTarget}.destinationRegions.0: must be a region's code, like us-west-2`,
  ]),
  [
    "a stop reason that is nearly one",
    { models: { "fast-text": { ...fast, fallbackOn: ["content_filtered", "guardrail_intervend"] } } },
    "models.fast-text.fallbackOn.1: is no stop reason; did you mean guardrail_intervened?",
  ],
  [
    "a stop reason that only a model's own answer could have, where none comes",
    { models: { m: { targets: { t: { ...place, ops: ["converse"] } }, fallbackOn: ["refusal"] } } },
    `models.m.fallbackOn.0: is no stop reason of Converse, and no target serves invoke_model; name one of ${converseStopReasons.join(", ")}`,
  ],
  ["an ARN for a model of AWS", at({ modelId: awsArn }), `${inTarget}.modelId: ${noModelId}`],
  [
    "an ARN of another service",
    at({ modelId: profileArn.replace("bedrock", "sqs") }),
    `${inTarget}.modelId: ${noModelId}`,
  ],
  [
    "an ARN in another region than the target's",
    at({ modelId: profileArn, baseModelId: place.modelId, region: "us-east-1" }),
    `${inTarget}.modelId: is an ARN in us-west-2; set region to that, or name one in us-east-1`,
  ],
  [
    "an application inference profile of nobody knows what",
    at({ modelId: profileArn }),
    `${inTarget}.baseModelId: is missing; give the id of the model or inference profile that the application's was made from`,
  ],
  [
    "an ARN behind an ARN",
    at({ modelId: profileArn, baseModelId: profileArn }),
    `${inTarget}.baseModelId: must be the id of a model or an inference profile, like us.amazon.nova-lite-v1:0; no ARN`,
  ],
  [
    "a base of what is a base itself",
    at({ baseModelId: place.modelId }),
    `${inTarget}.baseModelId: stands beside a modelId that is no ARN and tells the model itself; remove it`,
  ],
  [
    "an op that Bedrock has not",
    at({ ops: ["chat"] }),
    `${inTarget}.ops.0: must be one of converse, converse_stream, invoke_model`,
  ],
  ["no op at all", at({ ops: [] }), `${inTarget}.ops: must not be empty; leave it out instead`],
  ["a misspelt setting", at({ typicalMS: 1 }), `${inTarget}.typicalMS: is no setting; did you mean typicalMs?`],
  [
    "a quota group that nobody made",
    at({ quotaGroup: "nova" }),
    `${inTarget}.quotaGroup: names no quota group; add it to quotaGroups; known: none`,
  ],
  [
    "a quota group by the name of what every object has",
    at({ quotaGroup: "constructor" }),
    `${inTarget}.quotaGroup: names no quota group; add it to quotaGroups; known: none`,
  ],
  ["no model", { models: {} }, "models: needs at least one model"],
  [
    "a model without a target",
    { models: { "fast-text": { targets: {} } } },
    "models.fast-text.targets: needs a target; name at least one place that serves this model",
  ],
  [
    "a model's name with @",
    { models: { "fast@text": fast } },
    "models.fast@text: is no name; use 1-64 letters, digits, `_`, `.`, `-`, and begin with a letter or digit",
  ],
  [
    "a target's name with #",
    { models: { m: { targets: { "a#b": place } } } },
    "models.m.targets.a#b: is no name; use 1-64 letters, digits, `_`, `.`, `-`, and begin with a letter or digit",
  ],
  [
    "a fallback to an unknown model",
    chained(["clever-text"]),
    "models.fast-text.fallback.0: names no model of this config; known: fast-text, smart-text",
  ],
  [
    "a fallback to an unknown target",
    chained([{ step: "smart-text@mars" }]),
    "models.fast-text.fallback.0: names no target of smart-text; known: us-west-2, us-east-1",
  ],
  [
    "a fallback with two targets",
    chained(["smart-text@us-west-2@us-east-1"]),
    "models.fast-text.fallback.0: names no model of this config; known: fast-text, smart-text",
  ],
  [
    "a model that falls back to itself",
    chained(["fast-text@us-west-2"]),
    "models.fast-text.fallback.0: comes back: fast-text → fast-text; remove one of these fallbacks",
  ],
  [
    "a chain that comes back behind another, told at its own first model",
    {
      models: {
        first: { ...fast, fallback: ["second"] },
        second: { ...fast, fallback: ["third"] },
        third: { ...fast, fallback: ["second"] },
      },
    },
    "models.second.fallback.0: comes back: second → third → second; remove one of these fallbacks",
  ],
  [
    "a chain that comes back",
    chained(["smart-text"], [{ step: "fast-text" }]),
    "models.fast-text.fallback.0: comes back: fast-text → smart-text → fast-text; remove one of these fallbacks",
  ],
  [
    "a fallback that is neither name nor object",
    chained([1]),
    "models.fast-text.fallback.0: must be a step, `model` or `model@target`, or an object with `step`",
  ],
  [
    "a misspelt setting in a fallback",
    chained([{ step: "smart-text", maxToken: 1 }]),
    "models.fast-text.fallback.0.maxToken: is no setting; did you mean maxTokens?",
  ],
  [
    "a share above the whole",
    { ...calm, lanes: { bg: { share: 1.01 } } },
    "lanes.bg.share: must be at most 1; lower it",
  ],
  ["no share", { ...calm, lanes: { bulk: { share: 0 } } }, "lanes.bulk.share: must be above 0; raise it"],
  ["a fourth lane", { ...calm, lanes: { slow: {} } }, "lanes.slow: is no setting; correct its spelling or remove it"],
  [
    "a budget without prices",
    { ...at({}), lanes: { bulk: { dailyBudgetUsd: 50 } } },
    `${inTarget}.price: is missing; lanes.bulk.dailyBudgetUsd cannot be kept without it`,
  ],
  ...["rt", "bulk"].map((lane): [string, unknown, string] => [
    `a budget of ${lane} where nothing costs anything`,
    { ...at({ price: free }), lanes: { [lane]: { dailyBudgetUsd: 50 } } },
    `lanes.${lane}.dailyBudgetUsd: can never be spent, for every price is 0; give the targets their prices, or remove it`,
  ]),
  ...[
    "gr1a2b3c4d5e",
    "arn:aws:bedrock:us-west-2:123456789012:guardrail/*",
    "arn:aws:bedrock:us-west-2:123456789012:guardrail/gr1a2b3c4d5e:1",
    "arn:aws:bedrock:us-west-2::guardrail/gr1a2b3c4d5e",
  ].map((guardrail): [string, unknown, string] => [
    `a guardrail as ${guardrail}`,
    { ...calm, guardrails: [guardrail] },
    "guardrails.0: must be the ARN of a guardrail, like arn:aws:bedrock:us-west-2:123456789012:guardrail/gr1a2b3c4d5e, without a version, or of a guardrail profile",
  ]),
  [
    "a bucket by its URL",
    { ...calm, paramsRef: { buckets: ["s3://in-box"] } },
    "paramsRef.buckets.0: must be a bucket's bare name, like my-prompts",
  ],
  ...[
    "alias/their-params",
    "arn:aws:kms:us-west-2:123456789012:alias/their-params",
    "arn:aws:kms:us-west-2:123456789012:key/*",
  ].map((key): [string, unknown, string] => [
    `a bucket's key as ${key}`,
    { ...calm, paramsRef: { buckets: ["in-box"], keys: [key] } },
    "paramsRef.keys.0: must be the ARN of a key, like arn:aws:kms:us-west-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab; no alias",
  ]),
  [
    "replies that go before their jobs' last copies",
    { ...calm, replies: { ttlDays: 1 } },
    "replies.ttlDays: must be at least 2; raise it",
  ],
  [
    "keys of no bucket",
    {
      ...calm,
      paramsRef: { buckets: [], keys: ["arn:aws:kms:us-west-2:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab"] },
    },
    "paramsRef.keys: are of no bucket; name in buckets those that they encrypt, or leave them out",
  ],
  ...["arn:aws:sqs:us-west-2:123456789012:done", "https://sqs.us-west-2.amazonaws.com/123456789012/done.fifo"].map(
    (url): [string, unknown, string] => [
      `a queue for announcements as ${url}`,
      { ...calm, replies: { allow: { sqs: [url] } } },
      "replies.allow.sqs.0: must be the URL of a standard queue, like https://sqs.us-west-2.amazonaws.com/123456789012/replies",
    ],
  ),
  ...["", "a bus", "arn:aws:events:us-west-2:123456789012:rule/done"].map((bus): [string, unknown, string] => [
    `an event bus as "${bus}"`,
    { ...calm, replies: { allow: { eventBuses: [bus] } } },
    "replies.allow.eventBuses.0: must be the name of an event bus, or its ARN, like default",
  ]),
  ...["done", "arn:aws:sns:us-west-2:123456789012:done.fifo", "arn:aws:sqs:us-west-2:123456789012:done"].map(
    (topic): [string, unknown, string] => [
      `a topic as ${topic}`,
      { ...calm, replies: { allow: { sns: [topic] } } },
      "replies.allow.sns.0: must be the ARN of a standard topic, like arn:aws:sns:us-west-2:123456789012:replies",
    ],
  ),
  [
    "an inline output that no row takes",
    { ...calm, replies: { inlineBytesMax: 400_000 } },
    "replies.inlineBytesMax: must be at most 262144; lower it",
  ],
  ["a global limit of zero", { ...calm, global: { limitMax: 0 } }, "global.limitMax: must be at least 1; raise it"],
  [
    "an operation's limit of zero",
    { ...calm, operations: { summarise: { limitMax: 0 } } },
    "operations.summarise.limitMax: must be at least 1; raise it",
  ],
  ["nothing", undefined, "config: is missing; give an object"],
  ...["${Token[TOKEN.12]}", "https://${Token[AWS.URLSuffix.3]}/${Token[TOKEN.4]}", "#{Token[TOKEN.5]}"].map(
    (url): [string, unknown, string] => [
      `a queue as the app will know it once it is deployed, ${url}`,
      { ...calm, replies: { allow: { sqs: [url] } } },
      `replies.allow.sqs.0: ${tokenProblem}`,
    ],
  ),
  [
    "the name of a bucket that CloudFormation will choose",
    { ...calm, paramsRef: { buckets: ["${Token[TOKEN.7]}"] } },
    `paramsRef.buckets.0: ${tokenProblem}`,
  ],
  [
    "the stack's own region, where it is in none",
    at({ region: "${Token[AWS.Region.9]}" }),
    `${inTarget}.region: ${tokenProblem}`,
  ],
  [
    "a name that is known only at deploy",
    { ...calm, operations: { "${Token[TOKEN.7]}": { limitMax: 1 } } },
    `operations.\${Token[TOKEN.7]}: ${tokenProblem}`,
  ],
];

describe("a config is refused, by path and with the remedy, for", () => {
  test.each(refused)("%s", (_says, input, problem) => expect(problems(input)).toEqual([problem]));

  test("a construct in a text's place, though it leads back to itself", () => {
    class Queue {
      readonly node = this;
    }
    expect(problems({ ...calm, replies: { allow: { sqs: [new Queue()] } } })).toEqual([
      "replies.allow.sqs.0: must be a string",
    ]);
  });

  test("what is known only at deploy, beside what is wrong without it", () =>
    expect(problems({ ...at({ maxTokens: 0 }), replies: { allow: { sns: ["${Token[TOKEN.12]}"] } } })).toEqual([
      `replies.allow.sns.0: ${tokenProblem}`,
      `${inTarget}.maxTokens: must be at least 1; raise it`,
    ]));

  test("every fault at once", () =>
    expect(problems({ ...at({ maxTokens: 0, quotaGroup: 7 }), lanes: { rt: { share: 2 } } })).toHaveLength(3));
});

/** A config with every setting there is. */
const whole = {
  models: {
    "fast-text": {
      targets: {
        "us-west-2": {
          ...place,
          modelId: profileArn,
          baseModelId: place.modelId,
          destinationRegions: ["us-west-2"],
          tokensPerMinute: 400_000,
          requestsPerMinute: 400,
          burndown: 5,
          countTokens: true,
          typicalMs: 3_000,
          quotaGroup: "nova",
          price: {
            inputPerMTok: 1,
            outputPerMTok: 2,
            cacheReadPerMTok: 1,
            cacheWritePerMTok: 1,
            tierFactors: { priority: 2, flex: 0.5 },
          },
          ops: ["converse"],
          lacks: ["tools"],
        },
      },
      fallback: [{ step: "smart-text", maxTokens: 100, serviceTier: "flex", requireHeadroom: true }],
      fallbackOn: ["content_filtered"],
    },
    "smart-text": smart,
  },
  operations: { summarise: { limitMax: 10 } },
  quotaGroups: { nova: { limitMax: 80 } },
  global: { limitMax: 200 },
  lanes: { bulk: { share: 0.5, serviceTier: "flex" } },
  replies: {
    ttlDays: 7,
    inlineBytesMax: 1_000,
    allow: {
      sqs: ["https://sqs.us-west-2.amazonaws.com/123456789012/done"],
      eventBuses: ["default"],
      sns: ["arn:aws:sns:us-west-2:123456789012:done"],
      taskTokens: true,
    },
  },
  guardrails: ["arn:aws:bedrock:us-west-2:123456789012:guardrail/gr1a2b3c4d5e"],
  paramsRef: {
    buckets: ["prompts"],
    keys: ["arn:aws:kms:us-west-2:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab"],
  },
  logPayloads: false,
};

/** The value with another in the place of each of its parts, one at a time, and of itself. */
function* mutilated(value: unknown, by: unknown): Generator {
  yield by;
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value))
    for (const other of mutilated(inner, by))
      yield Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other };
}

describe("a config with nonsense anywhere in it is told of in words of our own:", () => {
  test("the whole is one that may be", () => expect(problems(whole)).toEqual([]));

  test.each<[says: string, nonsense: unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["no text", ""],
    ["a text", "nonsense"],
    ["less than nothing", -1],
    ["nothing at all", 0],
    ["a part", 1.5],
    ["more than there is", 1e300],
    ["no number", Number.NaN],
    ["no end", Number.POSITIVE_INFINITY],
    ["a bigint", 7n],
    ["a switch", false],
    ["an empty list", []],
    ["a list", ["", 7]],
    ["an empty object", {}],
    ["an object", { "no name": 1, __proto__: null }],
    ["a function", () => 7],
    ["a date", new Date(0)],
  ])("%s", (_says, nonsense) => {
    const told = [...mutilated(whole, nonsense)].flatMap((input) => problems(input));
    expect(told.length).toBeGreaterThan(20);
    expect(
      told.filter((line) => !/^\S.*?: [a-z]/.test(line) || /expected|received|nvalid|undefined/.test(line)),
    ).toEqual([]);
  });
});

const accepted: [says: string, input: unknown][] = [
  ["an answer as long as the window", at({ maxTokens: 300_000 })],
  [
    "whoever waits for replies, wherever he does",
    {
      ...calm,
      replies: {
        allow: {
          sqs: ["https://sqs.us-west-2.amazonaws.com/123456789012/done"],
          eventBuses: ["default", "arn:aws:events:eu-west-1:123456789012:event-bus/team/done"],
          sns: ["arn:aws-cn:sns:cn-north-1:123456789012:done"],
          taskTokens: true,
        },
      },
    },
  ],
  ["a target of a quota group", { ...at({ quotaGroup: "nova" }), quotaGroups: { nova: { limitMax: 9 } } }],
  [
    "a count to hold against the minute's tokens alone",
    { models: { m: { targets: { t: { ...unwindowed, countTokens: true, tokensPerMinute: 9_000 } } } } },
  ],
  ["a count to hold against the window", at({ countTokens: true })],
  ["a count behind an ARN, by its base", at({ modelId: profileArn, baseModelId: place.modelId, countTokens: true })],
  ["a limit that starts at its maximum", at({ limit: { start: 60, max: 60 } })],
  ["an application inference profile, with its base", at({ modelId: profileArn, baseModelId: place.modelId })],
  ...["provisioned-model", "imported-model", "custom-model-deployment"].map((what): [string, unknown] => [
    `a ${what} by its ARN`,
    at({ modelId: profileArn.replace("application-inference-profile", what) }),
  ]),
  [
    "an ARN of another partition",
    at({ modelId: "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:imported-model/a1", region: "us-gov-west-1" }),
  ],
  [
    "a guardrail, and the profile by which it is asked in other regions",
    {
      ...calm,
      guardrails: [
        "arn:aws:bedrock:us-west-2:123456789012:guardrail/gr1a2b3c4d5e",
        "arn:aws:bedrock:us-east-1:123456789012:guardrail-profile/us.guardrail.v1:0",
        "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:guardrail-profile/us-gov.guardrail.v1:0",
      ],
    },
  ],
  ["the whole as a share", { ...calm, lanes: { bulk: { share: 1 } } }],
  ["two ways to one model", chained(["smart-text@us-east-1", { step: "smart-text", maxTokens: 100 }])],
  [
    "a stop reason of a model's own, where an answer may have it",
    { models: { m: { targets: { t: place, u: { ...place, ops: ["converse"] } }, fallbackOn: ["refusal"] } } },
  ],
  ["every stop reason of Converse", { models: { "fast-text": { ...fast, fallbackOn: converseStopReasons } } }],
  ...["inputPerMTok", "outputPerMTok", "cacheReadPerMTok", "cacheWritePerMTok"].map((what): [string, unknown] => [
    `a budget where ${what} alone is a price`,
    { ...at({ price: { ...free, [what]: 1 } }), lanes: { rt: { dailyBudgetUsd: 1 } } },
  ]),
  [
    "a budget where one target costs something, and another nothing",
    {
      models: {
        m: { targets: { t: { ...place, price: free }, u: { ...place, price: { ...free, inputPerMTok: 1 } } } },
      },
      lanes: { rt: { dailyBudgetUsd: 1 } },
    },
  ],
  [
    "a budget where every target has its price",
    { ...at({ price: { inputPerMTok: 0, outputPerMTok: 1 } }), lanes: { rt: { dailyBudgetUsd: 1 } } },
  ],
];

test("a misspelt name is told beside whatever else is wrong, wherever it stands", () => {
  const misspelt = {
    ...at({ typicalMS: 1, quotaGroup: "nova" }),
    lane: {},
    lanes: { bulk: { dailyBudget: 5 } },
    replies: { allow: { sqs: [], queue: () => undefined } },
  };
  expect(() => checkConfig(misspelt)).toThrow(
    new ConfigError(
      [
        "The config cannot be used:",
        `  ${inTarget}.typicalMS: is no setting; did you mean typicalMs?`,
        "  lanes.bulk.dailyBudget: is no setting; correct its spelling or remove it",
        "  replies.allow.queue: is no setting; correct its spelling or remove it",
        "  lane: is no setting; did you mean lanes?",
        `  ${inTarget}.quotaGroup: names no quota group; add it to quotaGroups; known: none`,
      ].join("\n"),
    ),
  );
});

test("the stop reasons are those that the SDK knows", () =>
  expect(converseStopReasons.toSorted()).toEqual(Object.values(StopReason).toSorted()));

describe("a config may have", () => {
  test.each(accepted)("%s", (_says, input) => expect(problems(input)).toEqual([]));
});

describe("a checked config", () => {
  test("has every default", () =>
    expect(checkConfig(calm)).toEqual({
      ...calm,
      operations: {},
      quotaGroups: {},
      lanes: { rt: { share: 1 }, bg: { share: 0.95 }, bulk: { share: 0.9 } },
      replies: {
        ttlDays: 7,
        inlineBytesMax: 32_768,
        allow: { sqs: [], eventBuses: [], sns: [], taskTokens: false },
      },
      paramsRef: { buckets: [] },
      logPayloads: false,
    }));

  test("keeps the order of the targets, which is the order of the plan", () => {
    const targets = { west: place, east: place, alpha: place };
    expect(Object.keys(checkConfig({ models: { m: { targets } } }).models["m"]?.targets ?? {})).toEqual([
      "west",
      "east",
      "alpha",
    ]);
  });

  test("survives its way through the bundle: checked again it is the same", () => {
    const once = checkConfig(repositoryConfig);
    expect(checkConfig(JSON.parse(JSON.stringify(once)))).toEqual(once);
  });

  test("cannot be changed, at any depth", () => {
    const { models } = checkConfig(calm);
    expect(() => Object.assign(models["fast-text"]?.targets["us-west-2"]?.limit ?? {}, { max: 1 })).toThrow(TypeError);
  });

  test("leaves what it was given as it was", () => {
    const given = structuredClone(calm);
    checkConfig(given);
    given.models["fast-text"].targets["us-west-2"].limit.max = 61;
    expect(given.models["fast-text"].targets["us-west-2"].limit.max).toBe(61);
  });
});

describe("the repository's own config", () => {
  test("has a fast model that falls back to a smart one, in both regions", () => {
    const { models } = checkConfig(repositoryConfig);
    expect(
      Object.entries(models).map(([name, { targets, fallback }]) => [name, Object.keys(targets), fallback]),
    ).toEqual([
      ["fast-text", ["us-west-2", "us-east-1"], ["smart-text"]],
      ["smart-text", ["us-west-2", "us-east-1"], undefined],
    ]);
  });
});

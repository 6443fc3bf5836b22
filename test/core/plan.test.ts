import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Config, FallbackConfig, TargetConfig } from "../../lib/core/config.ts";
import type { Job } from "../../lib/core/job.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { featuresOf, needOf, paramsFor, plan, skipReason } from "../../lib/core/plan.ts";
import type { Need, Step, StepFacts } from "../../lib/core/plan.ts";
import { a, t0 } from "../a.ts";

const planned = (facts: Partial<Job>, config: Config = a.config()) => plan(a.job(facts), config);

/** The chain as it is tried, or `? name`. */
function chain(facts: Partial<Job>, config?: Config): string {
  const it = planned(facts, config);
  return it.kind === "plan" ? it.steps.map(({ name }) => name).join(" ") : `? ${it.name}`;
}

function firstStep(facts: Partial<Job>, config?: Config): Step | undefined {
  const it = planned(facts, config);
  return it.kind === "plan" ? it.steps[0] : undefined;
}

/** The config with another chain behind `fast-text`. */
function chained(...fallback: FallbackConfig[]): Config {
  const { models } = a.config();
  const fast = models["fast-text"] ?? { targets: {} };
  return a.config({ models: { ...models, "fast-text": { ...fast, fallback } } });
}

const fast = "fast-text@us-west-2 fast-text@us-east-1";
const smart = "smart-text@us-west-2 smart-text@us-east-1";

describe("a job is planned", () => {
  test.each<[says: string, facts: Partial<Job>, steps: string, config?: Config]>([
    ["on its model's targets in the config's order, then on the model's chain", {}, `${fast} smart-text@us-west-2`],
    ["on a model without a chain", { model: "smart-text" }, smart],
    ["on all targets of a fallback that names none", {}, `${fast} ${smart}`, chained("smart-text")],
    [
      "on a pinned target first, then on the rest",
      { model: "fast-text@us-east-1" },
      "fast-text@us-east-1 fast-text@us-west-2 smart-text@us-west-2",
    ],
    ["on no step twice", {}, `${fast} ${smart}`, chained("smart-text@us-west-2", "fast-text@us-east-1", "smart-text")],
    ["without fallback on its model's own targets only", { fallback: "none" }, fast],
    [
      "without fallback and pinned on that target only",
      { model: "fast-text@us-east-1", fallback: "none" },
      "fast-text@us-east-1",
    ],
    [
      "on a list of its own after the model's own targets",
      { fallback: ["smart-text@us-east-1"] },
      `${fast} smart-text@us-east-1`,
    ],
    [
      "on that list in its order",
      { fallback: ["smart-text@us-east-1", "smart-text"] },
      `${fast} smart-text@us-east-1 smart-text@us-west-2`,
    ],
    [
      "on that list after the pin alone",
      { model: "fast-text@us-east-1", fallback: ["smart-text@us-east-1"] },
      "fast-text@us-east-1 smart-text@us-east-1",
    ],
    ["on an empty list as on none", { fallback: [] }, fast],
    ["not at all on a model that the config does not have", { model: "slow-text" }, "? slow-text"],
    ["nor on such a target", { model: "fast-text@eu-west-1" }, "? fast-text@eu-west-1"],
    ["nor on such a target of no name", { model: "fast-text@" }, "? fast-text@"],
    ["nor on one with too many names", { model: "fast-text@us-west-2@x" }, "? fast-text@us-west-2@x"],
    ["nor with such a model in its list", { fallback: ["smart-text", "slow-text"] }, "? slow-text"],
    ["nor with such a target in its list", { fallback: ["smart-text@moon"] }, "? smart-text@moon"],
    ["nor on a model without targets", {}, "? fast-text", a.config({ models: { "fast-text": { targets: {} } } })],
    ["nor on what every object has", { model: "constructor" }, "? constructor"],
    ["nor on its prototype", { model: "__proto__" }, "? __proto__"],
    ["nor on a target by such a name", { model: "fast-text@toString" }, "? fast-text@toString"],
    ["nor with one in its list", { fallback: ["hasOwnProperty"] }, "? hasOwnProperty"],
  ])("%s", (_says, facts, steps, config) => expect(chain(facts, config)).toBe(steps));

  test("on steps that carry all that an attempt needs to know", () => {
    const models: Config["models"] = {
      "fast-text": {
        targets: {
          "us-west-2": {
            modelId: "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/a1",
            baseModelId: "us.amazon.nova-lite-v1:0",
            region: "us-west-2",
            limit: { start: 20, max: 60 },
            maxTokens: 4_096,
            contextWindow: 300_000,
            typicalMs: 3_000,
            countTokens: true,
            price: { inputPerMTok: 0.06, outputPerMTok: 0.24 },
            ops: ["converse"],
            lacks: ["documents"],
          },
        },
        fallbackOn: ["content_filtered"],
      },
    };
    expect(planned({}, a.config({ models }))).toEqual({
      kind: "plan",
      steps: [
        {
          name: "fast-text@us-west-2",
          model: "fast-text",
          target: "us-west-2",
          modelId: "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/a1",
          baseModelId: "us.amazon.nova-lite-v1:0",
          region: "us-west-2",
          limit: { start: 20, max: 60 },
          maxTokens: 4_096,
          contextWindow: 300_000,
          typicalMs: 3_000,
          countTokens: true,
          price: { inputPerMTok: 0.06, outputPerMTok: 0.24 },
          ops: ["converse"],
          lacks: ["documents"],
          fallbackOn: ["content_filtered"],
          requireHeadroom: false,
        },
      ],
    });
  });

  test("on any operation and feature, where the config says nothing of them", () =>
    expect(firstStep({})).toStrictEqual(a.step()));

  test("with its overrides of the first time it is named", () =>
    expect(
      planned({}, chained({ step: "smart-text@us-west-2", maxTokens: 10 }, { step: "smart-text", maxTokens: 20 })),
    ).toMatchObject({
      steps: [{}, {}, { target: "us-west-2", maxTokens: 10 }, { target: "us-east-1", maxTokens: 20 }],
    }));

  test.each([{ tokensPerMinute: 9_000 }, { requestsPerMinute: 60 }])(
    "with no quota but the configured one: %o",
    (quota) => {
      const { models } = a.config();
      const fastText = models["fast-text"]?.targets["us-west-2"];
      const targets = { "us-west-2": { ...fastText, ...quota } as TargetConfig };
      expect(firstStep({}, a.config({ models: { ...models, "fast-text": { targets } } }))?.quota).toStrictEqual(quota);
    },
  );

  test("with the overrides of the very step where the chain names its model too", () => {
    const config = chained({ step: "smart-text", maxTokens: 20 }, { step: "smart-text@us-east-1", maxTokens: 10 });
    expect(last({ fallback: ["smart-text@us-east-1"] }, "", config)?.maxTokens).toBe(10);
    expect(last({ fallback: ["smart-text@us-west-2"] }, "", config)?.maxTokens).toBe(20);
  });

  test("whatever a message names, without a crash and without a step twice", () =>
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom("fast-text", "smart-text@us-west-2", "__proto__")),
        fc.oneof(
          fc.constantFrom("none" as const, "default" as const),
          fc.array(
            fc.oneof(fc.string(), fc.constantFrom("fast-text", "smart-text", "smart-text@us-east-1", "valueOf")),
          ),
        ),
        (model, fallback) => {
          const it = planned({ model, fallback });
          const names = it.kind === "plan" ? it.steps.map(({ name }) => name) : [it.name];
          expect(new Set(names).size).toBe(names.length);
        },
      ),
    ));
});

const last = (facts: Partial<Job>, entry: FallbackConfig, config = chained(entry)) => {
  const it = planned(facts, config);
  return it.kind === "plan" ? it.steps.at(-1) : undefined;
};

describe("a step is overridden", () => {
  test("by the smaller ceiling of target and step", () => {
    expect(last({}, { step: "smart-text@us-west-2", maxTokens: 1_000 })?.maxTokens).toBe(1_000);
    expect(last({}, { step: "smart-text@us-west-2", maxTokens: 9_000 })?.maxTokens).toBe(4_096);
  });

  test("by its demand for headroom", () => {
    expect(last({}, { step: "smart-text@us-west-2", requireHeadroom: true })?.requireHeadroom).toBe(true);
    expect(last({}, "smart-text@us-west-2")?.requireHeadroom).toBe(false);
  });

  test("by the service tier of its lane, or by its own", () => {
    const lanes: Config["lanes"] = {
      rt: { share: 1, serviceTier: "priority" },
      bg: { share: 1 },
      bulk: { share: 0.9, serviceTier: "flex" },
    };
    const config = { ...chained({ step: "smart-text@us-west-2", serviceTier: "default" }), lanes };
    expect(firstStep({ lane: "rt" }, config)?.serviceTier).toBe("priority");
    expect(firstStep({ lane: "bulk" }, config)?.serviceTier).toBe("flex");
    expect(firstStep({ lane: "bg" }, config)).not.toHaveProperty("serviceTier");
    expect(last({ lane: "bulk" }, "", config)?.serviceTier).toBe("default");
  });

  test("as its chain says, also where a job lists it", () => {
    const entry = { step: "smart-text", maxTokens: 1_000 };
    expect(last({ fallback: ["smart-text"] }, entry)?.maxTokens).toBe(1_000);
    expect(last({ fallback: ["smart-text@us-east-1"] }, entry)?.maxTokens).toBe(1_000);
    expect(last({ fallback: ["smart-text"] }, { ...entry, step: "smart-text@us-west-2" })?.maxTokens).toBe(4_096);
  });
});

describe("a step is skipped", () => {
  const need: Need = { op: "converse", features: [], inputTokens: 1_000 };
  const calm: StepFacts = { need, nowMs: t0, deadlineLeftMs: 60_000, stepsAfter: [], walk: 1 };
  const larger = a.step({ name: "smart-text@us-west-2", contextWindow: 1_000_000 });
  const windowed = { contextWindow: 5_095 };
  const estimated = { kind: "prompt-too-long", estimated: true };
  const refused = { kind: "prompt-too-long", estimated: false };

  test.each<[says: string, step: Partial<Step>, facts: Partial<StepFacts>, reason: object | undefined]>([
    ["not, when nothing speaks against it", {}, {}, undefined],
    [
      "while its lane's money is spent, which no step mends",
      {},
      { budgetUntilMs: t0 + 1, takenOut: true },
      { kind: "budget-spent", untilMs: t0 + 1 },
    ],
    ["while an operator has taken it out", {}, { takenOut: true }, { kind: "taken-out" }],
    [
      "first of all for that, since nobody knows its end",
      {},
      { takenOut: true, breakerUntilMs: t0 + 1, pausedUntilMs: t0 + 1 },
      { kind: "taken-out" },
    ],
    ["while its breaker is open", {}, { breakerUntilMs: t0 + 1 }, { kind: "breaker-open", untilMs: t0 + 1 }],
    ["not when a probe may go", {}, { breakerUntilMs: t0 }, undefined],
    ["while its ledger is paused", {}, { pausedUntilMs: t0 + 1 }, { kind: "paused", untilMs: t0 + 1 }],
    [
      "while it is paused for longer than its breaker is open",
      {},
      { breakerUntilMs: t0 + 30_000, pausedUntilMs: t0 + 30_001 },
      { kind: "paused", untilMs: t0 + 30_001 },
    ],
    [
      "while its breaker is open for as long as it is paused",
      {},
      { breakerUntilMs: t0 + 30_000, pausedUntilMs: t0 + 30_000 },
      { kind: "breaker-open", untilMs: t0 + 30_000 },
    ],
    ["not when the pause is over", {}, { pausedUntilMs: t0 }, undefined],
    ["when it does not serve the op", { ops: ["invoke_model"] }, {}, { kind: "op-not-served" }],
    [
      "when it lacks a feature",
      { lacks: ["documents", "tools"] },
      { need: { ...need, features: ["tools"] } },
      { kind: "feature-missing", feature: "tools" },
    ],
    [
      "not when nobody needs that feature",
      { lacks: ["documents"] },
      { need: { ...need, features: ["tools"] } },
      undefined,
    ],
    ["when it typically takes longer than is left", { typicalMs: 60_001 }, {}, { kind: "too-slow" }],
    ["not when it takes just as long", { typicalMs: 60_000 }, {}, undefined],
    ["when a larger window goes first", windowed, { stepsAfter: [larger] }, estimated],
    ["not when the prompt just fits", { contextWindow: 5_096 }, { stepsAfter: [larger] }, undefined],
    [
      "not when it fits with the caller's own ceiling",
      windowed,
      { need: { ...need, maxTokens: 4_095 }, stepsAfter: [larger] },
      undefined,
    ],
    [
      "whatever the caller asks above the step's ceiling",
      { contextWindow: 5_096 },
      { need: { ...need, maxTokens: 1e9 }, stepsAfter: [larger] },
      undefined,
    ],
    ["not by an estimate alone", windowed, {}, undefined],
    ["not for a window that is no larger", windowed, { stepsAfter: [a.step(windowed)] }, undefined],
    ["not for a window that nobody knows", windowed, { stepsAfter: [a.step()] }, undefined],
    ["not for a larger one that does not serve the op", windowed, { stepsAfter: [{ ...larger, ops: [] }] }, undefined],
    [
      "not for a larger one that lacks a feature",
      windowed,
      { need: { ...need, features: ["tools"] }, stepsAfter: [{ ...larger, lacks: ["tools"] }] },
      undefined,
    ],
    ["not by an estimate on a second walk", windowed, { stepsAfter: [larger], walk: 2 }, undefined],
    ["by a count alone", windowed, { need: { ...need, counted: true } }, refused],
    ["by a count on every walk", windowed, { need: { ...need, counted: true }, walk: 2 }, refused],
    ["not when what was counted just fits", { contextWindow: 5_096 }, { need: { ...need, counted: true } }, undefined],
    [
      "when its window is the one that refused this prompt",
      { contextWindow: 200_000 },
      { tooLongFor: 200_000 },
      refused,
    ],
    ["on every walk", { contextWindow: 200_000 }, { tooLongFor: 200_000, walk: 2 }, refused],
    ["not when its window is larger than that", { contextWindow: 200_001 }, { tooLongFor: 200_000 }, undefined],
    ["not when its window is unknown", {}, { tooLongFor: 200_000 }, undefined],
  ])("%s", (_says, step, facts, reason) => expect(skipReason(a.step(step), { ...calm, ...facts })).toEqual(reason));

  test("for the first reason of several, in the contract's order", () => {
    const worst: Partial<Step> = { ops: [], lacks: ["tools"], typicalMs: 1e9, contextWindow: 1 };
    const facts: StepFacts = {
      ...calm,
      need: { ...need, features: ["tools"] },
      breakerUntilMs: t0 + 1,
      pausedUntilMs: t0 + 1,
      tooLongFor: 1,
    };
    const mended: [Partial<Step>, Partial<StepFacts>][] = [
      [{}, { breakerUntilMs: t0 }],
      [{}, { pausedUntilMs: t0 }],
      [{ ops: ["converse"] }, {}],
      [{ lacks: [] }, {}],
      [{ typicalMs: 1 }, {}],
      [{ contextWindow: 2 }, {}],
    ];
    const told = Array.from({ length: mended.length + 1 }, (_none, count) => {
      const steps = mended.slice(0, count).map(([step]) => step);
      const known = mended.slice(0, count).map(([, fact]) => fact);
      return skipReason(a.step(Object.assign({}, worst, ...steps)), Object.assign({}, facts, ...known))?.kind;
    });
    expect(told).toEqual([
      "breaker-open",
      "paused",
      "op-not-served",
      "feature-missing",
      "too-slow",
      "prompt-too-long",
      undefined,
    ]);
  });
});

const said = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: "user", content }] });

describe("a request needs", () => {
  test.each<[says: string, op: Job["op"], params: JsonObject, features: string[]]>([
    ["nothing for plain text", "converse", said({ text: "hello" }), []],
    ["nothing for params that are none", "converse", { messages: "hello" }, []],
    ["tools for a tool config", "converse", { toolConfig: { tools: [{}] } }, ["tools"]],
    ["tools in a native body", "invoke_model", { tools: [{}] }, ["tools"]],
    ["none for an empty list of them", "invoke_model", { tools: [] }, []],
    ["documents for a document", "converse", said({ text: "read" }, { document: { format: "pdf" } }), ["documents"]],
    [
      "documents for one in a tool's result",
      "converse",
      said({ toolResult: { content: [{ document: {} }] } }),
      ["documents"],
    ],
    ["documents in a native body", "invoke_model", said({ type: "document" }), ["documents"]],
    ["none for a tool's input of that name", "converse", said({ toolUse: { input: { document: {} } } }), []],
    ["streaming for a stream", "converse_stream", said({ text: "hello" }), ["streaming"]],
    [
      "all of it",
      "converse_stream",
      { ...said({ document: {} }), toolConfig: {} },
      ["tools", "documents", "streaming"],
    ],
  ])("%s", (_says, op, params, features) => expect(featuresOf(op, params)).toEqual(features));

  test("as much room as its text and its ceiling take", () => {
    const text = said({ text: "word ".repeat(800) });
    expect(needOf("converse", text).inputTokens).toBeGreaterThan(1_000);
    expect(needOf("converse", text)).not.toHaveProperty("maxTokens");
    expect(needOf("converse", { inferenceConfig: { maxTokens: 500 } }).maxTokens).toBe(500);
    expect(needOf("invoke_model", { max_tokens: 500 }).maxTokens).toBe(500);
    expect(needOf("converse", { max_tokens: 500 })).not.toHaveProperty("maxTokens");
    expect(needOf("converse", { messages: [null, 7] }).features).toEqual([]);
    expect(needOf("invoke_model", {})).not.toHaveProperty("maxTokens");
  });
});

describe("the request of a step", () => {
  const messages = [{ role: "user", content: [{ text: "hello" }] }];

  test.each<[says: string, step: Partial<Step>, op: Job["op"], params: JsonObject, sent: JsonObject]>([
    ["always has a ceiling", {}, "converse", { messages }, { messages, inferenceConfig: { maxTokens: 4_096 } }],
    [
      "has the caller's, if that is lower",
      {},
      "converse",
      { inferenceConfig: { maxTokens: 5, topP: 1 } },
      { inferenceConfig: { maxTokens: 5, topP: 1 } },
    ],
    [
      "has the step's, if the caller's is higher",
      {},
      "converse_stream",
      { inferenceConfig: { maxTokens: 5_000 } },
      { inferenceConfig: { maxTokens: 4_096 } },
    ],
    [
      "has the step's, if the caller's is no number",
      {},
      "converse",
      { inferenceConfig: { maxTokens: "5" } },
      { inferenceConfig: { maxTokens: 4_096 } },
    ],
    [
      "has the step's, if the caller's config is none",
      {},
      "converse",
      { inferenceConfig: 5 },
      { inferenceConfig: { maxTokens: 4_096 } },
    ],
    [
      "leaves a nonsense of the caller's to Bedrock",
      {},
      "converse",
      { inferenceConfig: { maxTokens: -1 } },
      { inferenceConfig: { maxTokens: -1 } },
    ],
    [
      "never has the caller's model id",
      {},
      "converse",
      { modelId: "mine", messages },
      { messages, inferenceConfig: { maxTokens: 4_096 } },
    ],
    [
      "has the step's service tier",
      { serviceTier: "flex" },
      "converse",
      {},
      { inferenceConfig: { maxTokens: 4_096 }, serviceTier: { type: "flex" } },
    ],
    [
      "has it before the caller's",
      { serviceTier: "flex" },
      "converse",
      { serviceTier: { type: "priority" } },
      { inferenceConfig: { maxTokens: 4_096 }, serviceTier: { type: "flex" } },
    ],
    [
      "has the caller's where the config says nothing",
      {},
      "converse",
      { serviceTier: { type: "priority" } },
      { inferenceConfig: { maxTokens: 4_096 }, serviceTier: { type: "priority" } },
    ],
    [
      "has a native ceiling: Claude",
      { modelId: "us.anthropic.claude-sonnet-4-6" },
      "invoke_model",
      { messages },
      { messages, max_tokens: 4_096 },
    ],
    [
      "the caller's, if that is lower",
      { modelId: "us.anthropic.claude-sonnet-4-6" },
      "invoke_model",
      { max_tokens: 5 },
      { max_tokens: 5 },
    ],
    [
      "the step's, if that is",
      { modelId: "us.anthropic.claude-sonnet-4-6" },
      "invoke_model",
      { max_tokens: 5_000 },
      { max_tokens: 4_096 },
    ],
    ["Mistral", { modelId: "mistral.mistral-large-2407-v1:0" }, "invoke_model", {}, { max_tokens: 4_096 }],
    ["Cohere", { modelId: "cohere.command-r-v1:0" }, "invoke_model", {}, { max_tokens: 4_096 }],
    ["AI21", { modelId: "ai21.jamba-1-5-mini-v1:0" }, "invoke_model", {}, { max_tokens: 4_096 }],
    ["DeepSeek", { modelId: "us.deepseek.r1-v1:0" }, "invoke_model", {}, { max_tokens: 4_096 }],
    ["Qwen", { modelId: "qwen.qwen3-32b-v1:0" }, "invoke_model", {}, { max_tokens: 4_096 }],
    ["Nova", {}, "invoke_model", { messages }, { messages, inferenceConfig: { maxTokens: 4_096 } }],
    [
      "Nova 2",
      { modelId: "us.amazon.nova-2-lite-v1:0" },
      "invoke_model",
      {},
      { inferenceConfig: { maxTokens: 4_096 } },
    ],
    [
      "Titan",
      { modelId: "amazon.titan-text-express-v1" },
      "invoke_model",
      {},
      { textGenerationConfig: { maxTokenCount: 4_096 } },
    ],
    ["Llama", { modelId: "us.meta.llama3-1-70b-instruct-v1:0" }, "invoke_model", {}, { max_gen_len: 4_096 }],
    ["OpenAI", { modelId: "openai.gpt-oss-120b-1:0" }, "invoke_model", {}, { max_completion_tokens: 4_096 }],
    [
      "OpenAI, by the name that the caller uses",
      { modelId: "openai.gpt-oss-120b-1:0" },
      "invoke_model",
      { max_tokens: 5_000 },
      { max_tokens: 4_096 },
    ],
    [
      "any that the caller has set, where an ARN hides the family",
      { modelId: "arn:aws:bedrock:us-west-2:1:application-inference-profile/x" },
      "invoke_model",
      { max_gen_len: 5_000 },
      { max_gen_len: 4_096 },
    ],
    [
      "that of what stands behind an ARN, where the config tells it",
      { modelId: "arn:aws:bedrock:us-west-2:1:application-inference-profile/x", baseModelId: "us.meta.llama4-v1:0" },
      "invoke_model",
      {},
      { max_gen_len: 4_096 },
    ],
    [
      "none for embeddings, which would refuse it",
      { modelId: "amazon.titan-embed-text-v2:0" },
      "invoke_model",
      { inputText: "hello" },
      { inputText: "hello" },
    ],
    [
      "nor for pictures",
      { modelId: "amazon.nova-canvas-v1:0" },
      "invoke_model",
      { taskType: "TEXT_IMAGE" },
      { taskType: "TEXT_IMAGE" },
    ],
    [
      "and nothing else in a native body: the tier goes beside it",
      { serviceTier: "flex", modelId: "amazon.titan-embed-text-v2:0" },
      "invoke_model",
      { modelId: "mine" },
      {},
    ],
  ])("%s", (_says, step, op, params, sent) => {
    const before = structuredClone(params);
    expect(paramsFor(a.step(step), { op }, params)).toEqual(sent);
    expect(params).toEqual(before);
  });
});

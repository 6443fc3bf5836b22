import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBedrock } from "../../infra/local/bedrock/server.ts";
import type { BedrockStandIn } from "../../infra/local/bedrock/server.ts";
import { bedrockModels } from "../../lib/aws/bedrock.ts";
import type { BedrockModels } from "../../lib/aws/bedrock.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { ops } from "../../lib/core/config.ts";
import type { BedrockRecord } from "../../lib/memory/bedrock-play.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { scriptedModels } from "../../lib/memory/models.ts";
import type { ModelRequest, Models, TokenCount } from "../../lib/ports.ts";
import { a } from "../a.ts";
import { keys, soon } from "./models-kit.ts";

interface Bench {
  readonly models: Models;
  load(script: ScriptText): void;
  record(): BedrockRecord;
}

let standIn: BedrockStandIn;
let overHttp: BedrockModels;

beforeAll(async () => {
  standIn = await startBedrock();
  overHttp = bedrockModels({ endpoint: standIn.endpoint, credentials: keys });
});

afterAll(async () => {
  overHttp.close();
  await standIn.close();
});

const inMemory = scriptedModels(systemClock);
const benches: readonly [says: string, bench: () => Bench][] = [
  [
    "in memory",
    () => ({ models: inMemory, load: (script) => inMemory.load(script), record: () => inMemory.play.record() }),
  ],
  [
    "the SDK's client over HTTP",
    () => ({ models: overHttp, load: (script) => standIn.load(script), record: () => standIn.record() }),
  ],
];

const arn = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/a1";
const image = { image: { format: "png", source: { bytes: "iVBORw0KGgo=" } } };
const input = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }, image] }] };

describe.each(benches)("the Models port counts tokens: %s", (_says, open) => {
  let bench: Bench;
  let callsBefore: number;

  beforeEach(() => {
    bench = open();
    callsBefore = bench.record().calls.length;
  });

  const calls = () => bench.record().calls.slice(callsBefore);
  const count = (facts: Partial<ModelRequest> = {}, signal = new AbortController().signal): Promise<TokenCount> =>
    bench.models.countTokens({ step: a.step(), op: "converse", params: input, ...facts }, signal);

  test.each(ops)("of %s, in one call that asks no model", async (op) => {
    bench.load({ rules: [{ do: { kind: "answer", inputTokens: 11 } }] });
    const { targets, jobs, max } = bench.record();
    expect(await count({ op })).toEqual({ kind: "counted", tokens: 11 });
    expect(calls()).toMatchObject([{ op: "count_tokens", region: "us-west-2", outcome: "answered" }]);
    expect(bench.record()).toMatchObject({ targets, jobs, max });
  });

  test.each(ops)("of %s, bytes and all, and not of what is no input", async (op) => {
    bench.load({});
    const more = op === "invoke_model" ? {} : { inferenceConfig: { maxTokens: 1_000 }, serviceTier: { type: "flex" } };
    const tokens = Math.ceil(JSON.stringify(input).length / 4);
    expect(await count({ op, params: { ...input, ...more } })).toEqual({ kind: "counted", tokens });
  });

  test.each([
    ["its id", { modelId: "amazon.nova-lite-v1:0" }],
    ["its profile", { modelId: "us.amazon.nova-lite-v1:0" }],
    ["what an ARN was made from", { modelId: arn, baseModelId: "us.amazon.nova-lite-v1:0" }],
  ])("by the bare id of the model, known by %s", async (_by, named) => {
    bench.load({});
    expect(await count({ step: a.step(named) })).toMatchObject({ kind: "counted" });
    expect(calls()).toMatchObject([{ modelId: "amazon.nova-lite-v1:0" }]);
  });

  test("by nobody, and without a request, where an ARN does not tell the model", async () => {
    bench.load({});
    expect(await count({ step: a.step({ modelId: arn }) })).toEqual({ kind: "unknown", name: "ModelNotNamed" });
    expect(calls()).toEqual([]);
  });

  test("whatever the model's hard limit", async () => {
    bench.load({ limits: [{ modelId: "amazon.nova-lite-v1:0", max: 0 }] });
    expect(await count()).toMatchObject({ kind: "counted" });
  });

  test.each<[says: string, effect: NonNullable<ScriptText["rules"]>[number]["do"], name: string]>([
    ["a model that does not count", { kind: "fail", error: "no-count" }, "ValidationException"],
    ["a throttle", { kind: "fail", error: "throttled" }, "ThrottlingException"],
    ["a denied call", { kind: "fail", error: "denied" }, "AccessDeniedException"],
    ["expired credentials", { kind: "fail", error: "expired" }, "ExpiredTokenException"],
    ["a connection that breaks", { kind: "reset" }, "ECONNRESET"],
    ["an answer that is cut off", { kind: "truncated" }, "ECONNRESET"],
    ["an answer that cannot be read", { kind: "malformed" }, "UnreadableResponse"],
  ])("and says that nobody knows, after one call, for %s", async (_title, effect, name) => {
    bench.load({ rules: [{ do: effect }] });
    expect(await count({ op: "converse_stream" })).toEqual({ kind: "unknown", name });
    expect(calls()).toHaveLength(1);
  });

  test("and says that nobody knows at once when the signal fires, and the server sees it", async () => {
    bench.load({ rules: [{ do: { kind: "hang" } }] });
    const bound = new AbortController();
    const counting = count({}, bound.signal);
    await soon(() => expect(calls()).toHaveLength(1));
    bound.abort("late");
    expect(await counting).toEqual({ kind: "unknown", name: "Aborted" });
    await soon(() => expect(calls()).toMatchObject([{ outcome: "aborted" }]));
  });

  test("and sends nothing for a signal that fired before", async () => {
    bench.load({});
    expect(await count({}, AbortSignal.abort("bell"))).toEqual({ kind: "unknown", name: "Aborted" });
    expect(calls()).toEqual([]);
  });
});

test("the stand-in turns a profile and an ARN away, as Bedrock does", async () => {
  standIn.load({});
  const answers = [
    `/model/us.amazon.nova-lite-v1:0/count-tokens`,
    `/model/${encodeURIComponent(arn)}/count-tokens`,
  ].map(async (path) => {
    const body = JSON.stringify({ input: { converse: input } });
    const { status, headers } = await fetch(`${standIn.endpoint}${path}`, { method: "POST", body });
    return [status, headers.get("x-amzn-errortype")];
  });
  const turnedAway = [400, expect.stringContaining("ValidationException")];
  expect(await Promise.all(answers)).toEqual([turnedAway, turnedAway]);
});

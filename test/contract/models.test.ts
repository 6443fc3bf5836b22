import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBedrock } from "../../infra/local/bedrock/server.ts";
import type { BedrockStandIn } from "../../infra/local/bedrock/server.ts";
import { bedrockModels } from "../../lib/aws/bedrock.ts";
import type { BedrockModels } from "../../lib/aws/bedrock.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { ops } from "../../lib/core/config.ts";
import type { ProviderError } from "../../lib/core/failure.ts";
import type { BedrockRecord } from "../../lib/memory/bedrock-play.ts";
import type { Effect, ScriptText } from "../../lib/memory/bedrock-script.ts";
import { scriptedModels } from "../../lib/memory/models.ts";
import type { ScriptedModels } from "../../lib/memory/models.ts";
import type { ModelAnswer, ModelRequest, Models } from "../../lib/ports.ts";
import { a } from "../a.ts";
import { ask, keys, rejection, soon } from "./models-kit.ts";

interface Bench {
  readonly models: Models;
  load(script: ScriptText): void;
  record(): BedrockRecord;
}

let standIn: BedrockStandIn;
let overHttp: BedrockModels;
let inMemory: ScriptedModels;

beforeAll(async () => {
  standIn = await startBedrock();
  overHttp = bedrockModels({ endpoint: standIn.endpoint, credentials: keys });
  inMemory = scriptedModels(systemClock);
});

afterAll(async () => {
  overHttp.close();
  await standIn.close();
});

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

describe.each(benches)("the Models port: %s", (_says, open) => {
  let bench: Bench;
  /** A job of its own for each test, so that the record can be read by job. */
  let jobId: string;
  let jobs = 0;
  const jobRecord = () => bench.record().jobs[jobId];

  beforeEach(() => {
    bench = open();
    jobId = `job~${jobs++}`;
  });

  const asked = (facts: Partial<ModelRequest> = {}): Promise<ModelAnswer> => ask(bench.models, { jobId, ...facts });

  describe("an answer", () => {
    test.each(ops)("of %s is one request, with its usage and its stop reason", async (op) => {
      bench.load({
        rules: [{ do: { kind: "answer", inputTokens: 11, outputTokens: 7, stopReason: "stop_sequence" } }],
      });
      expect(await asked({ op })).toMatchObject({
        kind: "answered",
        stopReason: "stop_sequence",
        usage: { inputTokens: 11, outputTokens: 7, possiblyBilledTokens: 0 },
      });
      expect(jobRecord()).toMatchObject({ calls: 1, answered: 1, inputTokens: 11, outputTokens: 7, now: 0 });
    });

    test("of a stream has the shape of an answer in one piece, whatever its blocks", async () => {
      bench.load({ rules: [{ do: { kind: "answer", content: everyBlock, stopReason: "tool_use" } }] });
      const whole = await asked({ op: "converse" });
      const streamed = await asked({ op: "converse_stream" });
      expect(whole).toMatchObject({ output: { output: { message: { role: "assistant", content: everyBlock } } } });
      expect(streamed).toEqual(whole);
    });

    test("that comes in trickles is whole", async () => {
      bench.load({ rules: [{ do: { kind: "trickle", everyMs: 1, pieces: 40 } }] });
      const trickled = await asked({ op: "converse_stream" });
      bench.load({});
      expect(trickled).toEqual(await asked({ op: "converse_stream" }));
    });

    test("of invoke_model is the model's own body", async () => {
      bench.load({ rules: [{ do: { kind: "answer", body: { generation: "Hello Ada.", stop_reason: "stop" } } }] });
      expect(await asked({ op: "invoke_model" })).toMatchObject({
        output: { generation: "Hello Ada.", stop_reason: "stop" },
        stopReason: "stop",
      });
    });

    test("is cut at maxTokens", async () => {
      bench.load({});
      const params = {
        messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }],
        inferenceConfig: { maxTokens: 3 },
      };
      const cut = await asked({ params });
      expect(cut).toMatchObject({ stopReason: "max_tokens", usage: { outputTokens: 3 } });
      expect(cut).toHaveProperty("output.output.message.content.0.text.length", 12);
    });
  });

  describe("a failure", () => {
    const rows: readonly [says: string, effect: ScriptedEffect, facts: ProviderError][] = [
      [
        "a throttle",
        { kind: "fail", error: "throttled" },
        { name: "ThrottlingException", status: 429, message: "Too many requests, please wait before trying again." },
      ],
      [
        "a throttle that says how long",
        { kind: "fail", error: "throttled", retryAfter: "3", xAmzRetryAfter: "2500", expectedQueueDelayInMs: 4_000 },
        {
          name: "ThrottlingException",
          status: 429,
          message: "Too many requests, please wait before trying again.",
          headers: { "retry-after": "3", "x-amz-retry-after": "2500" },
          expectedQueueDelayMs: 4_000,
        },
      ],
      [
        "too many connections",
        { kind: "fail", error: "connections" },
        {
          name: "ServiceUnavailableException",
          status: 503,
          message: "Too many connections, please wait before trying again.",
        },
      ],
      [
        "a quota",
        { kind: "fail", error: "quota" },
        {
          name: "ServiceQuotaExceededException",
          status: 400,
          message: "Your request exceeds the service quota for your account.",
        },
      ],
      [
        "a model that is not ready",
        { kind: "fail", error: "not-ready" },
        { name: "ModelNotReadyException", status: 429, message: expect.stringContaining("not ready") },
      ],
      [
        "a fault of Bedrock's",
        { kind: "fail", error: "internal" },
        { name: "InternalServerException", status: 500, message: expect.any(String) },
      ],
      [
        "an overload that no AWS error names",
        { kind: "fail", error: "overloaded" },
        { name: "OverloadedException", status: 529, message: "Overloaded" },
      ],
      [
        "a model's timeout",
        { kind: "fail", error: "model-timeout" },
        { name: "ModelTimeoutException", status: 408, message: expect.any(String) },
      ],
      [
        "a model's error, with its own status",
        { kind: "fail", error: "model", originalStatusCode: 503 },
        { name: "ModelErrorException", status: 424, originalStatus: 503, message: expect.any(String) },
      ],
      [
        "a denied model",
        { kind: "fail", error: "denied" },
        { name: "AccessDeniedException", status: 403, message: expect.any(String) },
      ],
      [
        "a missing model",
        { kind: "fail", error: "missing" },
        { name: "ResourceNotFoundException", status: 404, message: expect.any(String) },
      ],
      [
        "a text with a typographic apostrophe",
        { kind: "fail", error: "on-demand" },
        { name: "ValidationException", status: 400, message: expect.stringContaining("isn’t supported") },
      ],
      [
        "a connection that breaks",
        { kind: "reset" },
        { name: "ECONNRESET", code: "ECONNRESET", message: expect.any(String) },
      ],
      [
        "a connection that breaks after the headers",
        { kind: "reset", after: "headers" },
        { name: "ECONNRESET", code: "ECONNRESET", message: expect.any(String) },
      ],
      [
        "a connection that breaks in the body",
        { kind: "reset", after: "part" },
        { name: "ECONNRESET", code: "ECONNRESET", message: expect.any(String) },
      ],
      [
        "a body that cannot be read",
        { kind: "malformed" },
        { name: "UnreadableResponse", message: expect.any(String) },
      ],
    ];
    describe.each(rows)("%s", (_title, effect, error) => {
      test.each(ops)("of %s is told as plain facts, after one request", async (op) => {
        bench.load({ rules: [{ do: effect }] });
        expect(await asked({ op })).toEqual({ kind: "failed", error, usage: noTokens });
        expect(jobRecord()).toMatchObject({ calls: 1, answered: 0, now: 0 });
      });
    });

    const inStream: readonly [says: string, effect: ScriptedEffect, facts: ProviderError][] = [
      [
        "a throttle",
        { kind: "stream-error", error: "throttled" },
        { name: "ThrottlingException", message: expect.any(String) },
      ],
      [
        "a model's error",
        { kind: "stream-error", error: "stream", originalStatusCode: 500 },
        { name: "ModelStreamErrorException", originalStatus: 500, message: expect.any(String) },
      ],
      [
        "an error that ConverseStream does not know",
        { kind: "stream-error", error: "expired" },
        { name: "ExpiredTokenException", message: expect.any(String) },
      ],
      [
        "an error before the first word",
        { kind: "stream-error", error: "internal", afterEvents: 0 },
        { name: "InternalServerException", message: expect.any(String) },
      ],
      [
        "an end before messageStop",
        { kind: "truncated" },
        { name: "StreamEndedEarly", code: "ERR_STREAM_PREMATURE_CLOSE", message: expect.any(String) },
      ],
    ];
    test.each(inStream)("inside a stream that began well: %s", async (_title, effect, error) => {
      bench.load({ rules: [{ do: effect }] });
      expect(await asked({ op: "converse_stream" })).toEqual({ kind: "failed", error, usage: noTokens });
      expect(jobRecord()).toMatchObject({ calls: 1, answered: 0, now: 0 });
    });

    test("does not spoil the next call", async () => {
      bench.load({ rules: [{ when: { nth: { to: 1 } }, do: { kind: "stream-error", error: "internal" } }] });
      expect(await asked({ op: "converse_stream" })).toMatchObject({ kind: "failed" });
      expect(await asked({ op: "converse_stream" })).toMatchObject({ kind: "answered" });
    });
  });

  describe("an abort", () => {
    const waits: readonly [says: string, script: ScriptText][] = [
      ["before the first byte", { rules: [{ do: { kind: "hang" } }] }],
      ["after the headers", { rules: [{ do: { kind: "hang", after: "headers" } }] }],
      ["in the middle of the body", { rules: [{ do: { kind: "hang", after: "part" } }] }],
      ["while the answer trickles", { rules: [{ do: { kind: "trickle", everyMs: 50, pieces: 1_000 } }] }],
      ["while the model thinks", { latency: 60_000 }],
    ];
    describe.each(waits)("%s", (_title, script) => {
      test.each(ops)("rejects %s with the signal's reason, and the server sees it", async (op) => {
        bench.load(script);
        const bell = new AbortController();
        const reason = new Error("the bell");
        const rejected = rejection(ask(bench.models, { jobId, op }, bell.signal));
        await soon(() => expect(jobRecord()).toMatchObject({ now: 1 }));
        bell.abort(reason);
        expect(await rejected).toBe(reason);
        await soon(() => expect(jobRecord()).toMatchObject({ calls: 1, answered: 0, now: 0 }));
        expect(bench.record().calls.findLast((call) => call.jobId === jobId)).toMatchObject({ outcome: "aborted" });
      });
    });

    test("that came before the call means no request", async () => {
      const reason = new Error("the bell");
      await expect(ask(bench.models, { jobId }, AbortSignal.abort(reason))).rejects.toBe(reason);
      expect(jobRecord()).toBeUndefined();
    });

    test("need not be an Error", async () => {
      bench.load({ rules: [{ do: { kind: "hang" } }] });
      const bell = new AbortController();
      const rejected = rejection(ask(bench.models, { jobId }, bell.signal));
      bell.abort("deadline");
      expect(await rejected).toBe("deadline");
    });

    test("of one call leaves its neighbours alone", async () => {
      bench.load({ latency: 30 });
      const bell = new AbortController();
      const cut = rejection(ask(bench.models, { jobId: `${jobId}-cut` }, bell.signal));
      const kept = asked();
      bell.abort("bell");
      expect(await cut).toBe("bell");
      expect(await kept).toMatchObject({ kind: "answered" });
    });
  });

  test("a model's hard limit throttles what is above it, in each region by itself", async () => {
    bench.load({ latency: 50, limits: [{ modelId: "us.amazon.*", region: "us-west-2", max: 3, retryAfter: "2" }] });
    const here = Array.from({ length: 5 }, () => asked());
    const there = Array.from({ length: 5 }, () => asked({ step: a.step({ region: "us-east-1" }) }));
    const kinds = (await Promise.all(here)).map((answer) => answer.kind);
    expect(kinds.toSorted()).toEqual(["answered", "answered", "answered", "failed", "failed"]);
    expect((await Promise.all(there)).every((answer) => answer.kind === "answered")).toBe(true);
    expect(jobRecord()).toMatchObject({
      calls: 10,
      answered: 8,
      targets: { "us.amazon.nova-lite-v1:0@us-west-2": 5, "us.amazon.nova-lite-v1:0@us-east-1": 5 },
    });
  });

  test("eighty calls at once are eighty requests in flight: no pool makes a lease wait", async () => {
    bench.load({ rules: [{ do: { kind: "hang" } }] });
    const bell = new AbortController();
    const calls = Array.from({ length: 80 }, () => ask(bench.models, { jobId }, bell.signal).catch(() => undefined));
    await soon(() => expect(jobRecord()).toMatchObject({ now: 80, max: 80 }));
    bell.abort();
    await Promise.all(calls);
    await soon(() => expect(jobRecord()).toMatchObject({ now: 0 }));
  });

  test("a prompt is not said back", async () => {
    bench.load({});
    const params = { messages: [{ role: "user", content: [{ text: "the launch code is 0000" }] }] };
    expect(JSON.stringify(await asked({ params }))).not.toContain("launch code");
  });

  test("no call waits for another", async () => {
    bench.load({ rules: [{ when: { jobId: `${jobId}-slow` }, do: { kind: "hang" } }] });
    const bell = new AbortController();
    const slow = rejection(ask(bench.models, { jobId: `${jobId}-slow` }, bell.signal));
    expect(await asked()).toMatchObject({ kind: "answered" });
    bell.abort("enough");
    expect(await slow).toBe("enough");
  });
});

type ScriptedEffect = NonNullable<ScriptText["rules"]>[number]["do"] & { kind: Effect["kind"] };

const noTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, possiblyBilledTokens: 0 };

const everyBlock = [
  { reasoningContent: { reasoningText: { text: "Ada asks for a greeting; be brief.", signature: "c2lnbmF0dXJl" } } },
  { reasoningContent: { redactedContent: "AAECAwQFBgcICQ==" } },
  { text: "Good morning, Ada: grüß dich, 你好, 👋. Here is what you asked for." },
  {
    citationsContent: {
      content: [{ text: "The order left on Monday." }],
      citations: [
        {
          title: "log",
          sourceContent: [{ text: "Mon 08:10 left" }],
          location: { documentChar: { documentIndex: 0, start: 3, end: 17 } },
        },
        { title: "mail", location: { web: { url: "https://example.com/mail" } } },
      ],
    },
  },
  {
    toolUse: {
      toolUseId: "t-1",
      name: "send",
      input: { to: "ada@example.com", tags: ["a", "b"], depth: { n: 1.5, none: null } },
    },
  },
  { toolUse: { toolUseId: "t-2", name: "now", input: {} } },
  {
    toolResult: {
      toolUseId: "t-3",
      status: "success",
      type: "search",
      content: [{ text: "found" }, { json: { hits: 2 } }],
    },
  },
  { image: { format: "png", source: { bytes: "iVBORw0KGgo=" } } },
];

import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { BedrockRuntimeClient, ConverseCommand, CountTokensCommand } from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBedrock } from "../../infra/local/bedrock/server.ts";
import type { BedrockStandIn } from "../../infra/local/bedrock/server.ts";
import { playScript } from "../../lib/memory/bedrock-play.ts";
import type { Arrival, Play } from "../../lib/memory/bedrock-play.ts";
import { readScript } from "../../lib/memory/bedrock-script.ts";
import type { Script, ScriptText } from "../../lib/memory/bedrock-script.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { scriptedModels } from "../../lib/memory/models.ts";
import { t0 } from "../a.ts";
import { ask, keys, rejection, soon } from "../contract/models-kit.ts";

const messages: ConverseInputMessages = [{ role: "user", content: [{ text: "Say hello to Ada." }] }];
type ConverseInputMessages = NonNullable<ConstructorParameters<typeof ConverseCommand>[0]["messages"]>;

function scriptOf(written: ScriptText): Script {
  const read = readScript(written);
  if (read.kind === "refused") throw new Error(read.problems.join("; "));
  return read.script;
}

function playing(written: ScriptText): Play {
  return playScript(scriptOf(written), t0);
}

describe("a script", () => {
  test("may be empty: every call is answered at once", () => {
    expect(readScript({})).toEqual({ kind: "script", script: { seed: 1, latency: 0, limits: [], rules: [] } });
  });

  test("as its documentation shows it, is one", async () => {
    const source = await readFile(new URL("../../lib/memory/bedrock-script.ts", import.meta.url), "utf8");
    const [, example = ""] = /```json\n([\s\S]*?)```/.exec(source) ?? [];
    const written: unknown = JSON.parse(example.replaceAll(/^ \* /gm, "").replaceAll(/\/\/.*$/gm, ""));
    expect(readScript(written)).toMatchObject({ kind: "script", script: { seed: 7, rules: [{}, {}, {}] } });
  });

  const wrong: readonly [says: string, written: unknown, place: string][] = [
    ["no object", "fast", "script: "],
    ["an unknown field", { latencies: 3 }, "script: "],
    ["an unknown condition", { rules: [{ when: { model: "x" }, do: { kind: "answer" } }] }, "rules[0].when: "],
    ["an unknown effect", { rules: [{ do: { kind: "answer" } }, { do: { kind: "explode" } }] }, "rules[1].do.kind: "],
    ["an unknown error", { rules: [{ do: { kind: "fail", error: "sleepy" } }] }, "rules[0].do.error: "],
    ["a negative limit", { limits: [{ modelId: "x", max: -1 }] }, "limits[0].max: "],
    ["dice above a hundred", { rules: [{ when: { percent: 101 }, do: { kind: "hang" } }] }, "rules[0].when.percent: "],
  ];
  test.each(wrong)("with %s is refused, and the place is named", (_says, written, place) => {
    const read = readScript(written);
    expect(read).toEqual({ kind: "refused", problems: [expect.stringContaining(place)] });
  });
});

describe("a script's fault names what there is, and what was meant", () => {
  const hang = { kind: "hang" };
  test.each<[written: unknown, problem: string]>([
    [{ latncy: 3 }, "script: latncy is no field; did you mean latency?"],
    [{ colour: 3 }, "script: colour is no field; known: seed, latency, limits, rules"],
    [
      { rules: [{ when: { jobid: "x", nht: 2 }, do: hang }] },
      "rules[0].when: jobid is no field; did you mean jobId? nht is no field; did you mean nth?",
    ],
    [
      { rules: [{ do: { kind: "fial" } }] },
      "rules[0].do.kind: must be one of answer, fail, stream-error, hang, reset, trickle, malformed, truncated; did you mean fail?",
    ],
    [{ rules: [{ do: { kind: "hang", after: "all" } }] }, "rules[0].do.after: must be one of nothing, headers, part"],
    [
      { rules: [{ when: { op: "convers" }, do: hang }] },
      "rules[0].when.op: must be one of converse, converse_stream, invoke_model, count_tokens; did you mean converse?",
    ],
    [
      { rules: [{ when: { nth: "1" }, do: hang }] },
      "rules[0].when.nth: must be a whole number from 1, or an object with from, to and of",
    ],
    [{ latency: "slow" }, "latency: must be ms, or an object with meanMs and sigma (0 to 3)"],
    [{ rules: [{ when: { nth: 0 }, do: hang }] }, "rules[0].when.nth: must be at least 1"],
    [{ rules: [{ when: { percent: 101 }, do: hang }] }, "rules[0].when.percent: must be at most 100"],
    [{ limits: [{ modelId: "x", max: -1 }] }, "limits[0].max: must be at least 0"],
    [{ limits: [{ max: 1 }] }, "limits[0].modelId: is missing"],
    [{ rules: {} }, "rules: must be of type array"],
  ])("%j", (written, problem) => expect(readScript(written)).toEqual({ kind: "refused", problems: [problem] }));

  test("an error by its name", () => {
    const read = readScript({ rules: [{ do: { kind: "fail", error: "throtled" } }] });
    expect(read).toEqual({
      kind: "refused",
      problems: [
        expect.stringMatching(
          /^rules\[0\]\.do\.error: must be one of throttled, .*, invalid; did you mean throttled\? or an object with status, name and message$/,
        ),
      ],
    });
  });
});

describe("a rule", () => {
  const call: Arrival = { op: "converse", modelId: "us.amazon.nova-lite-v1:0", region: "us-west-2", jobId: "order-1" };
  const hang: ScriptText["rules"] = [{ do: { kind: "hang" } }];
  /** What `count` calls, one after the other, meet. */
  const met = (play: Play, count: number, facts: Partial<Arrival> = {}, nowMs = t0): string[] =>
    Array.from({ length: count }, () => {
      const turn = play.arrive({ ...call, ...facts }, nowMs);
      turn.done(nowMs, { inputTokens: 1, outputTokens: 1 });
      return turn.effect.kind;
    });

  test("that holds first decides", () => {
    const play = playing({
      rules: [{ when: { region: "us-east-1" }, do: { kind: "reset" } }, { do: { kind: "hang" } }],
    });
    expect(met(play, 1)).toEqual(["hang"]);
    expect(met(play, 1, { region: "us-east-1" })).toEqual(["reset"]);
  });

  test.each([
    ["the whole model id", { modelId: "us.amazon.nova-lite-v1:0" }, true],
    ["a beginning of it", { modelId: "us.amazon.*" }, true],
    ["a beginning without its star", { modelId: "us.amazon." }, false],
    ["another region", { region: "us-east-1" }, false],
    ["its operation", { op: "converse" }, true],
    ["another operation", { op: "converse_stream" }, false],
    ["its job", { jobId: "order-*" }, true],
    ["another job", { jobId: "order-12" }, false],
  ] as const)("may name %s", (_says, when, holds) => {
    expect(met(playing({ rules: [{ when, do: { kind: "hang" } }] }), 1)).toEqual([holds ? "hang" : "answer"]);
  });

  test.each([
    ["the second call", 2, ["answer", "hang", "answer", "answer"]],
    ["from the third call on", { from: 3 }, ["answer", "answer", "hang", "hang"]],
    ["up to the second call", { to: 2 }, ["hang", "hang", "answer", "answer"]],
  ] as const)("may name %s", (_says, nth, kinds) => {
    expect(met(playing({ rules: [{ when: { nth }, do: { kind: "hang" } }] }), 4)).toEqual(kinds);
  });

  test("may count the calls of each job by itself", () => {
    const play = playing({ rules: [{ when: { nth: { to: 1, of: "job" } }, do: { kind: "hang" } }] });
    expect(met(play, 2)).toEqual(["hang", "answer"]);
    expect(met(play, 2, { jobId: "order-2" })).toEqual(["hang", "answer"]);
  });

  test("may hold for a while, counted from the load", () => {
    const play = playing({});
    play.load(scriptOf({ rules: [{ when: { fromMs: 1_000, toMs: 2_000 }, do: { kind: "reset" } }] }), t0 + 500);
    const at = (ms: number): string[] => met(play, 1, {}, t0 + 500 + ms);
    expect([at(999), at(1_000), at(1_999), at(2_000)].flat()).toEqual(["answer", "reset", "reset", "answer"]);
  });

  test("may throw dice, which fall the same for the same seed", () => {
    const rules: ScriptText["rules"] = [{ when: { percent: 20 }, do: { kind: "hang" } }];
    const kinds = met(playing({ seed: 1, rules }), 1_000);
    expect(met(playing({ seed: 1, rules }), 1_000)).toEqual(kinds);
    expect(met(playing({ seed: 2, rules }), 1_000)).not.toEqual(kinds);
    const hung = kinds.filter((kind) => kind === "hang").length;
    expect(hung).toBeGreaterThan(150);
    expect(hung).toBeLessThan(250);
  });

  test("that is loaded begins to count anew, and the record goes on", () => {
    const script: ScriptText = { rules: [{ when: { nth: 1 }, do: { kind: "hang" } }] };
    const play = playing(script);
    expect(met(play, 2)).toEqual(["hang", "answer"]);
    play.load(scriptOf(script), t0);
    expect(met(play, 2)).toEqual(["hang", "answer"]);
    expect(play.record().jobs["order-1"]).toMatchObject({ calls: 4, answered: 2 });
  });

  test("may be slow by itself", () => {
    const play = playing({ latency: 5, rules: [{ when: { jobId: "slow" }, do: { kind: "answer" }, latency: 900 }] });
    expect(play.arrive(call, t0).latencyMs).toBe(5);
    expect(play.arrive({ ...call, jobId: "slow" }, t0).latencyMs).toBe(900);
  });

  test("with a lognormal latency keeps its mean", () => {
    const play = playing({ latency: { meanMs: 900, sigma: 0.6 } });
    const drawn = Array.from({ length: 20_000 }, () => play.arrive(call, t0).latencyMs);
    const mean = drawn.reduce((sum, ms) => sum + ms, 0) / drawn.length;
    expect(mean).toBeGreaterThan(880);
    expect(mean).toBeLessThan(920);
    expect(Math.min(...drawn)).toBeLessThan(300);
  });

  test("leaves a place under the limit as soon as its call is over, and only then", () => {
    const play = playing({ limits: [{ modelId: "*", max: 1 }], rules: hang });
    const first = play.arrive(call, t0);
    const second = play.arrive(call, t0);
    second.done(t0, { inputTokens: 1, outputTokens: 1 });
    expect([first, second, play.arrive(call, t0)].map((turn) => turn.effect.kind)).toEqual(["hang", "fail", "fail"]);
    first.left(t0);
    first.left(t0);
    expect([play.arrive(call, t0), play.arrive(call, t0)].map((turn) => turn.effect.kind)).toEqual(["hang", "fail"]);
  });
});

describe("the stand-in", () => {
  let standIn: BedrockStandIn;
  let client: BedrockRuntimeClient;

  beforeAll(async () => {
    standIn = await startBedrock();
    client = clientIn("eu-central-1");
  });
  afterAll(async () => {
    client.destroy();
    await standIn.close();
  });

  function clientIn(region: string): BedrockRuntimeClient {
    const { endpoint } = standIn;
    return new BedrockRuntimeClient({
      region,
      endpoint,
      credentials: keys,
      maxAttempts: 1,
      requestHandler: new NodeHttpHandler(),
    });
  }
  const over = (
    path: string,
    init: { method?: string; body?: string; host?: string } = {},
  ): Promise<{ status: number; body: unknown }> =>
    new Promise((resolve, reject) => {
      const { method = "GET", body = "", host } = init;
      const headers = host === undefined ? {} : { host };
      const outgoing = httpRequest(`${standIn.endpoint}${path}`, { method, headers }, (response) => {
        let text = "";
        response.on("data", (chunk) => (text += String(chunk)));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
      });
      outgoing.on("error", reject).end(body);
    });

  test("counts tokens", async () => {
    const counted = await client.send(new CountTokensCommand({ modelId: "m", input: { converse: { messages } } }));
    expect(counted.inputTokens).toBeGreaterThan(0);
  });

  test("knows the region by the signature, and a profile by its whole ARN", async () => {
    const modelId = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc";
    await client.send(new ConverseCommand({ modelId, messages }));
    expect(standIn.record().targets[`${modelId}@eu-central-1`]).toMatchObject({ calls: 1, outcomes: { answered: 1 } });
  });

  test("keeps true counts of what is in flight, at each target and in all", async () => {
    standIn.load({ rules: [{ do: { kind: "hang" } }] });
    const bell = new AbortController();
    const hangs = ["x", "x", "y"].map((modelId) =>
      client.send(new ConverseCommand({ modelId, messages }), { abortSignal: bell.signal }).catch(() => undefined),
    );
    await soon(() =>
      expect(standIn.record()).toMatchObject({ now: 3, targets: { "x@eu-central-1": { now: 2, max: 2 } } }),
    );
    bell.abort();
    await Promise.all(hangs);
    await soon(() =>
      expect(standIn.record()).toMatchObject({
        now: 0,
        targets: {
          "x@eu-central-1": { now: 0, max: 2, outcomes: { aborted: 2 } },
          "y@eu-central-1": { now: 0, max: 1 },
        },
      }),
    );
    standIn.load({});
  });

  test("refuses request metadata that Bedrock would", async () => {
    const requestMetadata = { jobId: "order~2" };
    await expect(client.send(new ConverseCommand({ modelId: "m", messages, requestMetadata }))).rejects.toMatchObject({
      name: "ValidationException",
    });
  });

  test("refuses what is no request to a model, without a trace in the record", async () => {
    const before = standIn.record().calls.length;
    expect(await over("/model/m/dance", { method: "POST", body: "{}" })).toMatchObject({ status: 404 });
    expect(await over("/model/m/converse", { method: "POST", body: "not JSON" })).toMatchObject({ status: 400 });
    expect(await over("/model/m/converse", { method: "POST", body: '{"messages":"hi"}' })).toMatchObject({
      status: 400,
    });
    expect(standIn.record().calls).toHaveLength(before);
  });

  test("tells its record and takes a script over HTTP", async () => {
    const script = JSON.stringify({ rules: [{ do: { kind: "fail", error: "denied" } }] });
    expect(await over("/__script", { method: "POST", body: script })).toMatchObject({ status: 200 });
    await expect(client.send(new ConverseCommand({ modelId: "told", messages }))).rejects.toMatchObject({
      name: "AccessDeniedException",
    });
    expect(await over("/__record")).toMatchObject({
      status: 200,
      body: { targets: { "told@eu-central-1": { outcomes: { AccessDeniedException: 1 } } } },
    });
    standIn.load({});
  });

  test("names the place of what is wrong with a script, and goes on with the old one", async () => {
    const script = JSON.stringify({ rules: [{ do: { kind: "explode" } }] });
    expect(await over("/__script", { method: "POST", body: script })).toMatchObject({
      status: 400,
      body: { problems: [expect.stringContaining("rules[0].do.kind")] },
    });
    expect(await over("/__script", { method: "POST", body: "{" })).toMatchObject({ status: 400 });
    expect(await client.send(new ConverseCommand({ modelId: "m", messages }))).toMatchObject({
      stopReason: "end_turn",
    });
  });

  test("hides its controls from a page that came by another name", async () => {
    expect(await over("/__record", { host: "evil.example" })).toMatchObject({ status: 403 });
  });

  test("ends though calls are in flight", async () => {
    const other = await startBedrock({ script: { rules: [{ do: { kind: "hang" } }] } });
    const { endpoint } = other;
    const leaving = new BedrockRuntimeClient({
      region: "us-west-2",
      endpoint,
      credentials: keys,
      maxAttempts: 1,
      requestHandler: new NodeHttpHandler(),
    });
    const cut = rejection(leaving.send(new ConverseCommand({ modelId: "m", messages })));
    await soon(() => expect(other.record().now).toBe(1));
    await other.close();
    await other.close();
    expect(await cut).toMatchObject({ code: "ECONNRESET" });
  });
});

describe("in memory", () => {
  test("a model thinks on the World's clock", async () => {
    const clock = createVirtualClock(t0);
    const models = scriptedModels(clock, { latency: 3_000 });
    const answer = ask(models);
    expect(models.play.record().now).toBe(1);
    await clock.advance(2_999);
    expect(models.play.record().now).toBe(1);
    await clock.advance(1);
    expect(await answer).toMatchObject({ kind: "answered" });
    expect(models.play.record().calls).toMatchObject([{ startedAtMs: t0, endedAtMs: t0 + 3_000, outcome: "answered" }]);
  });

  test("a script that is none is refused by its place", () => {
    // @ts-expect-error: the types refuse it too
    expect(() => scriptedModels(createVirtualClock(t0), { rules: [{ do: { kind: "explode" } }] })).toThrow(
      "rules[0].do.kind",
    );
  });
});

import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import type { Config } from "../../lib/core/config.ts";
import { checkAgainst, encode, meansToBeEnvelope, metadataLengthMax, readEnvelope } from "../../lib/core/envelope.ts";
import type { Envelope, Params } from "../../lib/core/envelope.ts";
import { isAllowed } from "../../lib/core/reply-to.ts";
import type { ReplyTo } from "../../lib/core/reply-to.ts";
import { jsonLevelsMax, parseJson } from "../../lib/core/json.ts";
import type { Json, JsonObject } from "../../lib/core/json.ts";
import { a } from "../a.ts";
import { arbitraryEnvelope } from "../arbitrary.ts";

const json = { jobId: "order-8812-summary", model: "fast-text", op: "converse", params: { messages: [] } };
const bare = a.envelope({ params: { kind: "inline", params: { messages: [] } } });

describe("a field reads as what it means", () => {
  const rows: [says: string, facts: object, envelope: Partial<Envelope>][] = [
    ["only jobId, model, op and params are needed", {}, {}],
    ["a model may be pinned to a target", { model: "fast-text@us-west-2" }, { model: "fast-text@us-west-2" }],
    ["a lane may be asked for", { lane: "bulk" }, { lane: "bulk" }],
    ["a deadline may be epoch milliseconds", { deadlineAt: 1795960000000 }, { deadlineAtMs: 1795960000000 }],
    ["or ISO 8601 in UTC", { deadlineAt: "2026-11-29T12:00:00Z" }, { deadlineAtMs: Date.UTC(2026, 10, 29, 12) }],
    ["or in another zone", { deadlineAt: "2026-11-29T12:00+01:00" }, { deadlineAtMs: Date.UTC(2026, 10, 29, 11) }],
    [
      "or finer than a second",
      { deadlineAt: "2026-11-29T12:00:00.250Z" },
      { deadlineAtMs: Date.UTC(2026, 10, 29, 12, 0, 0, 250) },
    ],
    ["a leap day is a day", { deadlineAt: "2028-02-29T00:00:00Z" }, { deadlineAtMs: Date.UTC(2028, 1, 29) }],
    ["labels are kept", { operation: "summarise", tenant: "acme" }, { operation: "summarise", tenant: "acme" }],
    ["the chain may be cut off", { fallback: "none" }, { fallback: "none" }],
    [
      "or named",
      { fallback: ["smart-text", "fast-text@eu-west-1"] },
      { fallback: ["smart-text", "fast-text@eu-west-1"] },
    ],
    ["metadata is strings", { metadata: { k: "v", "": "" } }, { metadata: { k: "v", "": "" } }],
    [
      "up to its longest",
      { metadata: { k: "x".repeat(metadataLengthMax - 8) } },
      { metadata: { k: "x".repeat(metadataLengthMax - 8) } },
    ],
    ["a deadline may be as late as a Date", { deadlineAt: 8.64e15 }, { deadlineAtMs: 8.64e15 }],
    [
      "the reply may go to a queue",
      { replyTo: { sqs: "https://sqs.example/1/q" } },
      { replyTo: { kind: "sqs", queueUrl: "https://sqs.example/1/q" } },
    ],
    ["to an event bus", { replyTo: { eventBus: "default" } }, { replyTo: { kind: "eventBus", name: "default" } }],
    [
      "to a topic",
      { replyTo: { sns: "arn:aws:sns:us-east-1:1:t" } },
      { replyTo: { kind: "sns", topicArn: "arn:aws:sns:us-east-1:1:t" } },
    ],
    ["to a state machine", { replyTo: { taskToken: "t" } }, { replyTo: { kind: "taskToken", token: "t" } }],
    [
      "which may want heartbeats",
      { replyTo: { taskToken: "t", heartbeatSeconds: 60 } },
      { replyTo: { kind: "taskToken", token: "t", heartbeatSeconds: 60 } },
    ],
    ["any field that is allowed once may be undefined", { lane: undefined, replyTo: undefined }, {}],
  ];
  test.each(rows)("%s", (_says, facts, envelope) =>
    expect(readEnvelope({ ...json, ...facts })).toStrictEqual({ kind: "envelope", envelope: { ...bare, ...envelope } }),
  );

  test.each(["a/b c.json", "k", "two\nlines", "世/é+%20"])("params may lie in S3 instead, under %o", (key) => {
    const { params: _params, ...rest } = json;
    const params: Params = { kind: "ref", bucket: "acme-big", key };
    const read = readEnvelope({ ...rest, paramsRef: `s3://acme-big/${key}` });
    expect(read).toEqual({ kind: "envelope", envelope: { ...bare, params } });
  });
});

const mustBe = {
  jobId: "must be a string of 1 to 128 characters out of A-Z a-z 0-9 _ . : / = + ~ - (a number would lose digits)",
  model: "must be an alias of the config, or alias@target; Bedrock's own id stands in the config",
  op: "must be one of converse, converse_stream, invoke_model",
  params: "must be an object of at most 200 levels, its numbers finite",
  paramsRef: "must be s3://bucket/key",
  lane: "must be one of rt, bg, bulk; leave it out for the lane of the queue",
  deadlineAt:
    "must be epoch milliseconds (13 digits, 10 would be seconds) or ISO 8601 with a zone, like 2026-11-29T12:00:00Z",
  operation: "must be a string of 1 to 128 characters, none of them a control character",
  tenant: "must be a string of 1 to 128 ASCII letters, digits and punctuation marks",
  fallback: 'must be "default", "none" or a list of steps, each an alias or alias@target',
  replyTo:
    'must be exactly one of {"sqs": queue URL}, {"eventBus": name}, {"taskToken": token, "heartbeatSeconds": whole number above 0, optional}, {"sns": topic ARN}',
  metadata: "must be an object of strings, as JSON no longer than 16384 characters",
} as const;

const nested = (levels: number): Json => (levels === 0 ? 1 : [nested(levels - 1)]);

describe("a field that is wrong is named, with what it must be", () => {
  const wrong: { readonly [Field in keyof typeof mustBe]: readonly unknown[] } = {
    jobId: ["", "a b", "é", "x".repeat(129), 7, null, ["a"], "a\n"],
    model: ["", "fast text", "a@", "@b", "a@b@c", "a@b c", "-a", "us.amazon.nova-lite-v1:0", 7, null, "x".repeat(65)],
    op: ["", "Converse", "stream", null, 7, ["converse"]],
    params: [
      null,
      [],
      "{}",
      7,
      { deep: nested(200) },
      { much: Infinity },
      { not: Number.NaN },
      { at: new Date(0) },
      { bytes: new Uint8Array(2) },
      { big: 1n },
    ],
    paramsRef: [
      "",
      "s3://bucket",
      "s3://bucket/",
      "s3:///key",
      "https://bucket/key",
      "see s3://bucket/key",
      7,
      null,
      { bucket: "b" },
      ["s3://bucket/key"],
      "s3://bucket/half a pair \ud800",
      `s3://bucket/${"é".repeat(513)}`,
    ],
    lane: ["", "RT", "fast", null, 0],
    deadlineAt: [
      0,
      -1,
      1_795_960_000,
      1.5e12 + 0.5,
      8.64e15 + 1,
      Infinity,
      null,
      "",
      "1795960000000",
      "tomorrow",
      "2026-11-29",
      "2026-11-29T12:00:00",
      "2026-02-30T12:00:00Z",
      "2026-13-01T12:00:00Z",
      "2026-11-29T25:00:00Z",
      "1970-01-01T00:00:00Z",
      "2026-11-29T12:00:00Z ",
      [1795960000000],
    ],
    operation: ["", "a\nb", "x".repeat(129), 7, null],
    tenant: ["", "a b", "é", "x".repeat(129), 7, null],
    fallback: ["", "all", [], [""], ["a", 7], [null], null, {}, true],
    replyTo: [
      "https://sqs.example/1/q",
      {},
      null,
      [],
      { sqs: "https://a/1/q", sns: "arn:aws:sns:us-east-1:1:t" },
      { sqs: "arn:aws:sqs:us-east-1:1:q" },
      { sqs: 7 },
      { sns: "t" },
      { sns: "see arn:aws:sns:us-east-1:1:t" },
      { sns: "arn:aws:sns:us-east-1:1:t or so" },
      { sqs: "see https://a/1/q" },
      { sqs: "https://a/1/q or so" },
      { eventBus: "" },
      { eventBus: "?default" },
      { eventBus: "default?" },
      { taskToken: "" },
      { taskToken: "x".repeat(2049) },
      { taskToken: "t", heartbeatSeconds: 0 },
      { taskToken: "t", heartbeatSeconds: 1.5 },
      { taskToken: "t", heartbeatSeconds: "60" },
      { sqs: "https://a/1/q", heartbeatSeconds: 60 },
      { heartbeatSeconds: 60 },
    ],
    metadata: [null, [], "k=v", { k: 1 }, { k: null }, { k: { v: "v" } }, { k: "x".repeat(metadataLengthMax) }],
  };
  const rows = Object.entries(wrong).flatMap(([field, values]) =>
    values.map((value): [string, unknown] => [field, value]),
  );

  test.each(rows)("%s: %o", (field, value) => {
    const { params: _params, ...noParams } = json;
    const read = readEnvelope({ ...(field === "paramsRef" ? noParams : json), [field]: value });
    const must = Object.entries(mustBe).find(([name]) => name === field)?.[1];
    const fault = { field, message: `${field} ${must}` };
    expect(read).toEqual(
      field === "jobId" ? { kind: "refused", fault } : { kind: "invalid", jobId: json.jobId, fault },
    );
  });
});

describe("a field that is missing is named, with what it must be", () => {
  const rows: [field: "jobId" | "model" | "op" | "params", message: string][] = [
    ["jobId", `jobId is missing; it ${mustBe.jobId}`],
    ["model", `model is missing; it ${mustBe.model}`],
    ["op", `op is missing; it ${mustBe.op}`],
    ["params", "params is missing; give the Bedrock request, or its place as paramsRef"],
  ];
  test.each(rows)("%s", (field, message) => {
    const { [field]: _missing, ...rest } = json;
    expect(readEnvelope(rest)).toMatchObject({
      kind: field === "jobId" ? "refused" : "invalid",
      fault: { field, message },
    });
  });
});

describe("an unknown field is refused by its name, with the one that was meant", () => {
  const rows: [facts: object, field: string, message: string][] = [
    [{ lanes: "rt" }, "lanes", "lanes is no field; did you mean lane?"],
    [{ LANE: "rt" }, "LANE", "LANE is no field; did you mean lane?"],
    [{ mdoel: "m" }, "mdoel", "mdoel is no field; did you mean model?"],
    [{ paramsRe: "s3://b/k" }, "paramsRe", "paramsRe is no field; did you mean paramsRef?"],
    [{ job_id: "j" }, "job_id", "job_id is no field; did you mean jobId?"],
    [{ prams: {} }, "prams", "prams is no field; did you mean params?"],
    [{ modelId: "m" }, "modelId", "modelId is no field; did you mean model?"],
    [{ deadline: 1 }, "deadline", "deadline is no field; did you mean deadlineAt?"],
    [{ messages: [] }, "messages", "messages is no field; did you mean params.messages?"],
    [{ system: [] }, "system", "system is no field; did you mean params.system?"],
    [{ inferenceConfig: {} }, "inferenceConfig", "inferenceConfig is no field; did you mean params.inferenceConfig?"],
    [{ tool_config: {} }, "tool_config", "tool_config is no field; did you mean params.toolConfig?"],
    [{ replyTo: { lanes: "rt" } }, "replyTo.lanes", "replyTo.lanes is no field; leave it out"],
    [{ TaskToken: "t" }, "TaskToken", "TaskToken is no field; did you mean replyTo.taskToken?"],
    [{ replyTo: { sqz: "u" } }, "replyTo.sqz", "replyTo.sqz is no field; did you mean replyTo.sqs?"],
    [{ replyTo: { sqs: "https://a/1/q", mail: "m" } }, "replyTo.mail", "replyTo.mail is no field; leave it out"],
    [{ id: 1 }, "id", "id is no field; leave it out"],
    [{ constructor: 1 }, "constructor", "constructor is no field; leave it out"],
    [{ "Say hello": 1 }, "?", "? stands for a field with an odd name; leave it out"],
    [{ ["x".repeat(65)]: 1 }, "?", "? stands for a field with an odd name; leave it out"],
    [{ replyTo: { "": 1 } }, "replyTo.?", "replyTo.? stands for a field with an odd name; leave it out"],
  ];
  test.each(rows)("%o", (facts, field, message) =>
    expect(readEnvelope({ ...json, ...facts })).toMatchObject({ kind: "invalid", fault: { field, message } }),
  );

  test("a mistyped name is told before what it leaves missing", () => {
    expect(readEnvelope({ jobId: "j", modle: "fast-text" })).toMatchObject({ fault: { field: "modle" } });
  });

  test("under params and metadata every name is allowed", () => {
    const facts = { params: { anything: 1, jobId: 7 }, metadata: { anything: "1", jobId: "7" } };
    expect(readEnvelope({ ...json, ...facts }).kind).toBe("envelope");
  });
});

describe("whether anybody can be answered", () => {
  test("params and paramsRef exclude each other", () => {
    const fault = { field: "paramsRef", message: "paramsRef stands beside params; keep one of the two" };
    expect(readEnvelope({ ...json, paramsRef: "s3://acme-big/key" })).toMatchObject({ kind: "invalid", fault });
  });

  test("a fault beside a readable replyTo is told there", () => {
    const replyTo = { sqs: "https://sqs.example/1/q" };
    const told: ReplyTo = { kind: "sqs", queueUrl: replyTo.sqs };
    expect(readEnvelope({ ...json, op: "shout", replyTo })).toMatchObject({ kind: "invalid", replyTo: told });
  });

  test("a replyTo that is itself at fault is not", () => {
    expect(readEnvelope({ ...json, replyTo: {} })).not.toHaveProperty("replyTo");
  });

  test("metadata that can be read are kept, to be echoed", () => {
    const metadata = { order: "8812" };
    expect(readEnvelope({ ...json, op: "shout", metadata })).toMatchObject({ kind: "invalid", metadata });
  });

  test("metadata that are themselves at fault are not", () => {
    expect(readEnvelope({ ...json, metadata: { order: 8812 } })).not.toHaveProperty("metadata");
  });

  test.each([null, undefined, 7, "text", [], [json]])("%o is no envelope", (value) =>
    expect(readEnvelope(value)).toEqual({
      kind: "refused",
      fault: { field: "body", message: "body must be a JSON object, the envelope of a job" },
    }),
  );
});

const read = (text: string) => readEnvelope(parseJson(text));
const deep = (levels: number) =>
  `{"jobId":"a","model":"m","op":"converse","params":{"x":${"[".repeat(levels)}${"]".repeat(levels)}}}`;

describe("what JSON can hide does no harm", () => {
  test("__proto__ is an unknown field like any other", () => {
    expect(read('{"__proto__":{"lane":"rt"},"jobId":"p1"}')).toEqual({
      kind: "invalid",
      jobId: "p1",
      fault: { field: "__proto__", message: "__proto__ is no field; leave it out" },
    });
    expect({}).not.toHaveProperty("lane");
  });

  test("__proto__ in params and metadata is kept as what it is: a key", () => {
    const text =
      '{"jobId":"p1","model":"m","op":"converse","params":{"__proto__":{"a":1}},"metadata":{"__proto__":"v"}}';
    const envelope = read(text);
    if (envelope.kind !== "envelope") throw new Error("no envelope");
    expect(JSON.parse(encode(envelope.envelope))).toEqual({ ...JSON.parse(text), fallback: "default" });
    expect(encode(envelope.envelope)).toContain('"params":{"__proto__":{"a":1}}');
    expect(encode(envelope.envelope)).toContain('"metadata":{"__proto__":"v"}');
  });

  test("of a key that comes twice the last counts", () => {
    expect(read('{"jobId":"a","model":"m","op":"converse","params":{},"jobId":"b"}')).toMatchObject({
      envelope: { jobId: "b" },
    });
  });

  test("a number as a jobId is refused, not rounded", () => {
    expect(read('{"jobId":12345678901234567890,"model":"m","op":"converse","params":{}}')).toMatchObject({
      kind: "refused",
      fault: { field: "jobId" },
    });
  });

  test("a number that JSON reads as Infinity is refused, not sent as null", () => {
    expect(read('{"jobId":"a","model":"m","op":"converse","params":{"x":1e999}}')).toMatchObject({
      kind: "invalid",
      fault: { field: "params" },
    });
  });

  test("params as deep as allowed pass, and the hundred-thousandth level is refused without a stack overflow", () => {
    expect(read(deep(jsonLevelsMax - 1)).kind).toBe("envelope");
    expect(read(deep(jsonLevelsMax))).toMatchObject({ kind: "invalid", fault: { field: "params" } });
    expect(read(deep(100_000))).toMatchObject({ kind: "invalid", fault: { field: "params" } });
  });

  test("no message quotes what the body says", () => {
    const secret = "Say hello to Ada";
    const fields = [...Object.keys(mustBe), "jobID", "prompt"];
    for (const field of fields)
      for (const value of [secret, [secret], { [secret]: secret }, { sqs: secret }]) {
        // What the reply echoes is the sender's own.
        const told = { ...readEnvelope({ jobId: "j", [field]: value, [secret]: secret }), metadata: undefined };
        expect(JSON.stringify(told)).not.toContain(secret);
      }
  });
});

describe("encoded", () => {
  test("any envelope reads as itself again", () => {
    fc.assert(
      fc.property(arbitraryEnvelope, (envelope) => {
        expect(readEnvelope(parseJson(encode(envelope)))).toEqual({ kind: "envelope", envelope });
      }),
    );
  });

  test("it holds no character that SQS refuses", () => {
    const metadata = {
      all: String.fromCharCode(...Array.from({ length: 0x1_00_00 / 16 }, (_, code) => code * 16 + 15)),
      low: "\u0000\u0008\uFFFE",
    };
    const body = encode(a.envelope({ metadata }));
    expect(body).toMatch(/^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u);
    expect(readEnvelope(parseJson(body))).toMatchObject({ envelope: { metadata } });
  });
});

describe("against a deployment's config", () => {
  const replies = { ttlDays: 7, inlineBytesMax: 32_768 };
  const allow = {
    sqs: ["https://sqs.example/1/q"],
    eventBuses: ["default"],
    sns: ["arn:aws:sns:us-east-1:1:t"],
    taskTokens: true,
  };
  const lanes = { rt: { share: 1 }, bg: { share: 0.95 }, bulk: { share: 0.9 } };
  const rest = { models: {}, operations: {}, quotaGroups: {}, lanes, logPayloads: false };
  const config: Config = { ...rest, replies: { ...replies, allow }, paramsRef: { buckets: ["acme-big"] } };
  const none = { sqs: [], eventBuses: [], sns: [], taskTokens: false };
  const all: ReplyTo[] = [
    { kind: "sqs", queueUrl: "https://sqs.example/1/q" },
    { kind: "eventBus", name: "default" },
    { kind: "sns", topicArn: "arn:aws:sns:us-east-1:1:t" },
    { kind: "taskToken", token: "t" },
  ];

  test.each(all)("a reply to $kind goes only where the config allows it", (replyTo) => {
    expect(isAllowed(replyTo, allow)).toBe(true);
    expect(checkAgainst(a.envelope({ replyTo }), config)).toBeUndefined();
    expect(isAllowed(replyTo, none)).toBe(false);
    expect(checkAgainst(a.envelope({ replyTo }), { ...config, replies: { ...replies, allow: none } })).toEqual({
      field: "replyTo",
      message: "replyTo names a destination that this deployment does not allow; add it to replies.allow in its config",
    });
  });

  test("another queue of the same kind is not allowed", () => {
    expect(isAllowed({ kind: "sqs", queueUrl: "https://sqs.example/1/other" }, allow)).toBe(false);
  });

  test("params are fetched only from buckets that the config names", () => {
    const [allowed, other] = ["acme-big", "acme"].map((bucket) =>
      a.envelope({ params: { kind: "ref", bucket, key: "k" } }),
    );
    expect(allowed && checkAgainst(allowed, config)).toBeUndefined();
    expect(other && checkAgainst(other, config)).toEqual({
      field: "paramsRef",
      message: "paramsRef names a bucket that this deployment does not read; add it to paramsRef.buckets in its config",
    });
  });

  test("an envelope that wants neither passes", () => expect(checkAgainst(a.envelope(), config)).toBeUndefined());
});

describe("an object means to be an envelope", () => {
  test.each<[says: string, value: JsonObject, means: boolean]>([
    ["by its jobId", { jobId: 7 }, true],
    ["by a model with an op", { model: "m", op: "shout" }, true],
    ["with params", { model: "m", params: 1 }, true],
    ["or with their place", { model: "m", paramsRef: "" }, true],
    ["not by a model alone", { model: "m", lane: "rt" }, false],
    ["nor without one", { op: "converse", params: {} }, false],
    ["nor by a jobId that is an attribute's map", { jobId: { Type: "String", Value: "j" } }, false],
  ])("%s", (_says, value, means) => expect(meansToBeEnvelope(value)).toBe(means));
});

test("what an envelope does not have is not written", () =>
  expect(JSON.parse(encode(bare))).toEqual({ ...json, fallback: "default", metadata: {} }));

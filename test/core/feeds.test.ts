import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { encode } from "../../lib/core/envelope.ts";
import type { Envelope, Read } from "../../lib/core/envelope.ts";
import { layersMax, readBody, readObject } from "../../lib/core/feeds.ts";
import type { ReplyTo } from "../../lib/core/reply-to.ts";
import { a } from "../a.ts";
import { arbitraryEnvelope } from "../arbitrary.ts";
import bodies from "../feeds/bodies.json" with { type: "json" };
import dlq from "../feeds/event-on-dlq.json" with { type: "json" };
import fairQueue from "../feeds/event-fair-queue.json" with { type: "json" };
import fifo from "../feeds/event-fifo.json" with { type: "json" };

const sample = a.envelope({
  params: {
    kind: "inline",
    params: {
      messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }],
      inferenceConfig: { maxTokens: 64 },
    },
  },
  operation: "summarise",
  deadlineAtMs: 1_795_960_000_000,
});
const envelope = (facts: Partial<Envelope> = {}): Read => ({ kind: "envelope", envelope: { ...sample, ...facts } });
const pointer = (bucket: string, key: string): Read => ({ kind: "pointer", bucket, key });
const refused = (field: string, what: string, replyTo?: ReplyTo): Read => ({
  kind: "refused",
  fault: { field, message: `${field} ${what}` },
  ...(replyTo === undefined ? {} : { replyTo }),
});

const noneFor = (replyTo?: ReplyTo) =>
  refused(
    "body",
    "holds no envelope, not within 4 layers either; send an object with jobId, model, op and params",
    replyTo,
  );
const none = noneFor();
const notJson = "is not JSON, or only the beginning of it; API Gateway must send $util.urlEncode($input.body)";
const schedule = refused("detail", "is empty in a schedule's own event; give the schedule the envelope as its input");
const nowhere = refused(
  "body",
  "points to S3 without a readable bucket and key; name a bucket, and a key of 1 to 1,024 bytes of UTF-8",
);
const handshake = refused(
  "Type",
  "is an SNS handshake, whose URL is never fetched; confirm the subscription from its owner's account",
);
const token = "AQCEAAAAKgAAAAMAAAAA-token";

const expected: { readonly [Name in keyof typeof bodies]: Read } = {
  direct: envelope(),
  sns_raw: envelope(),
  sns_wrapped: envelope(),
  sns_subscription_confirmation: handshake,
  eventbridge_rule: envelope(),
  eventbridge_inputpath_detail: envelope(),
  eventbridge_transformer_json: envelope(),
  eventbridge_transformer_text: refused("body", notJson),
  eventbridge_scheduled_rule: schedule,
  scheduler_with_input: envelope(),
  scheduler_default_payload: schedule,
  pipes_from_dynamodb_stream: none,
  s3_put: pointer("acme-prompts", "in/my file (2).json"),
  s3_test_event: { kind: "ignore", why: "s3:TestEvent" },
  s3_via_eventbridge: pointer("acme-prompts", "in/my file (2).json"),
  apigw_encoded: envelope({ metadata: { note: "R&D 50%25 a+b" } }),
  apigw_unencoded_damaged: refused("body", notJson),
  apigw_plus_damaged: envelope({ metadata: { note: "a b" } }),
  sfn_wait_for_task_token: envelope({ replyTo: { kind: "taskToken", token } }),
  sfn_task_token_missing: envelope(),
  iot_rule_json: none,
  extended_client_pointer: pointer("acme-big", "b1c2-key"),
  plain_text: refused("body", notJson),
  empty_object: none,
  json_null: none,
  json_array: none,
  json_string: refused("body", notJson),
  double_encoded: envelope(),
  truncated: refused("body", notJson),
  proto_pollution: {
    kind: "invalid",
    jobId: "p1",
    fault: { field: "__proto__", message: "__proto__ is no field; leave it out" },
  },
  big_int: refused(
    "jobId",
    "must be a string of 1 to 128 characters out of A-Z a-z 0-9 _ . : / = + ~ - (a number would lose digits)",
  ),
};

describe("each sample body reads as what it is", () => {
  test.each(Object.entries(bodies))("%s", (name, body) =>
    expect(readBody(body)).toEqual(Object.entries(expected).find(([known]) => known === name)?.[1]),
  );

  const records = [...fairQueue.Records, ...fifo.Records, ...dlq.Records];
  test.each(records)("the record $messageId of $eventSourceARN", ({ body }) =>
    expect(readBody(body)).toEqual(envelope()),
  );
});

const direct = JSON.parse(bodies.direct);
const sns = (inner: unknown) => ({
  Type: "Notification",
  TopicArn: "arn:aws:sns:us-east-1:1:t",
  Message: JSON.stringify(inner),
});
const event = (detail: unknown) => ({ version: "0", source: "acme.app", "detail-type": "llm.job.requested", detail });
const under = (key: string) => (inner: unknown) => ({ id: "6a7e8feb", [key]: inner });
const s3 = (...records: object[]) => ({ Records: records });
const s3Record = (key: string, eventName = "ObjectCreated:Put") => ({
  eventName,
  s3: { bucket: { name: "b-1" }, object: { key } },
});
const read = (value: unknown) => readBody(JSON.stringify(value));

const extended = (name: string) => [name, { s3BucketName: "b-1", s3Key: "k+1" }];

describe("an object in S3 is pointed to", () => {
  const rows: [says: string, body: unknown, read: Read][] = [
    ["by a notification through SNS", sns(s3(s3Record("a+b%2Bc"))), pointer("b-1", "a b+c")],
    [
      "by an EventBridge event through SNS, its key plain",
      sns(JSON.parse(bodies.s3_via_eventbridge)),
      pointer("acme-prompts", "in/my file (2).json"),
    ],
    [
      "by an event of a multipart upload",
      s3(s3Record("k", "ObjectCreated:CompleteMultipartUpload")),
      pointer("b-1", "k"),
    ],
    ["by a key of other scripts", s3(s3Record("%E4%B8%96.json")), pointer("b-1", "世.json")],
    [
      "by the extended client through SNS",
      sns(extended("software.amazon.payloadoffloading.PayloadS3Pointer")),
      pointer("b-1", "k+1"),
    ],
    [
      "by the extended client, as text under a key",
      under("job")(JSON.stringify(extended("software.amazon.payloadoffloading.PayloadS3Pointer"))),
      pointer("b-1", "k+1"),
    ],
    ["by the extended client of old", extended("com.amazon.sqs.javamessaging.MessageS3Pointer"), pointer("b-1", "k+1")],
    ["but not by a list that only looks like it", extended("acme.Pointer"), none],
    ["nor by one whose class goes on", extended("com.amazon.sqs.javamessaging.MessageS3Pointers"), none],
    ["nor by a longer one", [...extended("com.amazon.sqs.javamessaging.MessageS3Pointer"), 1], none],
    ["but not without a key", s3(s3Record("")), nowhere],
    ["but not by a key that cannot be decoded", s3(s3Record("%E4%B8")), nowhere],
    [
      "but not by a key that S3 can have nowhere: half a character",
      ["software.amazon.payloadoffloading.PayloadS3Pointer", { s3BucketName: "b-1", s3Key: "\ud800" }],
      nowhere,
    ],
    ["but not by a key beyond S3's 1,024 bytes", s3(s3Record("é".repeat(513))), nowhere],
    [
      "but not in what is no bucket's name",
      ["software.amazon.payloadoffloading.PayloadS3Pointer", { s3BucketName: "b-1/own", s3Key: "k" }],
      nowhere,
    ],
    [
      "but not by what only ends like a creation",
      s3(s3Record("k", "Not:ObjectCreated:Put")),
      refused("eventName", "is not about a created object; let the notification choose s3:ObjectCreated:* alone"),
    ],
    [
      "nor when it was deleted",
      s3(s3Record("k", "ObjectRemoved:Delete")),
      refused("eventName", "is not about a created object; let the notification choose s3:ObjectCreated:* alone"),
    ],
    [
      "nor deleted, as EventBridge says it",
      { ...JSON.parse(bodies.s3_via_eventbridge), "detail-type": "Object Deleted" },
      refused("detail-type", "is not about a created object; let the notification choose s3:ObjectCreated:* alone"),
    ],
    [
      "but several at once would lose one",
      s3(s3Record("k1"), s3Record("k2")),
      refused("Records", "holds more than one object; send a message for each job"),
    ],
    ["and none is none", s3(), refused("Records", "is not from S3; send the envelope itself")],
    [
      "nor are records of others S3's",
      { Records: [{ eventSource: "aws:sqs", body: "{}" }] },
      refused("Records", "is not from S3; send the envelope itself"),
    ],
  ];
  test.each(rows)("%s", (_says, body, expectedRead) => expect(read(body)).toEqual(expectedRead));

  test("the test event is ignored through SNS too", () =>
    expect(read(sns(JSON.parse(bodies.s3_test_event)))).toEqual({ kind: "ignore", why: "s3:TestEvent" }));
});

describe("the object that was pointed to", () => {
  test("is read like a body, with the mark that Windows writes", () => {
    expect(readObject(bodies.direct)).toEqual(envelope());
    expect(readObject(`\uFEFF${bodies.direct}`)).toEqual(envelope());
    expect(readObject("hello")).toEqual(refused("body", notJson));
  });

  test.each(["s3_put", "extended_client_pointer", "s3_test_event"] as const)("may not be %s itself", (name) =>
    expect(readObject(bodies[name])).toEqual(
      refused("body", "names an object that holds a notification; store the envelope itself there"),
    ),
  );
});

describe("wrappings", () => {
  const attribute = { stringValue: "other", dataType: "String" };
  const messageAttributes = { model: attribute, op: attribute };
  const rows: [says: string, body: unknown, read: Read][] = [
    ["a transformer may put it under any key", under("params")(direct), envelope()],
    ["or as text", under("job")(JSON.stringify(direct)), envelope()],
    ["even under __proto__", JSON.parse(`{"__proto__":${bodies.direct}}`), envelope()],
    [
      "a pipe from another queue brings a record",
      { eventSource: "aws:sqs", messageAttributes, body: bodies.direct },
      envelope(),
    ],
    [
      "an attribute that is named like a field is no envelope",
      { job: direct, attributes: { jobId: attribute } },
      envelope(),
    ],
    [
      "an attribute of an SNS message is no envelope",
      { ...sns(direct), MessageAttributes: { jobId: { Type: "String", Value: "x" } } },
      envelope(),
    ],
    ["an SNS message of text is refused by its name", { ...sns(0), Message: "hello" }, refused("Message", notJson)],
    ["an SNS message without text is none", { Type: "Notification" }, none],
    ["an SNS farewell is refused", { Type: "UnsubscribeConfirmation", SubscribeURL: "https://sns.example" }, handshake],
    [
      "two envelopes in one message would be two jobs",
      { a: direct, b: { ...direct, jobId: "j-2" } },
      refused("body", "holds more than one envelope; send a message for each job"),
    ],
    ["a list of envelopes too", [direct], none],
    [
      "an envelope without its jobId is one still",
      sns({ ...direct, jobId: undefined }),
      refused(
        "jobId",
        "is missing; it must be a string of 1 to 128 characters out of A-Z a-z 0-9 _ . : / = + ~ - (a number would lose digits)",
      ),
    ],
    [
      "a fault inside is the job's, and names its field",
      event({ ...direct, op: "shout" }),
      {
        kind: "invalid",
        jobId: sample.jobId,
        fault: { field: "op", message: "op must be one of converse, converse_stream, invoke_model" },
      },
    ],
    [
      "a job that says of itself what S3's test event says is no less a job",
      { Event: "s3:TestEvent", job: direct },
      envelope(),
    ],
    ["one as text neither", { Service: "Amazon S3", Event: "s3:TestEvent", Bucket: bodies.direct }, envelope()],
    ["text under a key may have blanks around it", { job: ` ${bodies.direct}\n` }, envelope()],
    ["a model alone makes no envelope", { model: "d-9", text: "hello" }, none],
  ];
  test.each(rows)("%s", (_says, body, expectedRead) => expect(read(body)).toEqual(expectedRead));
});

describe("a task token beside the envelope", () => {
  const real = "AAAAKgAAAAIAAAAAAAAAAXNeSpejfhLU";
  const waiting = (facts: object = {}) => ({ kind: "taskToken" as const, token: real, ...facts });
  const several = (replyTo?: ReplyTo) =>
    refused("body", "holds more than one envelope; send a message for each job", replyTo);
  const beId = "be a string of 1 to 128 characters out of A-Z a-z 0-9 _ . : / = + ~ - (a number would lose digits)";
  const rows: [says: string, body: unknown, read: Read][] = [
    [
      "is known by its beginning under any key",
      { job: direct, id: "x", whoWaits: real },
      envelope({ replyTo: waiting() }),
    ],
    [
      "or by its key, whatever it looks like",
      { job: direct, id: "x", taskToken: "t-1" },
      envelope({ replyTo: waiting({ token: "t-1" }) }),
    ],
    [
      "its beginning tells more than a key",
      { job: direct, token: "t-1", whoWaits: real },
      envelope({ replyTo: waiting() }),
    ],
    ["not by the same farther in", { job: direct, id: `123456789${real}` }, envelope()],
    ["no other text is one", { job: direct, id: "x", tokens: "many" }, envelope()],
    ["nor an empty one", { job: direct, taskToken: "" }, envelope()],
    [
      "may say how often to beat",
      { job: direct, token: real, heartbeatSeconds: 60 },
      envelope({ replyTo: waiting({ heartbeatSeconds: 60 }) }),
    ],
    [
      "garbage beside it is left",
      { job: direct, token: real, heartbeatSeconds: "often" },
      envelope({ replyTo: waiting() }),
    ],
    ["by way of an event bus", event({ job: direct, token: real }), envelope({ replyTo: waiting() })],
    [
      "hears of a fault",
      { job: { ...direct, op: "shout" }, token: real },
      {
        kind: "invalid",
        jobId: sample.jobId,
        fault: { field: "op", message: "op must be one of converse, converse_stream, invoke_model" },
        replyTo: waiting(),
      },
    ],
    [
      "hears that it stands among the fields",
      { ...direct, TaskToken: real },
      {
        kind: "invalid",
        jobId: sample.jobId,
        fault: { field: "TaskToken", message: "TaskToken is no field; did you mean replyTo.taskToken?" },
        replyTo: waiting(),
      },
    ],
    [
      "hears that a replyTo beside it is one too many",
      { job: { ...direct, replyTo: { eventBus: "default" }, metadata: { order: "8812" } }, token: real },
      {
        kind: "invalid",
        jobId: sample.jobId,
        fault: { field: "replyTo", message: "replyTo stands beside a task token; keep one of the two" },
        replyTo: waiting(),
        metadata: { order: "8812" },
      },
    ],
    [
      "cannot wait for a pointer, and hears that",
      { job: s3(s3Record("k")), token: real },
      refused("body", "holds a task token beside a notification; send the envelope itself", waiting()),
    ],
    [
      "nor as a field of a notification",
      { ...s3(s3Record("k")), token: real },
      refused("body", "holds a task token beside a notification; send the envelope itself", waiting()),
    ],
    [
      "nor of one by way of EventBridge",
      { ...JSON.parse(bodies.s3_via_eventbridge), token: real },
      refused("body", "holds a task token beside a notification; send the envelope itself", waiting()),
    ],
    [
      "hears of a jobId that names no job",
      { job: { ...direct, jobId: "order (12)" }, token: real },
      refused("jobId", `must ${beId}`, waiting()),
    ],
    [
      "hears of one that is missing",
      { job: { ...direct, jobId: undefined }, token: real },
      refused("jobId", `is missing; it must ${beId}`, waiting()),
    ],
    [
      "hears so as a replyTo too",
      { ...direct, jobId: 17, replyTo: { taskToken: real } },
      refused("jobId", `must ${beId}`, waiting()),
    ],
    [
      "and among the fields",
      { ...direct, jobId: 17, taskToken: real },
      refused("taskToken", "is no field; did you mean replyTo.taskToken?", waiting()),
    ],
    ["hears that it stands beside two envelopes", { a: direct, b: direct, token: real }, several(waiting())],
    [
      "or in the first of them",
      { a: { ...direct, replyTo: { taskToken: real } }, b: { ...direct, replyTo: { taskToken: "t-2" } } },
      several(waiting()),
    ],
    [
      "or in the second, though it has a fault",
      { a: direct, b: { job: { jobId: "j" }, token: real } },
      several(waiting()),
    ],
    ["and a third thing is looked at no more", { a: direct, b: direct, c: { token: real } }, several()],
    ["hears that there is no envelope beside it", { prompt: "Say hello.", token: real }, noneFor(waiting())],
    ["nor within", { input: { prompt: "Say hello.", token: real } }, noneFor(waiting())],
    ["nor so deep", { a: { b: { c: { d: { job: direct, token: real } } } } }, noneFor(waiting())],
    ["a field that looks like one is the field", { ...direct, tenant: real }, envelope({ tenant: real })],
    ["under another key than the envelope is none of its", { context: { token: real }, job: direct }, envelope()],
    ["before it and after it", { job: direct, context: { token: real } }, envelope()],
  ];
  test.each(rows)("%s", (_says, body, expectedRead) => expect(read(body)).toEqual(expectedRead));
});

type Wrap = (inner: unknown) => unknown;
/** Each is one layer, whatever lies inside it. */
const wraps: Wrap[] = [sns, event, under("job"), under("detail"), (inner) => sns(inner)];
const oneLayer = fc.constantFrom(...wraps);
const wrapped = (layers: readonly Wrap[], inner: unknown) => layers.reduce((value, wrap) => wrap(value), inner);
const asText: Wrap = (inner) => JSON.stringify(inner);

const deep = (open: string, close: string) => `${open.repeat(100_000)}1${close.repeat(100_000)}`;
const kinds = ["envelope", "pointer", "ignore", "invalid", "refused"];
/** The job that a body names, if it can be answered. */
const named = (looked: Read) => {
  if (looked.kind === "envelope") return looked.envelope.jobId;
  return looked.kind === "invalid" ? looked.jobId : undefined;
};

describe("whatever arrives", () => {
  test("up to four layers leave an envelope as it was", () => {
    const layers = fc.array(fc.oneof(oneLayer, fc.constant(asText)), { maxLength: layersMax });
    fc.assert(
      fc.property(arbitraryEnvelope, layers, (inner, around) => {
        expect(read(wrapped(around, JSON.parse(encode(inner))))).toEqual({ kind: "envelope", envelope: inner });
      }),
    );
  });

  test("the fifth layer is not taken off", () => {
    const layers = fc.array(oneLayer, { minLength: layersMax + 1, maxLength: layersMax + 3 });
    fc.assert(
      fc.property(layers, (around) => {
        expect(read(wrapped(around, direct))).toEqual(none);
      }),
    );
    expect(
      read(
        wrapped(
          Array.from({ length: layersMax }, () => asText),
          direct,
        ),
      ),
    ).toEqual(envelope());
    expect(
      read(
        wrapped(
          Array.from({ length: layersMax + 1 }, () => asText),
          direct,
        ),
      ),
    ).toEqual(none);
  });

  test("any text is read as something", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), (body) => {
        expect(kinds).toContain(readBody(body).kind);
      }),
    );
  });

  test("any beginning of a good body too", () => {
    const cuts = fc
      .constantFrom(...Object.values(bodies))
      .chain((body) => fc.nat(body.length).map((at) => body.slice(0, at)));
    fc.assert(
      fc.property(cuts, (body) => {
        expect(kinds).toContain(readBody(body).kind);
      }),
    );
  });

  test("and any good body with one value in it changed for another", () => {
    const changed = fc
      .record({
        body: fc.constantFrom(...Object.values(bodies)),
        at: fc.nat(60),
        by: fc.jsonValue(),
        drop: fc.boolean(),
      })
      .map(({ body, at, by, drop }) => {
        let place = 0;
        const change = (_key: string, value: unknown) => (place++ === at ? (drop ? undefined : by) : value);
        return parsed(body, (value) => JSON.stringify(value, change) ?? "");
      });
    fc.assert(
      fc.property(changed, (body) => {
        expect(kinds).toContain(readBody(body).kind);
      }),
      { numRuns: 1_000 },
    );
  });

  test("a changed value never makes another's job of it: the jobId is the sender's or none", () => {
    const change = fc.record({
      field: fc.constantFrom(...Object.keys(direct)),
      by: fc.jsonValue(),
      around: fc.array(oneLayer, { maxLength: 4 }),
    });
    fc.assert(
      fc.property(change, ({ field, by, around }) => {
        const looked = read(wrapped(around, { ...direct, [field]: by }));
        expect(field === "jobId" ? [by, undefined] : [direct.jobId]).toContain(named(looked));
      }),
    );
  });

  test("depth breaks nothing", () => {
    expect(readBody(deep("[", "]"))).toEqual(none);
    expect(readBody(deep('{"a":', "}"))).toEqual(none);
    expect(readBody(`{"detail-type":"x","detail":${deep('{"a":', "}")}}`)).toEqual(none);
  });
});

function parsed(text: string, then: (value: unknown) => string): string {
  try {
    return then(JSON.parse(text));
  } catch {
    return text;
  }
}

/** What fast-check draws from: everything that the types allow, not only what people send. */
import { fc } from "@fast-check/vitest";
import type { Envelope, Params } from "../lib/core/envelope.ts";
import type { ReplyTo } from "../lib/core/reply-to.ts";

const text = fc.string({ unit: "binary" });
const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,19}$/);
const step = fc.oneof(
  name,
  fc.tuple(name, name).map(([model, target]) => `${model}@${target}`),
);

const json = fc.dictionary(fc.oneof(text, fc.constantFrom("__proto__", "constructor", "jobId")), fc.jsonValue());

const params: fc.Arbitrary<Params> = fc.oneof(
  // Through JSON once, so that `__proto__` is a key like any other.
  json.map((value): Params => ({ kind: "inline", params: JSON.parse(JSON.stringify(value)) })),
  fc.record({
    kind: fc.constant("ref" as const),
    bucket: fc.stringMatching(/^[a-z0-9][a-z0-9.-]{1,20}[a-z0-9]$/),
    key: fc.string({ unit: "grapheme", minLength: 1, maxLength: 50 }),
  }),
);

export const arbitraryReplyTo: fc.Arbitrary<ReplyTo> = fc.oneof(
  fc.record({ kind: fc.constant("sqs" as const), queueUrl: name.map((queue) => `https://sqs.example/1/${queue}`) }),
  fc.record({ kind: fc.constant("eventBus" as const), name }),
  fc.record({ kind: fc.constant("sns" as const), topicArn: name.map((topic) => `arn:aws:sns:us-east-1:1:${topic}`) }),
  fc.record(
    {
      kind: fc.constant("taskToken" as const),
      token: fc.string({ minLength: 1, maxLength: 100 }),
      heartbeatSeconds: fc.integer({ min: 1, max: 99_999_999 }),
    },
    { requiredKeys: ["kind", "token"] },
  ),
);

export const arbitraryEnvelope: fc.Arbitrary<Envelope> = fc.record(
  {
    jobId: fc.stringMatching(/^[A-Za-z0-9_.:/=+~-]{1,128}$/),
    model: step,
    op: fc.constantFrom("converse", "converse_stream", "invoke_model"),
    params,
    lane: fc.constantFrom("rt", "bg", "bulk"),
    deadlineAtMs: fc.integer({ min: 100_000_000_000, max: 8_640_000_000_000_000 }),
    operation: fc.stringMatching(/^[ -~é世]{1,128}$/),
    tenant: fc.stringMatching(/^[!-~]{1,128}$/),
    fallback: fc.oneof(
      fc.constantFrom("default" as const, "none" as const),
      fc.array(step, { minLength: 1, maxLength: 4 }),
    ),
    replyTo: arbitraryReplyTo,
    metadata: fc.dictionary(text, text, { maxKeys: 5 }),
  },
  { requiredKeys: ["jobId", "model", "op", "params", "fallback", "metadata"] },
);

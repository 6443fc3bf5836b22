/** Bodies as nobody should send them: samples and envelopes, damaged, wrapped and badly encoded. */
import { fc } from "@fast-check/vitest";
import { encode } from "../../lib/core/envelope.ts";
import { arbitraryEnvelope } from "../arbitrary.ts";
import samples from "../feeds/bodies.json" with { type: "json" };
import dlq from "../feeds/event-on-dlq.json" with { type: "json" };
import fairQueue from "../feeds/event-fair-queue.json" with { type: "json" };
import fifo from "../feeds/event-fifo.json" with { type: "json" };

/** What stands for the payload: no fault, log line or metric may say it. */
export const secret = "Say hello to Ada.";

/** JSON as it is written: a key may come twice, a number be beyond all numbers, a text hold JSON. */
export type Written =
  | { readonly kind: "raw"; readonly text: string }
  | { readonly kind: "object"; readonly pairs: readonly Pair[] }
  | { readonly kind: "list"; readonly items: readonly Written[] }
  | { readonly kind: "text"; readonly inner: Written };
type Pair = readonly [key: string, value: Written];

const raw = (text: string): Written => ({ kind: "raw", text });
const text = (value: string): Written => raw(JSON.stringify(value));
const object = (pairs: readonly Pair[]): Written => ({ kind: "object", pairs });
const list = (items: readonly Written[]): Written => ({ kind: "list", items });
const asText = (inner: Written): Written => ({ kind: "text", inner });

export function write(written: Written): string {
  switch (written.kind) {
    case "raw":
      return written.text;
    case "text":
      return JSON.stringify(write(written.inner));
    case "list":
      return `[${written.items.map(write).join(",")}]`;
    case "object":
      return `{${written.pairs.map(([key, value]) => `${JSON.stringify(key)}:${write(value)}`).join(",")}}`;
  }
}

export function writtenOf(value: unknown): Written {
  if (Array.isArray(value)) return list(value.map(writtenOf));
  if (typeof value === "object" && value !== null)
    return object(Object.entries(value).map(([key, inner]) => [key, writtenOf(inner)]));
  return typeof value === "string" && value.startsWith("{") ? ofText(value, asText) : raw(JSON.stringify(value));
}

function ofText(json: string, as: (inner: Written) => Written = (inner) => inner): Written {
  try {
    return as(writtenOf(JSON.parse(json)));
  } catch {
    return text(json);
  }
}

const prototypeNames = ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype"];
const fields =
  "jobId model op params paramsRef lane deadlineAt operation tenant fallback replyTo metadata TaskToken heartbeatSeconds".split(
    " ",
  );
const telling = "Type Message detail detail-type Records Event Service eventSource eventName body source s3 sqs".split(
  " ",
);
const hostileKey = fc.constantFrom(
  ...prototypeNames,
  ...fields,
  ...telling,
  "",
  secret,
  "job_id",
  "x".repeat(65),
  "0",
  "\ud800",
  "\u0000",
  "modelId",
  "messages",
);

const numbers =
  "1e400 -1e400 1e309 9007199254740993 12345678901234567890 -0 0 -1 1.5 1e-400 1e18 -1e18 1795960000 1795960000000 8640000000000000 8640000000000001 99999999999".split(
    " ",
  );
const dates = [
  "0000-01-01T00:00:00Z",
  "-000001-01-01T00:00:00Z",
  "2026-12-31T23:59:60Z",
  "2026-11-29T24:00:00Z",
  "2026-11-29T12:00:00",
  "2026-02-29T12:00:00Z",
  "9999-12-31T23:59:59.999999999Z",
  "2026-11-29T12:00:00+14:00",
  "2026-11-29T12:00:00+99:99",
];
const texts = [
  dates,
  ["", " ", secret, "NaN", "Infinity", "null", "{}", "[1", "[]", '{"jobId":"inner"}', "\ud800", "a\udc00", "\uFEFF"],
  [
    "\u0000\u001f",
    "\u007f\u0085",
    "\uFFFE\uFFFF",
    "x".repeat(128),
    "x".repeat(129),
    "世".repeat(128),
    "😀".repeat(129),
  ],
  ["default", "none", "rt", "bulk", "RT", "converse", "converse_stream", "invoke_model", "Converse"],
  ["fast", "fast-text@west", "fast-text@nowhere", "a@b@c"],
  ["s3://acme-big/key", "s3://acme-big/", "s3://acme-big/\ud800", "s3://constructor/k", "s3://../..", "S3://b/k"],
  ["https://sqs.example/1/q", "arn:aws:sns:us-east-1:1:t", "AQCEAAAAKgAAAAMAAAAA-token"],
  ["Notification", "SubscriptionConfirmation", "s3:TestEvent", "Amazon S3", "aws:sqs", "aws:s3", "aws.s3"],
  ["Scheduled Event", "Object Created", "ObjectCreated:Put", "ObjectRemoved:Delete", "%E4%B8", "a.PayloadS3Pointer"],
].flat();
const nested = (levels: number, open = "[", close = "]") => raw(`${open.repeat(levels)}1${close.repeat(levels)}`);
const filled = (length: number, letter = "x") => raw(`{"k":"${letter.repeat(length - '{"k":""}'.length)}"}`);
/** Where a name is looked up: as a model, a target, an operation, a lane. */
const prototypeValues = ["constructor@constructor", "toString@west", "fast-text@constructor", ...prototypeNames].map(
  text,
);
const hostileValue: fc.Arbitrary<Written> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...prototypeValues, list(prototypeValues.slice(-1))) },
  { weight: 6, arbitrary: fc.constantFrom(...texts).map(text) },
  { weight: 3, arbitrary: fc.constantFrom(...numbers, "null", "true", "{}", "[]", "[null]", "[[]]").map(raw) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      nested(198),
      nested(199),
      nested(200),
      nested(20_000),
      nested(500, '{"a":', "}"),
      filled(16_384),
      filled(16_385),
      filled(16_384, "世"),
      raw(`[${'"fast-text@west",'.repeat(300)}"smart-text"]`),
      raw('{"sqs":"https://sqs.example/1/q"}'),
      raw('{"taskToken":"t","heartbeatSeconds":1e400}'),
      raw('{"__proto__":{"polluted":true}}'),
      raw('{"constructor":{"prototype":{"polluted":true}}}'),
      raw('"\\u0041\\ud83d"'),
      raw('["a.MessageS3Pointer",{"s3BucketName":"acme-big","s3Key":"k"}]'),
    ),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }).map(writtenOf) },
);

/** What becomes of one pair of key and value. */
type Change = (pair: Pair) => readonly Pair[];

/** A slip of the hand: a letter left out, doubled, or of the other case. */
const slip = fc.tuple(fc.nat(15), fc.constantFrom(0, 1, 2)).map(([at, how]) => (name: string) => {
  const place = at % Math.max(1, name.length);
  const letter = name[place] ?? "";
  const by = ["", letter + letter, letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()][how];
  return name.slice(0, place) + (by ?? "") + name.slice(place + 1);
});

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.constant<Change>(() => []),
  fc.tuple(hostileValue, fc.boolean()).map(
    ([other, last]): Change =>
      ([key, value]) =>
        last
          ? [
              [key, value],
              [key, other],
            ]
          : [
              [key, other],
              [key, value],
            ],
  ),
  {
    weight: 4,
    arbitrary: hostileValue.map((value): Change => ([key]) => [[key, value]]),
  },
  slip.map((rename): Change => ([key, value]) => [[rename(key), value]]),
  hostileKey.map((key): Change => ([, value]) => [[key, value]]),
  hostileKey.map((inner): Change => ([key, value]) => [[key, object([[inner, value]])]]),
  fc.constantFrom<Change[]>(
    ([key, value]) => [[key, list([value])]],
    ([key, value]) => [[key, list([value, value])]],
    ([key, value]) => [[key, asText(value)]],
    ([key, value]) => [
      [key, value],
      [`${key}2`, value],
    ],
  ),
  {
    weight: 3,
    arbitrary: fc.tuple(hostileKey, hostileValue).map((more): Change => (pair) => [pair, more]),
  },
);

function pairsIn(written: Written): number {
  switch (written.kind) {
    case "raw":
      return 0;
    case "text":
      return pairsIn(written.inner);
    case "list":
      return written.items.reduce((sum, item) => sum + pairsIn(item), 0);
    case "object":
      return written.pairs.reduce((sum, [, value]) => sum + 1 + pairsIn(value), 0);
  }
}

/** `at` counts pairs from the outermost in, round and round. */
function changed(root: Written, at: number, act: Change): Written {
  let left = at % Math.max(1, pairsIn(root));
  const walk = (written: Written): Written => {
    switch (written.kind) {
      case "raw":
        return written;
      case "text":
        return asText(walk(written.inner));
      case "list":
        return list(written.items.map(walk));
      case "object":
        return object(
          written.pairs.flatMap(([key, value]) => (left-- === 0 ? act([key, value]) : [[key, walk(value)]])),
        );
    }
  };
  return walk(root);
}

const events = [...fairQueue.Records, ...fifo.Records, ...dlq.Records, fairQueue, fifo, dlq];
const envelope = arbitraryEnvelope.map((it) => ofText(encode(it)));
const direct = fc.oneof({ weight: 3, arbitrary: fc.constant(ofText(samples.direct)) }, envelope);
const sample = fc.constantFrom(...Object.values(samples).map((body) => ofText(body)), ...events.map(writtenOf));

function damaged(from: fc.Arbitrary<Written>, changesMin: number): fc.Arbitrary<Written> {
  const changes = fc.array(fc.tuple(fc.nat(200), change), { minLength: changesMin, maxLength: 3 });
  return fc.tuple(from, changes).map(([written, all]) => all.reduce((it, [at, act]) => changed(it, at, act), written));
}

/** An object that has a jobId or not, but was an envelope before somebody changed it. */
export const damagedEnvelope = damaged(direct, 1);

export type Layer = (inner: Written) => Written;

/** One layer of what AWS or an author puts around a body; each leaves what it holds as it is. */
export const layer: fc.Arbitrary<Layer> = fc.oneof(
  fc.constantFrom(
    (inner: Written) =>
      object([
        ["Type", text("Notification")],
        ["MessageId", text("m")],
        ["Message", asText(inner)],
      ]),
    (inner: Written) =>
      object([
        ["source", text("acme.app")],
        ["detail-type", text("job")],
        ["detail", inner],
      ]),
    (inner: Written) =>
      object([
        ["detail-type", text("Scheduled Event")],
        ["detail", asText(inner)],
      ]),
    (inner: Written) =>
      object([
        ["eventSource", text("aws:sqs")],
        ["messageId", text("m")],
        ["body", asText(inner)],
      ]),
    asText,
  ),
  fc.tuple(fc.constantFrom("job", "input", "detail", "Message", "Payload", "7", ...prototypeNames), fc.boolean()).map(
    ([key, encoded]) =>
      (inner: Written) =>
        object([
          ["id", text("i")],
          [key, encoded ? asText(inner) : inner],
        ]),
  ),
);

/** More layers than are taken off, and some that hide what they hold, or wait for it. */
const anyLayer = fc.oneof(
  { weight: 4, arbitrary: layer },
  fc.constantFrom(
    (inner: Written) => list([inner]),
    (inner: Written) =>
      object([
        ["job", inner],
        ["TaskToken", text("AQCEAAAAKgAAAAMAAAAA-token")],
      ]),
    (inner: Written) =>
      object([
        ["a", inner],
        ["b", asText(inner)],
      ]),
    (inner: Written) => object([["Records", list([inner])]]),
  ),
);

/** How a body is spoiled on its way, as text. `at` is somewhere in it. */
const spoilings: readonly ((body: string, at: number) => string)[] = [
  (body) => `\uFEFF${body}`,
  (body) => `\uFEFF\uFEFF${body}`,
  (body) => ` \r\n\t${body}\n`,
  (body, at) => body.slice(0, at),
  (body) => body.slice(0, body.indexOf("&")),
  (body) => Buffer.from(body).toString("base64"),
  (body) => encodeURIComponent(body.toWellFormed()),
  (body) => JSON.stringify(body),
  (body) => JSON.stringify(JSON.stringify(body)),
  (body, at) =>
    Buffer.concat([Buffer.from(body.slice(0, at)), Buffer.from([0xff, 0xc0]), Buffer.from(body.slice(at))]).toString(),
  ...["\u0000", "\n", "\u001f", "\ud800", "\udc00", "\u2028", "{", '"', "\\", ","].map(
    (odd) => (body: string, at: number) => body.slice(0, at) + odd + body.slice(at),
  ),
  (body) => `${body}${body}`,
  (body) => body.replaceAll('"', "'"),
  (body) => body.replace(/:\d+/, ":NaN"),
  (body) => `// ${secret}\n${body}`,
];

const spoiled = fc.oneof(
  { weight: 3, arbitrary: fc.constant((body: string) => body) },
  fc.tuple(fc.constantFrom(...spoilings), fc.double({ min: 0, max: 1, noNaN: true })).map(
    ([spoil, part]) =>
      (body: string) =>
        spoil(body, Math.floor(part * body.length)),
  ),
);

/** Any of it together, some kilobytes at most. */
export const anyBody: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(fc.oneof(damaged(sample, 0), damagedEnvelope), fc.array(anyLayer, { maxLength: 6 }), fc.nat(3), spoiled)
      .map(([inner, layers, bare, spoil]) =>
        spoil(write(bare === 0 ? inner : layers.reduce((it, wrap) => wrap(it), inner))),
      ),
  },
  { weight: 1, arbitrary: fc.oneof(hostileValue.map(write), fc.string({ unit: "binary" }), fc.json()) },
);

import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { prepare } from "../../lib/client/message.ts";
import { readBody } from "../../lib/core/feeds.ts";
import { objectBytesMax } from "../../lib/core/limits.ts";

/** https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html */
const charactersOfSqs = /^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u;

/** Any UTF-16, lone surrogates and the characters that XML lacks among it. */
const texts = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.constantFrom("\uFFFE", "\uFFFF", "\uD800", "\0", "\u2028"),
);

function messageSaying(text: string, key: string) {
  const params = { messages: [{ role: "user", content: [{ text }] }], [key]: text };
  const prepared = prepare({ jobId: "j-1", model: "fast-text", op: "converse", params }, undefined);
  if (prepared.kind === "refused") throw new Error(prepared.fault.field);
  return { params, message: prepared.message };
}

const asking = (text: string) => ({ jobId: "j-1", model: "fast-text", op: "invoke_model", params: { text } });

describe("params that are big", () => {
  test("go to S3 by what they take in a message, where some characters are longer", () => {
    // 3 bytes of UTF-8 each, 6 as SQS takes them.
    const prepared = prepare(asking("\uFFFF".repeat(200_000)), "bucket");
    expect(prepared).toMatchObject({
      kind: "ready",
      upload: { bucket: "bucket", text: expect.stringContaining("\uFFFF") },
    });
    expect(prepare(asking("\uFFFF".repeat(200_000)), undefined)).toMatchObject({
      fault: { field: "params", message: expect.stringContaining("params has 1200011 bytes") },
    });
  });

  test("go to S3 up to what a worker reads there, and no further", () => {
    const most = "x".repeat(objectBytesMax - '{"text":""}'.length);
    expect(prepare(asking(most), "bucket")).toMatchObject({ kind: "ready", upload: { bucket: "bucket" } });
    const fault = {
      field: "params",
      message: expect.stringContaining("has 33554433 bytes and a worker reads 33554432"),
    };
    expect(prepare(asking(`${most}x`), "bucket")).toMatchObject({ kind: "refused", fault });
    expect(prepare(asking(`${most}x`), undefined)).toMatchObject({ kind: "refused", fault });
  });
});

describe("a message, whatever its text,", () => {
  test("is read by the worker as it was asked", () => {
    fc.assert(
      fc.property(texts, texts, (text, key) => {
        const { params, message } = messageSaying(text, key);
        const read = readBody(message.body);
        expect(read.kind === "envelope" && read.envelope.params).toEqual({ kind: "inline", params });
      }),
    );
  });

  test("is counted in bytes of UTF-8", () => {
    fc.assert(
      fc.property(texts, texts, (text, key) => {
        const { message } = messageSaying(text, key);
        expect(message.bytes).toBe(new TextEncoder().encode(message.body).length);
      }),
    );
  });

  test("has only characters that SQS takes as they are", () => {
    fc.assert(
      fc.property(texts, texts, (text, key) => {
        expect(messageSaying(text, key).message.body).toMatch(charactersOfSqs);
      }),
    );
  });
});

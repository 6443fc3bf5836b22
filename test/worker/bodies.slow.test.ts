import { expect, test } from "vitest";
import { sqsMessageBytesMax } from "../../lib/core/limits.ts";
import { giants } from "../core/giant-bodies.ts";
import { amissIn, bodiesMax, checkBatch } from "./body-rules.ts";

const timeoutMs = 600_000;

test(
  "of a thousand batches no body is lost: each is answered or kept, and its neighbours run",
  async () => expect(await amissIn(1_000)).toBeUndefined(),
  timeoutMs,
);

test("nor is one of a mebibyte", { timeout: timeoutMs }, async () => {
  const bodies = giants.map(([, body]) => body);
  expect(Math.max(...bodies.map((body) => Buffer.byteLength(body)))).toBe(sqsMessageBytesMax);
  for (let from = 0; from < bodies.length; from += bodiesMax)
    await checkBatch({ bodies: bodies.slice(from, from + bodiesMax), objects: [] });
});

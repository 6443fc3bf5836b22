import { expect, test } from "vitest";
import { deliveryOf } from "../../lib/core/batch.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import { t0 } from "../a.ts";
import { aService, passing } from "./a-service.ts";

const trace = "Root=1-5e1b4151-5ac6c58f5b5daa6532e4d5f7;Parent=53995c3f42cd8ad8;Sampled=1";
const job = { jobId: "j-1", model: "fast", op: "converse", params: { messages: [] } };

/** What is stored of a job whose message has this header. */
async function metaOf(body: JsonObject, AWSTraceHeader?: string): Promise<object | undefined> {
  const service = aService();
  const { clock } = service.world;
  const attributes = { SentTimestamp: String(t0), ...(AWSTraceHeader === undefined ? {} : { AWSTraceHeader }) };
  const record = { messageId: "m-1", receiptHandle: "r-1", body: JSON.stringify(body), attributes };
  const ends = clock.nowMs() + 60_000;
  await passing(clock, processBatch(service.worker, [deliveryOf(record, "bg", clock.nowMs())], ends));
  return service.reply()?.meta;
}

test("a reply tells the trace that its message came with", async () =>
  expect(await metaOf(job, `${trace};Lineage=25:a87bd80c:1`)).toHaveProperty("trace", trace));

test("so does one that refuses the envelope", async () =>
  expect(await metaOf({ ...job, modle: "" }, trace)).toHaveProperty("trace", trace));

test("a reply tells none if there was none", async () => {
  const meta = await metaOf(job);
  expect(meta).toHaveProperty("workerVersion");
  expect(meta).not.toHaveProperty("trace");
});

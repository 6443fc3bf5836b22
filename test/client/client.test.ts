import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { sqsClient } from "../../lib/aws/clients.ts";
import { createClient } from "../../lib/client/index.ts";
import type { JobOf } from "../../lib/client/index.ts";
import { createBucket, createJobTable, createQueue, dynamoEngines, engineForTests } from "../contract/engines.ts";

const saying = (jobId: string, text: string): JobOf<"converse"> => ({
  jobId,
  model: "fast-text",
  op: "converse",
  params: { messages: [{ role: "user", content: [{ text }] }] },
});

/** What a sender has in hand: names, and an environment that says where AWS is. */
describe.each(dynamoEngines)("a client beside %s", async (_name, start) => {
  const [dynamo, fauxqs] = await Promise.all([engineForTests(start), engineForTests(startFauxqs)]);
  beforeAll(() => {
    vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", dynamo);
    vi.stubEnv("AWS_ENDPOINT_URL", fauxqs);
    vi.stubEnv("AWS_REGION", undefined);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "local");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "local");
  });
  afterAll(() => {
    vi.unstubAllEnvs();
  });

  test("submits, waits, cancels, forgets and finds the reply, by names alone", async () => {
    const [rt, bg, bulk] = await Promise.all([createQueue(fauxqs), createQueue(fauxqs), createQueue(fauxqs)]);
    const [jobTable, bucket] = await Promise.all([createJobTable(dynamo), createBucket(fauxqs)]);
    const client = createClient({ queueUrls: { rt, bg, bulk }, jobTable, bucket, region: "us-east-1" });

    const jobId = await client.submit(saying("j-1", "Hello"));
    const { Messages } = await sqsClient({ region: "us-east-1" }).send(new ReceiveMessageCommand({ QueueUrl: bg }));
    expect(Messages).toHaveLength(1);
    expect(await client.submitBatch([saying("j-2", "x".repeat(900_000))])).toEqual([
      { index: 0, jobId: "j-2", kind: "sent" },
    ]);

    expect(await client.waitForReply(jobId, { timeoutMs: 0 })).toEqual({ kind: "timeout" });

    expect(await client.cancel(jobId)).toEqual({ kind: "cancelled" });
    const reply = { status: "cancelled", error: { code: "cancelled" } };
    expect(await client.waitForReply(jobId)).toMatchObject({ kind: "replied", reply });
    expect(await client.replies([jobId])).toMatchObject([{ jobId, kind: "replied", reply }]);

    expect(await client.forget(jobId)).toEqual({ kind: "forgotten" });
    expect(await client.replies([jobId])).toMatchObject([{ reply: { ...reply, forgottenAtMs: expect.any(Number) } }]);
    expect(await client.forget("nobodys")).toEqual({ kind: "open" });
  });
});

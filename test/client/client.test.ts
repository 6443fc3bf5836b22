import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { sqsClient } from "../../lib/aws/clients.ts";
import { createClient } from "../../lib/client/index.ts";
import { createJobTable, createQueue, dynamoEngines, engineForTests } from "../contract/engines.ts";

/** What a sender has in hand: names, and an environment that says where AWS is. */
describe.each(dynamoEngines)("a client beside %s", async (_name, start) => {
  const [dynamo, fauxqs] = await Promise.all([engineForTests(start), engineForTests(startFauxqs)]);
  beforeAll(() => {
    vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", dynamo);
    vi.stubEnv("AWS_ENDPOINT_URL", fauxqs);
    vi.stubEnv("AWS_REGION", "us-east-1");
    vi.stubEnv("AWS_ACCESS_KEY_ID", "local");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "local");
  });
  afterAll(() => {
    vi.unstubAllEnvs();
  });

  test("submits, waits, cancels and finds the reply, by names alone", async () => {
    const [rt, bg, bulk] = await Promise.all([createQueue(fauxqs), createQueue(fauxqs), createQueue(fauxqs)]);
    const client = createClient({ queueUrls: { rt, bg, bulk }, jobTable: await createJobTable(dynamo) });

    const params = { messages: [{ role: "user" as const, content: [{ text: "Hello" }] }] };
    const jobId = await client.submit({ jobId: "j-1", model: "fast-text", op: "converse", params });
    const { Messages } = await sqsClient().send(new ReceiveMessageCommand({ QueueUrl: bg }));
    expect(Messages).toHaveLength(1);
    expect(await client.waitForReply(jobId, { timeoutMs: 0 })).toEqual({ kind: "timeout" });

    expect(await client.cancel(jobId)).toEqual({ kind: "cancelled" });
    const reply = { status: "cancelled", error: { code: "cancelled" } };
    expect(await client.waitForReply(jobId)).toMatchObject({ kind: "replied", reply });
    expect(await client.replies([jobId])).toMatchObject([{ jobId, kind: "replied", reply }]);
    expect(await client.submitBatch([])).toEqual([]);
  });
});

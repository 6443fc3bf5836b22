import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { runWork } from "../../infra/local/run.ts";
import type { Watch } from "../../infra/local/run.ts";
import type { Service } from "../../infra/local/service.ts";
import config from "../../infra/sluice.config.ts";
import { checkConfig } from "../../lib/config.ts";
import type { Job } from "../../lib/client/index.ts";

const where = { region: "us-west-2", credentials: { accessKeyId: "local", secretAccessKey: "local" } };
const job = (jobId: string): Job => ({ jobId, model: "fast-text", op: "converse", params: { messages: [] } });
const never = new AbortController().signal;

/** A service of which every queue takes everything, and has `parked` messages parked; no worker answers. */
function aService(parked: () => number = () => 0): Service {
  const sqs = new SQSClient(where);
  sqs.middlewareStack.add(
    () =>
      async ({ input }) => {
        const entries = "Entries" in input && Array.isArray(input.Entries) ? input.Entries : [];
        const isParked = "QueueUrl" in input && input.QueueUrl === "parkedQueueUrl";
        const Attributes = { ApproximateNumberOfMessages: String(isParked ? parked() : 0) };
        return { response: {}, output: { $metadata: {}, Attributes, Successful: entries.map(({ Id }) => ({ Id })) } };
      },
    { step: "initialize" },
  );
  const dynamo = new DynamoDBClient(where);
  dynamo.middlewareStack.add(() => async () => ({ response: {}, output: { $metadata: {}, Responses: {} } }), {
    step: "initialize",
  });
  const names = ["rtQueueUrl", "bgQueueUrl", "bulkQueueUrl", "parkedQueueUrl", "jobTableName", "leaseTableName"];
  return {
    config: checkConfig(config),
    outputs: Object.fromEntries([...names, "repliesBucketName"].map((name) => [name, name])),
    clients: { sqs, dynamo, s3: new S3Client(where) },
    depthUrls: {},
    bedrockRecord: () => undefined,
    stats: () => ({ started: 0, died: 0, invocations: 0, rssBytesMax: 0 }),
    running: () => [],
    runScheduled: async () => {},
    messagesHeld: () => 0,
    killOne: async () => false,
    close: async () => {},
  };
}

const unheard: Watch = { replied: () => {}, progress: () => {}, trouble: () => {} };

test("nobody listens on for replies once sending has failed", async () => {
  let looks = 0;
  async function* jobs() {
    for (let place = 0; place < 500; place += 1) yield job(`job-${place}`);
    throw new Error("the file's disk is gone");
  }
  const watch = { ...unheard, progress: () => void (looks += 1) };
  await expect(runWork({ jobs: jobs() }, aService(), watch, never)).rejects.toThrow("the file's disk is gone");
  const seen = looks;
  await sleep(400);
  expect(looks).toBe(seen);
});

test("what somebody runs again from the page meanwhile makes no less than nothing parked", async () => {
  const counts = [3, 2];
  const outcome = await runWork(
    { jobs: [] },
    aService(() => counts.shift() ?? 2),
    unheard,
    never,
  );
  expect(outcome.parked).toBe(0);
});

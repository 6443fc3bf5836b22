/** What a deployment must show, on AWS as on what stands in for it. Each throws, with what was seen instead. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { DescribeExecutionCommand, SFNClient, StartExecutionCommand } from "@aws-sdk/client-sfn";
import { PublishCommand, SNSClient } from "@aws-sdk/client-sns";
import { GetQueueAttributesCommand, SendMessageCommand, SetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { dynamoClient, s3Client, sqsClient } from "../../lib/aws/clients.ts";
import type { ReplyTo } from "../../lib/client/index.ts";
import { lanes } from "../../lib/core/lane.ts";
import { messageIn, replyOf } from "./deployed.ts";
import type { Deployment } from "./deployed.ts";
import { deadModel, heldModel, here, jobFrom, namesIn } from "./place.ts";

export interface Scenario {
  /** By which it is named on a command line. */
  readonly name: string;
  readonly says: string;
  readonly run: (at: Deployment) => Promise<void>;
}

interface Feed {
  readonly name: string;
  readonly says: string;
  readonly send: (at: Deployment, body: string) => Promise<unknown>;
}

const publish =
  (topic: string): Feed["send"] =>
  ({ place }, Message) =>
    new SNSClient().send(new PublishCommand({ TopicArn: namesIn(place).topicArn(topic), Message }));

const putEvent =
  (DetailType: string): Feed["send"] =>
  ({ place }, Detail) =>
    new EventBridgeClient().send(
      new PutEventsCommand({ Entries: [{ EventBusName: namesIn(place).bus, Source: "shop", DetailType, Detail }] }),
    );

const putObject =
  (folder: string): Feed["send"] =>
  ({ place }, Body) =>
    s3Client().send(
      new PutObjectCommand({ Bucket: namesIn(place).bucketOfJobs, Key: `${folder}/two words & più+.json`, Body }),
    );

const feeds: readonly Feed[] = [
  { name: "sns-raw", says: "an SNS topic, raw", send: publish("raw") },
  { name: "sns-wrapped", says: "an SNS topic, wrapped", send: publish("wrapped") },
  { name: "rule-event", says: "an EventBridge rule, as the whole event", send: putEvent("event") },
  { name: "rule-detail", says: "an EventBridge rule with an input path", send: putEvent("detail") },
  { name: "rule-transformed", says: "an EventBridge rule with a transformer", send: putEvent("transformed") },
  { name: "scheduler", says: "EventBridge Scheduler, every minute", send: () => Promise.resolve() },
  { name: "s3", says: "an object in S3", send: putObject("straight") },
  { name: "s3-event", says: "an object in S3, through EventBridge", send: putObject("by event") },
  {
    name: "pointer",
    says: "the SQS extended client, which leaves its body in S3",
    send: async (at, body) => {
      const { bucketOfJobs: s3BucketName } = namesIn(at.place);
      const s3Key = "extended";
      await s3Client().send(new PutObjectCommand({ Bucket: s3BucketName, Key: s3Key, Body: body }));
      const pointer = ["software.amazon.payloadoffloading.PayloadS3Pointer", { s3BucketName, s3Key }];
      await put(at.outputs["bgQueueUrl"], JSON.stringify(pointer));
    },
  },
  {
    name: "api",
    says: "API Gateway",
    send: ({ aws, api }, body) =>
      aws.send({ service: "execute-api", ...api, headers: { "content-type": "application/json" }, body }),
  },
  {
    name: "pipe",
    says: "EventBridge Pipes, out of another queue",
    send: ({ outputs }, body) => put(outputs["pipedQueueUrl"], body),
  },
];

const byFeed = feeds.map(({ name, says, send }): Scenario => ({
  name,
  says: `a job is answered that comes by ${says}`,
  async run(at) {
    const job = { ...jobFrom(name), metadata: { note: "R&D + 100 % più" } };
    await send(at, JSON.stringify(job));
    await succeeds(at, job.jobId);
  },
}));

const byLane = lanes.map((lane): Scenario => ({
  name: lane,
  says: `a job of the ${lane} lane is answered`,
  run: async (at) => succeeds(at, await at.client.submit({ ...jobFrom(lane), lane })),
}));

const destinations: readonly (readonly [name: string, says: string, to: (at: Deployment) => ReplyTo])[] = [
  ["told-queue", "queue", ({ place }) => ({ sqs: namesIn(place).announcedUrl })],
  ["told-bus", "event bus", ({ place }) => ({ eventBus: namesIn(place).bus })],
  ["told-topic", "topic", ({ place }) => ({ sns: namesIn(place).topicArn("announced") })],
];

const announcements = destinations.map(([name, says, to]): Scenario => ({
  name,
  says: `a reply is announced to the ${says} that its job names`,
  async run(at) {
    const jobId = await at.client.submit({ ...jobFrom(name), replyTo: to(at) });
    const { Body = "" } = await messageIn(
      namesIn(at.place).announcedUrl,
      (message) => message.Body?.includes(jobId) === true,
    );
    assert.partialDeepStrictEqual(JSON.parse(Body), { jobId, status: "succeeded" });
  },
}));

/** What a worker has heard of its overrides may be so old. */
const heardMs = 6_000;
const pauseMs = 15_000;

const others: readonly Scenario[] = [
  {
    name: "redelivery",
    says: "jobs that must wait are hidden by their visibility, while others of their batch are answered, and come again once",
    async run(at) {
      const { client } = at;
      await pause(at, heldModel, pauseMs + heardMs);
      await sleep(heardMs);
      const held = [1, 2].map((place) => ({ ...jobFrom(`held-${place}`, heldModel), lane: "bg" as const }));
      const free = { ...jobFrom("not-held"), lane: "bg" as const };
      const sent = await client.submitBatch([...held, free]);
      assert.deepEqual(
        sent.map(({ kind }) => kind),
        ["sent", "sent", "sent"],
      );
      await succeeds(at, free.jobId);
      // Shown again at once, they would have come and gone many times until the pause was over.
      for (const { jobId } of held)
        assert.partialDeepStrictEqual(await replyOf(client, jobId), {
          kind: "replied",
          reply: { status: "succeeded", meta: { deliveries: 2 } },
        });
    },
  },
  {
    name: "dead-letters",
    says: "a job that its queue gave up is answered, and its message parked",
    async run(at) {
      const { client, outputs } = at;
      await pause(at, deadModel, pauseMs + heardMs);
      await sleep(heardMs);
      const restore = await giveUpAfterOne(outputs["bulkQueueUrl"] ?? "");
      try {
        const jobId = await client.submit({ ...jobFrom("dead", deadModel), lane: "bulk" });
        assert.partialDeepStrictEqual(await replyOf(client, jobId), { reply: { error: { code: "dead_lettered" } } });
        const parked = await messageIn(outputs["parkedQueueUrl"] ?? "", ({ Body = "" }) => Body.includes(jobId));
        assert.equal(parked.MessageAttributes?.["reason"]?.StringValue, "dead_lettered");
      } finally {
        await restore();
      }
    },
  },
  {
    name: "nonsense",
    says: "a body that is no job is parked with its reason",
    async run({ outputs }) {
      await put(outputs["rtQueueUrl"], "hello");
      const parked = await messageIn(outputs["parkedQueueUrl"] ?? "", ({ Body }) => Body === "hello");
      assert.equal(parked.MessageAttributes?.["reason"]?.StringValue, "not_an_envelope");
    },
  },
  {
    name: "missing-params",
    says: "params that are not there end their job: S3 tells its workers that a key is missing, not that it is forbidden",
    async run(at) {
      const { params: _, ...job } = jobFrom("missing-params");
      const paramsRef = `s3://${at.outputs["repliesBucketName"]}/params/nobody-put-this`;
      await put(at.outputs["rtQueueUrl"], JSON.stringify({ ...job, paramsRef }));
      assert.partialDeepStrictEqual(await replyOf(at.client, job.jobId), {
        reply: { status: "failed", error: { code: "params_missing" } },
      });
    },
  },
  {
    name: "state-machine",
    says: "a state machine that waits for its job is given the reply",
    async run({ outputs }) {
      const states = new SFNClient();
      const { executionArn } = await states.send(
        new StartExecutionCommand({ stateMachineArn: outputs["stateMachineArn"] }),
      );
      const look = () => states.send(new DescribeExecutionCommand({ executionArn }));
      let execution = await look();
      for (; execution.status === "RUNNING"; execution = await look()) await sleep(500);
      assert.partialDeepStrictEqual(JSON.parse(execution.output ?? "null"), {
        jobId: "by-state-machine",
        status: "succeeded",
      });
    },
  },
];

export const scenarios: readonly Scenario[] = [...byLane, ...byFeed, ...announcements, ...others];

async function succeeds({ client }: Deployment, jobId: string): Promise<void> {
  assert.partialDeepStrictEqual(await replyOf(client, jobId), { kind: "replied", reply: { status: "succeeded" } });
}

async function put(QueueUrl: string | undefined, MessageBody: string): Promise<void> {
  await sqsClient().send(new SendMessageCommand({ QueueUrl, MessageBody }));
}

/** As an operator does it. */
async function pause({ outputs }: Deployment, model: string, forMs: number): Promise<void> {
  await dynamoClient().send(
    new UpdateItemCommand({
      TableName: outputs["leaseTableName"],
      Key: { pk: { S: `H#${model}@${here}` } },
      UpdateExpression: "SET #o = :o",
      ExpressionAttributeNames: { "#o": "override" },
      ExpressionAttributeValues: { ":o": { M: { pausedUntilMs: { N: String(Date.now() + forMs) } } } },
    }),
  );
}

/** In the place of many receives. Answers how to take it back. */
async function giveUpAfterOne(QueueUrl: string): Promise<() => Promise<void>> {
  const sqs = sqsClient();
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["RedrivePolicy"] }));
  const before = Attributes?.["RedrivePolicy"] ?? "{}";
  const set = async (RedrivePolicy: string) => {
    await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy } }));
  };
  const policy: Record<string, unknown> = JSON.parse(before);
  await set(JSON.stringify({ ...policy, maxReceiveCount: 1 }));
  return () => set(before);
}

/** The deployed stack with real bundles, rights and events. What it does not show: MiniStack's mappings are not Lambda's. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { DescribeExecutionCommand, SFNClient, StartExecutionCommand } from "@aws-sdk/client-sfn";
import { PublishCommand, SNSClient } from "@aws-sdk/client-sns";
import { SendMessageCommand, SetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { startBedrock } from "../../infra/local/bedrock/server.ts";
import type { BedrockStandIn } from "../../infra/local/bedrock/server.ts";
import { dynamoClient, s3Client, sqsClient } from "../../lib/aws/clients.ts";
import type { Client, ReplyTo, Waited } from "../../lib/client/index.ts";
import type { Op } from "../../lib/core/config.ts";
import { lanes } from "../../lib/core/lane.ts";
import { sqsMessageBytesMax } from "../../lib/core/limits.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { sweepIndex } from "../../lib/core/sweep.ts";
import { invoke, json } from "./call.ts";
import { clientOf, linesOf, messageIn, nameOf, resourcesOf } from "./deployed.ts";
import type { Resource } from "./deployed.ts";
import { bootstrap, deploy } from "./deployment.ts";
import type { Outputs } from "./deployment.ts";
import { announced, announcedBus, announcedUrl, bucketOfJobs, jobFrom, topicArn } from "./feeds.ts";
import { startMinistack } from "./ministack.ts";
import type { Ministack } from "./ministack.ts";

/** A job whose target is throttled, and which has no other; each has its own, so that no other job meets its pause. */
const throttledAt = (target: string, jobId: string) => ({
  ...jobFrom(jobId),
  model: target,
  fallback: "none" as const,
});
const throttled = { kind: "fail", error: "throttled", retryAfter: "6" } as const;
const longText = "All of it, word by word. ".repeat(5_000);
const script: ScriptText = {
  rules: [
    { when: { jobId: "by-again", nth: 1 }, do: throttled },
    { when: { jobId: "by-never*" }, do: throttled },
    { when: { jobId: "by-long" }, do: { kind: "answer", content: [{ text: longText }] } },
  ],
};

let bedrock: BedrockStandIn;
let aws: Ministack;
let client: Client;
let outputs: Outputs;
let firstVersion: readonly Resource[];

beforeAll(async () => {
  bedrock = await startBedrock({ script });
  aws = await startMinistack(bedrock.endpoint);
  Object.assign(process.env, aws.env);
  await bootstrap(aws);
  client = clientOf(await deploy(aws, "infra/app.ts"));
  firstVersion = await resourcesOf(aws);
  await replyOf(await client.submit(jobFrom("first")));
  outputs = await deploy(aws, "test/deploy/app.ts");
});

afterAll(async () => {
  await aws?.stop();
  await bedrock?.close();
});

/** A reader on a machine as busy as this one looks again. */
async function replyOf(jobId: string): Promise<Waited<Op>> {
  for (;;) {
    try {
      return await client.waitForReply(jobId, { timeoutMs: 120_000 });
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
    }
  }
}

beforeEach(({ onTestFailed }) => {
  onTestFailed(() => {
    const lines = aws.log().split("\n");
    console.error(
      lines
        .filter((line) => /WARN|ERROR/.test(line))
        .slice(-20)
        .join("\n"),
    );
  });
});

const answered = { kind: "replied", reply: { status: "succeeded" } } as const;

async function put(queueUrl: string, body: string): Promise<void> {
  await sqsClient().send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }));
}

const outputOf = (name: string) => outputs[name] ?? "";

test.for(lanes)("a job of the %s lane is answered", async (lane) => {
  expect(await replyOf(await client.submit({ ...jobFrom(lane), lane }))).toMatchObject(answered);
});

describe("a job is answered that comes by", () => {
  const publish = (topic: string) => (Message: string) =>
    new SNSClient().send(new PublishCommand({ TopicArn: topicArn(topic), Message }));
  const putEvent = (DetailType: string) => (Detail: string) =>
    new EventBridgeClient().send(new PutEventsCommand({ Entries: [{ Source: "shop", DetailType, Detail }] }));
  const putObject = (folder: string) => (Body: string) =>
    s3Client().send(new PutObjectCommand({ Bucket: bucketOfJobs, Key: `${folder}/two words & più+.json`, Body }));
  const post = (body: string) => {
    const headers = { "content-type": "application/json" };
    const url = `${aws.endpoint}/restapis/${outputOf("apiId")}/prod/_user_request_/`;
    return fetch(url, { method: "POST", headers, body });
  };

  const feeds: readonly (readonly [feed: string, name: string, send: (body: string) => Promise<unknown>])[] = [
    ["an SNS topic, raw", "sns-raw", publish("raw")],
    ["an SNS topic, wrapped", "sns-wrapped", publish("wrapped")],
    ["an EventBridge rule, as the whole event", "rule-event", putEvent("event")],
    ["an EventBridge rule with an input path", "rule-detail", putEvent("detail")],
    ["an EventBridge rule with a transformer", "rule-transformed", putEvent("transformed")],
    ["EventBridge Scheduler, every minute", "scheduler", () => Promise.resolve()],
    ["an object in S3", "s3", putObject("straight")],
    ["an object in S3, through EventBridge", "s3-event", putObject("by event")],
    ["API Gateway", "api", post],
  ];
  test.for(feeds)("%s", async ([, name, send]) => {
    const job = { ...jobFrom(name), metadata: { note: "R&D + 100 % più" } };
    await send(JSON.stringify(job));
    expect(await replyOf(job.jobId)).toMatchObject(answered);
  });
});

test("params too big for a message come by the bucket, and an output too big for a row lies there", async () => {
  const { messages } = jobFrom("long").params ?? {};
  const system = [{ text: "x".repeat(sqsMessageBytesMax) }];
  const jobId = await client.submit({
    ...jobFrom("long"),
    params: { ...(messages === undefined ? {} : { messages }), system },
  });
  const { outputRef = "" } = Object(await replyOf(jobId)).reply;
  expect(outputRef).toContain(`s3://${outputOf("repliesBucketName")}/outputs/`);
});

test("a throttled job is hidden by its visibility, and answered when it comes again", async () => {
  const jobId = await client.submit(throttledAt("smart-text@us-west-2", "again"));
  expect(await replyOf(jobId)).toMatchObject({ ...answered, reply: { meta: { deliveries: 2 } } });
});

test("a job that its queue gave up is answered, and its message parked", async () => {
  const QueueUrl = outputOf("bulkQueueUrl");
  const deadLetterTargetArn = await nameOf(aws, "AWS::SQS::Queue", "LlmBulkQueueDeadLetters");
  // In the place of 200 receives.
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arnOf(deadLetterTargetArn), maxReceiveCount: 1 });
  await sqsClient().send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy } }));

  const jobId = await client.submit({ ...throttledAt("smart-text@us-east-1", "never-dead"), lane: "bulk" });
  expect(await replyOf(jobId)).toMatchObject({ reply: { error: { code: "dead_lettered" } } });
  const parked = await messageIn(outputOf("parkedQueueUrl"), ({ Body = "" }) => Body.includes(jobId));
  expect(parked.MessageAttributes?.["reason"]?.StringValue).toBe("dead_lettered");
});

function arnOf(queueUrl: string): string {
  return `arn:aws:sqs:us-east-1:000000000000:${queueUrl.split("/").at(-1)}`;
}

/** Until a job has come to a stage. */
async function stageOf(jobId: string, stage: string): Promise<void> {
  for (;;) {
    const [found] = await client.replies([jobId]);
    if (found?.kind === "open" && found.stage?.startsWith(stage) === true) return;
    await sleep(500);
  }
}

test("a body that is no job is parked with its reason", async () => {
  await put(outputOf("rtQueueUrl"), "hello");
  const parked = await messageIn(outputOf("parkedQueueUrl"), ({ Body }) => Body === "hello");
  expect(parked.MessageAttributes?.["reason"]?.StringValue).toBe("not_an_envelope");
});

const destinations: readonly (readonly [what: string, name: string, replyTo: ReplyTo])[] = [
  ["queue", "told-queue", { sqs: announcedUrl }],
  ["event bus", "told-bus", { eventBus: announcedBus }],
  ["topic", "told-topic", { sns: topicArn(announced) }],
];
test.for(destinations)("a reply is announced to the %s that its job names", async ([, name, replyTo]) => {
  const jobId = await client.submit({ ...jobFrom(name), replyTo });
  const { Body = "" } = await messageIn(
    `${aws.endpoint}/000000000000/${announced}`,
    (message) => message.Body?.includes(jobId) === true,
  );
  expect(JSON.parse(Body)).toMatchObject({ jobId, status: "succeeded" });
});

test("a state machine that waits for its job is given the reply", async () => {
  const states = new SFNClient();
  const { executionArn } = await states.send(
    new StartExecutionCommand({ stateMachineArn: outputOf("stateMachineArn") }),
  );
  let execution = await states.send(new DescribeExecutionCommand({ executionArn }));
  for (; execution.status === "RUNNING"; execution = await states.send(new DescribeExecutionCommand({ executionArn })))
    await sleep(500);
  expect(JSON.parse(execution.output ?? "")).toMatchObject({ jobId: "by-state-machine", status: "succeeded" });
});

test("the sweeper ends a job whose message is lost", async () => {
  const jobId = await client.submit({
    ...throttledAt("fast-text@us-east-1", "never-lost"),
    lane: "rt",
    deadlineAt: Date.now() + 290_000,
  });
  const sweeper = `${await nameOf(aws, "AWS::Lambda::Function", "LlmSweeperFunction")}:live`;
  await stageOf(jobId, "requeued");
  await dynamoClient().send(
    new UpdateItemCommand({
      TableName: outputOf("jobTableName"),
      Key: { jobId: { S: jobId } },
      UpdateExpression: `SET deadlineAtMs = :past, ${sweepIndex.sortKey} = :past, notBeforeMs = :past`,
      ExpressionAttributeValues: { ":past": { N: String(Date.now() - 3_600_000) } },
    }),
  );
  await invoke(aws, sweeper);
  expect(await replyOf(jobId)).toMatchObject({ reply: { status: "expired" } });
});

describe("in the log group of its function", () => {
  test("a job has a line for each transition", async () => {
    const jobId = await client.submit(jobFrom("logged"));
    await replyOf(jobId);
    const lines = (await linesOf(aws, "LlmBgWorkerLogs")).filter((line) => line["jobId"] === jobId);
    expect(lines.map((line) => line["message"])).toEqual(expect.arrayContaining(["claimed", "attempted", "replied"]));
    const stages = lines.filter((line) => line["message"] === "stage").map((line) => line["stage"]);
    expect(stages).toEqual(expect.arrayContaining(["waiting", "attempt=1/4", "succeeded"]));
  });

  test("there are metrics, embedded", async () => {
    const jobId = await client.submit({ ...jobFrom("metered"), lane: "rt" });
    await replyOf(jobId);
    const lines = await linesOf(aws, "LlmRtWorkerLogs");
    expect(lines.filter((line) => "_aws" in line)).toContainEqual(
      expect.objectContaining({ lane: "rt", JobsSucceeded: 1 }),
    );
  });
});

test("the dashboard names what was deployed, and has no hole in it", async () => {
  const DashboardName = await nameOf(aws, "AWS::CloudWatch::Dashboard", "Llm");
  const target = "GraniteServiceVersion20100801.GetDashboard";
  const { DashboardBody } = await json<{ readonly DashboardBody: string }>(aws, "monitoring", target, {
    DashboardName,
  });
  const { widgets }: { readonly widgets: readonly unknown[] } = JSON.parse(DashboardBody);
  expect(widgets.length).toBeGreaterThan(20);
  const deployed = (await resourcesOf(aws)).filter(
    ({ type, id }) => /Lambda::Function|DynamoDB::Table/.test(type) && id.startsWith("Llm"),
  );
  expect(deployed.filter(({ physicalId }) => !DashboardBody.includes(physicalId))).toEqual([]);
  expect(DashboardBody).not.toMatch(/Token\[|Fn::|undefined/);
});

test("each alarm says what to do, to the topic", async () => {
  const target = "GraniteServiceVersion20100801.DescribeAlarms";
  const { MetricAlarms } = await json<{ readonly MetricAlarms: readonly object[] }>(aws, "monitoring", target, {});
  expect(MetricAlarms).toHaveLength(
    (await resourcesOf(aws)).filter(({ type }) => type === "AWS::CloudWatch::Alarm").length,
  );
  const told = { AlarmDescription: expect.stringMatching(/\w{4}/), AlarmActions: [outputOf("alarmTopicArn")] };
  expect(MetricAlarms).toEqual(MetricAlarms.map(() => expect.objectContaining(told)));
});

test("the next version replaced nothing, and has the reply of the one before", async () => {
  const now = new Map((await resourcesOf(aws)).map(({ id, physicalId }) => [id, physicalId]));
  const kept = firstVersion.filter(({ type }) => type !== "AWS::Lambda::Version");
  expect(kept.length).toBeGreaterThan(40);
  expect(kept.filter(({ id, physicalId }) => now.get(id) !== physicalId)).toEqual([]);
  expect(await replyOf("by-first")).toMatchObject({ ...answered, reply: { meta: { workerVersion: "1" } } });
  const jobId = await client.submit(jobFrom("second"));
  expect(await replyOf(jobId)).toMatchObject({ ...answered, reply: { meta: { workerVersion: "2" } } });
});

test("no function was refused what it asked for", { concurrent: false }, () => {
  const lines = aws.log().split("\n");
  expect(lines.filter((line) => line.includes("AccessDenied"))).toEqual([]);
});

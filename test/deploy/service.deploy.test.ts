/** The deployed stack with real bundles, rights and events. What it does not show: MiniStack's mappings are not Lambda's. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { startBedrock } from "../../infra/local/bedrock/server.ts";
import type { BedrockStandIn } from "../../infra/local/bedrock/server.ts";
import { dynamoClient } from "../../lib/aws/clients.ts";
import type { Client } from "../../lib/client/index.ts";
import { sqsMessageBytesMax } from "../../lib/core/limits.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { sweepIndex } from "../../lib/core/sweep.ts";
import { invoke, json } from "./call.ts";
import { clientOf, linesOf, nameOf, replyOf, resourcesOf } from "./deployed.ts";
import type { Deployment, Outputs, Resource } from "./deployed.ts";
import { bootstrap, deploy } from "./deployment.ts";
import { startMinistack } from "./ministack.ts";
import type { Ministack } from "./ministack.ts";
import { jobFrom } from "./place.ts";
import { scenarios } from "./scenarios.ts";

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
let ministack: Ministack;
let client: Client;
let outputs: Outputs;
let deployment: Deployment;
let firstVersion: readonly Resource[];

beforeAll(async () => {
  bedrock = await startBedrock({ script });
  ministack = await startMinistack(bedrock.endpoint);
  const { place, aws } = ministack;
  Object.assign(process.env, ministack.env);
  await bootstrap(ministack, place.account, place.region);
  client = clientOf(await deploy(ministack, "infra/app.ts"));
  firstVersion = await resourcesOf(aws, place.stack);
  await replyOf(client, await client.submit(jobFrom("first")));
  outputs = await deploy(ministack, "test/deploy/app.ts");
  const api = { path: `/restapis/${outputs["apiId"]}/prod/_user_request_/` };
  deployment = { place, outputs, client, aws, api };
});

afterAll(async () => {
  await ministack?.stop();
  await bedrock?.close();
});

beforeEach(({ onTestFailed }) => {
  onTestFailed(() => {
    const said = ministack.log().split("\n");
    console.error(
      said
        .filter((line) => /WARN|ERROR/.test(line))
        .slice(-20)
        .join("\n"),
    );
  });
});

const answered = { kind: "replied", reply: { status: "succeeded" } } as const;

const outputOf = (name: string) => outputs[name] ?? "";
const resources = () => resourcesOf(ministack.aws, ministack.place.stack);
const named = (type: string, id: string) => nameOf(ministack.aws, ministack.place.stack, type, id);
const lines = (id: string) => linesOf(ministack.aws, ministack.place.stack, id);

// Pipes are AWS's alone.
test.for(scenarios.filter(({ name }) => name !== "pipe"))("$says", ({ run }) =>
  expect(run(deployment)).resolves.toBeUndefined(),
);

test("params too big for a message come by the bucket, and an output too big for a row lies there", async () => {
  const { messages } = jobFrom("long").params ?? {};
  const system = [{ text: "x".repeat(sqsMessageBytesMax) }];
  const jobId = await client.submit({
    ...jobFrom("long"),
    params: { ...(messages === undefined ? {} : { messages }), system },
  });
  const { outputRef = "" } = Object(await replyOf(client, jobId)).reply;
  expect(outputRef).toContain(`s3://${outputOf("repliesBucketName")}/outputs/`);
});

test("a throttled job is hidden by its visibility, and answered when it comes again", async () => {
  const jobId = await client.submit(throttledAt("smart-text@us-west-2", "again"));
  expect(await replyOf(client, jobId)).toMatchObject({ ...answered, reply: { meta: { deliveries: 2 } } });
});

/** Until a job has come to a stage. */
async function stageOf(jobId: string, stage: string): Promise<void> {
  for (;;) {
    const [found] = await client.replies([jobId]);
    if (found?.kind === "open" && found.stage?.startsWith(stage) === true) return;
    await sleep(500);
  }
}

test("the sweeper ends a job whose message is lost", async () => {
  const jobId = await client.submit({
    ...throttledAt("fast-text@us-east-1", "never-lost"),
    deadlineAt: Date.now() + 290_000,
  });
  const sweeper = `${await named("AWS::Lambda::Function", "LlmSweeperFunction")}:live`;
  await stageOf(jobId, "requeued");
  await dynamoClient().send(
    new UpdateItemCommand({
      TableName: outputOf("jobTableName"),
      Key: { jobId: { S: jobId } },
      UpdateExpression: `SET deadlineAtMs = :past, ${sweepIndex.sortKey} = :past, notBeforeMs = :past`,
      ExpressionAttributeValues: { ":past": { N: String(Date.now() - 3_600_000) } },
    }),
  );
  await invoke(ministack.aws, sweeper);
  expect(await replyOf(client, jobId)).toMatchObject({ reply: { status: "expired" } });
});

describe("in the log group of its function", () => {
  test("a job has a line for each transition", async () => {
    const jobId = await client.submit(jobFrom("logged"));
    await replyOf(client, jobId);
    const ofJob = (await lines("LlmBgWorkerLogs")).filter((line) => line["jobId"] === jobId);
    expect(ofJob.map((line) => line["message"])).toEqual(expect.arrayContaining(["claimed", "attempted", "replied"]));
    const stages = ofJob.filter((line) => line["message"] === "stage").map((line) => line["stage"]);
    expect(stages).toEqual(expect.arrayContaining(["waiting", "attempt=1/4", "succeeded"]));
  });

  test("there are metrics, embedded", async () => {
    const jobId = await client.submit({ ...jobFrom("metered"), lane: "rt" });
    await replyOf(client, jobId);
    const told = await lines("LlmRtWorkerLogs");
    expect(told.filter((line) => "_aws" in line)).toContainEqual(
      expect.objectContaining({ lane: "rt", JobsSucceeded: 1 }),
    );
  });
});

test("the dashboard names what was deployed, and has no hole in it", async () => {
  const DashboardName = await named("AWS::CloudWatch::Dashboard", "Llm");
  const target = "GraniteServiceVersion20100801.GetDashboard";
  const { DashboardBody } = await json<{ readonly DashboardBody: string }>(ministack.aws, "monitoring", target, {
    DashboardName,
  });
  const { widgets }: { readonly widgets: readonly unknown[] } = JSON.parse(DashboardBody);
  expect(widgets.length).toBeGreaterThan(20);
  const deployed = (await resources()).filter(
    ({ type, id }) => /Lambda::Function|DynamoDB::Table/.test(type) && id.startsWith("Llm"),
  );
  expect(deployed.filter(({ physicalId }) => !DashboardBody.includes(physicalId))).toEqual([]);
  expect(DashboardBody).not.toMatch(/Token\[|Fn::|undefined/);
});

test("the dashboard's widget shows what is open, with the rights that it has", async () => {
  const name = await named("AWS::Lambda::Function", "LlmWidget");
  const html: unknown = JSON.parse(await invoke(ministack.aws, name, { widgetContext: { theme: "dark" } }));
  expect(html).toMatch(/<h2[^>]*>Why each job waits<\/h2>/);
  expect(html).toContain("<h3>fast-text@us-west-2</h3>");
  expect(html).not.toContain("could not be read");
  expect(JSON.parse(await invoke(ministack.aws, name, { describe: true }))).toHaveProperty("markdown");
});

test("each alarm says what to do, to the topic", async () => {
  const target = "GraniteServiceVersion20100801.DescribeAlarms";
  const { MetricAlarms } = await json<{ readonly MetricAlarms: readonly object[] }>(
    ministack.aws,
    "monitoring",
    target,
    {},
  );
  expect(MetricAlarms).toHaveLength((await resources()).filter(({ type }) => type === "AWS::CloudWatch::Alarm").length);
  const told = { AlarmDescription: expect.stringMatching(/\w{4}/), AlarmActions: [outputOf("alarmTopicArn")] };
  expect(MetricAlarms).toEqual(MetricAlarms.map(() => expect.objectContaining(told)));
});

test("the next version replaced nothing, and has the reply of the one before", async () => {
  const now = new Map((await resources()).map(({ id, physicalId }) => [id, physicalId]));
  const kept = firstVersion.filter(({ type }) => type !== "AWS::Lambda::Version");
  expect(kept.length).toBeGreaterThan(40);
  expect(kept.filter(({ id, physicalId }) => now.get(id) !== physicalId)).toEqual([]);
  expect(await replyOf(client, "by-first")).toMatchObject({ ...answered, reply: { meta: { workerVersion: "1" } } });
  const jobId = await client.submit(jobFrom("second"));
  expect(await replyOf(client, jobId)).toMatchObject({ ...answered, reply: { meta: { workerVersion: "2" } } });
});

test("no function was refused what it asked for", { concurrent: false }, () => {
  const said = ministack.log().split("\n");
  expect(said.filter((line) => line.includes("AccessDenied"))).toEqual([]);
});

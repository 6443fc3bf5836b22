/** Each look at AWS is looked at itself: it passes over the right answer, and finds fault with a wrong one. */
import { BedrockRuntimeClient } from "@aws-sdk/client-bedrock-runtime";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { SQSClient } from "@aws-sdk/client-sqs";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { afterAll, describe, expect, test } from "vitest";

import { dynoxideBinary, startDynalite, startDynoxide, startFauxqs } from "../../infra/local/engines.ts";
import { startBedrock } from "../../infra/local/bedrock/server.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { createLeaseTable, createQueue, engineForTests, localClient } from "../contract/engines.ts";
import { callerOf } from "../deploy/call.ts";
import { facts, pageCostsOneUnit } from "./facts.ts";
import type { Ground } from "./facts.ts";
import { refused, sqsAnswers, startRecorded } from "./recorded.ts";
import type { Answers } from "./recorded.ts";

const keys = async () => ({ accessKeyId: "local", secretAccessKey: "local" });

/** Everything at one endpoint. */
function groundAt(endpoint: string, more: Partial<Ground> = {}): Ground {
  const client = { ...localClient(endpoint), maxAttempts: 1 };
  const urlOf = (name: string) => `${endpoint}/123456789012/${name}`;
  return {
    dynamo: new DynamoDBClient(client),
    sqs: new SQSClient({ ...client, useQueueUrlAsEndpoint: false }),
    events: new EventBridgeClient(client),
    bedrock: new BedrockRuntimeClient({ ...client, requestHandler: new NodeHttpHandler() }),
    aws: callerOf("us-east-1", keys, endpoint),
    stack: "Smoke",
    leaseTable: "leases",
    factsQueueUrl: urlOf("facts"),
    factsDeadQueueUrl: urlOf("facts-dead"),
    strangerQueueUrl: urlOf("stranger"),
    profileId: "us.amazon.nova-micro-v1:0",
    countedModelId: "anthropic.claude-haiku-4-5-20251001-v1:0",
    arrivalMsMax: 1_500,
    ...more,
  };
}

/** `holds`, or what was found instead. */
async function look(name: string, ground: Ground): Promise<string> {
  const fact = facts.find((each) => each.name === name);
  return await (fact?.run(ground) ?? Promise.reject(new Error(`no fact ${name}`))).then(
    () => "holds",
    (error: unknown) => String(error),
  );
}

async function recorded(answers: Answers): Promise<Ground> {
  return groundAt(await engineForTests(() => startRecorded(answers)));
}

const dynalite = await engineForTests(startDynalite);
const onDynalite = groundAt(dynalite, { leaseTable: await createLeaseTable(dynalite) });
const fauxqs = await engineForTests(startFauxqs);
const onFauxqs = groundAt(fauxqs, {
  factsQueueUrl: await createQueue(fauxqs),
  factsDeadQueueUrl: await createQueue(fauxqs),
  strangerQueueUrl: await createQueue(fauxqs),
});

describe("the row of a refused condition", () => {
  test.runIf(dynoxideBinary() !== undefined)("is found where it is told", async () => {
    const endpoint = await engineForTests(startDynoxide);
    const ground = groundAt(endpoint, { leaseTable: await createLeaseTable(endpoint) });
    expect(await look("row-on-refusal", ground)).toBe("holds");
  });

  test("is missed where an engine keeps it to itself", async () => {
    expect(await look("row-on-refusal", onDynalite)).toMatch(/^AssertionError.*undefined/s);
  });
});

describe("the price of a page", () => {
  test("is one unit, as DynamoDB counts", async () => expect(await look("page-write", onDynalite)).toBe("holds"));

  test("is two for a page of twice as many", async () => {
    await expect(pageCostsOneUnit(onDynalite.dynamo, onDynalite.leaseTable, 64)).rejects.toThrow("2 !== 1");
  });
});

/** By what is changed of AWS's answers. */
const wrong: readonly (readonly [fact: string, says: string, answers: Answers, why: RegExp])[] = [
  [
    "twelve-hours",
    "a service that shortens the time",
    { ChangeMessageVisibility: () => ({ body: {} }) },
    /did not refuse/,
  ],
  [
    "twelve-hours",
    "a caller without the right",
    { ChangeMessageVisibility: () => refused("com.amazonaws.sqs#AccessDenied", "you may not") },
    /may not/,
  ],
  ["fair-queues", "a queue that forgets the group", sqsAnswers({ forgetsGroup: true }), /acme/],
  [
    "fair-queues",
    "a queue that refuses it",
    { SendMessage: () => refused("InvalidParameterValue", "no group") },
    /no group/,
  ],
  ["redrive-allow", "a queue that lets anybody in", { SetQueueAttributes: () => ({ body: {} }) }, /did not refuse/],
  [
    "redrive-allow",
    "a policy that names nobody",
    { GetQueueAttributes: () => ({ body: { Attributes: { QueueArn: "arn", RedriveAllowPolicy: "{}" } } }) },
    /byQueue/,
  ],
  ["move-task", "a task that moves nothing", { ReceiveMessage: () => ({ body: {} }) }, /did not arrive/],
  [
    "move-task",
    "a service that has none",
    { StartMessageMoveTask: () => refused("UnknownOperation", "what?") },
    /what/,
  ],
];

describe("of SQS", () => {
  test.each(["twelve-hours", "fair-queues", "redrive-allow", "move-task"])("%s holds as AWS answers", async (name) =>
    expect(await look(name, await recorded(sqsAnswers()))).toBe("holds"),
  );

  test.each(wrong)("%s finds fault with %s", async (name, _says, answers, why) =>
    expect(await look(name, await recorded({ ...sqsAnswers(), ...answers }))).toMatch(why),
  );

  test.each([
    ["twelve-hours", /did not refuse/],
    ["fair-queues", /acme|Group/],
    ["redrive-allow", /byQueue/],
    ["move-task", /./],
  ])("%s finds fault with an engine that has it not", async (name, why) =>
    expect(await look(name, onFauxqs)).toMatch(why),
  );
});

const entry = (answer: JsonObject, failed: number) => ({
  PutEvents: () => ({ body: { FailedEntryCount: failed, Entries: [answer] } }),
});
const alarm = (expression: string, state = "") =>
  `<member><AlarmArn>arn</AlarmArn>${state}<Metrics><member><Expression>${expression}</Expression></member></Metrics></member>`;
const alarms = (...members: readonly string[]) => ({
  DescribeAlarms: () => ({
    body: `<DescribeAlarmsResponse><DescribeAlarmsResult><MetricAlarms>${members.join("")}</MetricAlarms></DescribeAlarmsResult></DescribeAlarmsResponse>`,
  }),
});
const grouped = `SELECT SUM(&quot;BreakerShut&quot;) FROM SCHEMA(&quot;Sluice&quot;) GROUP BY &quot;model&quot;`;
const routes = (...regions: readonly string[]) => ({
  "inference-profiles": () => ({
    body: {
      status: "ACTIVE",
      models: regions.map((region) => ({
        modelArn: `arn:aws:bedrock:${region}::foundation-model/amazon.nova-micro-v1:0`,
      })),
    },
  }),
});

const rows: readonly (readonly [fact: string, says: string, answers: Answers, found: RegExp])[] = [
  ["missing-bus", "an event that is taken", entry({ EventId: "1" }, 0), /^holds$/],
  ["missing-bus", "an event that is refused", entry({ ErrorCode: "NoSuchBus" }, 1), /NoSuchBus/],
  ["missing-bus", "an event without an id", entry({}, 0), /no id/],
  ["insights-alarms", "two alarms that group", alarms(alarm(grouped), alarm("m0 + m1"), alarm(grouped)), /^holds$/],
  [
    "insights-alarms",
    "an account without them",
    alarms(alarm("m0 + m1"), alarm(grouped)),
    /1 alarms have such a query, of 2/,
  ],
  [
    "insights-alarms",
    "one that CloudWatch cannot evaluate",
    alarms(alarm(grouped), alarm(grouped, "<EvaluationState>EVALUATION_ERROR</EvaluationState>")),
    /1 alarms cannot/,
  ],
  ["inference-profile", "the regions that are known", routes("us-east-1", "us-east-2", "us-west-2"), /^holds$/],
  [
    "inference-profile",
    "a region that the functions may not call",
    routes("us-east-1", "ca-central-1"),
    /ca-central-1/,
  ],
  ["inference-profile", "a profile of nothing", routes(), /names no model/],
  ["count-tokens", "a count", { "count-tokens": () => ({ body: { inputTokens: 12 } }) }, /^holds$/],
  ["count-tokens", "no count", { "count-tokens": () => ({ body: { inputTokens: 0 } }) }, /counted 0/],
];

describe("of the others", () => {
  test.each(rows)("%s, of %s, says so", async (name, _says, answers, found) =>
    expect(await look(name, await recorded(answers))).toMatch(found),
  );

  test("count-tokens holds on the stand-in for Bedrock", async () => {
    const bedrock = await startBedrock();
    afterAll(() => bedrock.close());
    expect(await look("count-tokens", groundAt(bedrock.endpoint))).toBe("holds");
  });
});

test("every fact is looked at here, rightly and wrongly", () => {
  const both = new Set(["row-on-refusal", "page-write", ...wrong.map(([name]) => name)]);
  for (const [name] of rows) both.add(name);
  expect(facts.map(({ name }) => name).toSorted()).toEqual([...both].toSorted());
});

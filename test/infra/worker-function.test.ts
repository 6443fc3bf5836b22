import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { workerSettingsOf } from "../../lib/aws/settings.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { lanes } from "../../lib/core/lane.ts";
import { laneLimits } from "../../lib/core/limits.ts";
import { of as one } from "./one-function.ts";
import { target, template } from "./synth.ts";

const counted = target({ contextWindow: 300_000, countTokens: true });
const built = template({
  models: { "fast-text": { targets: { "us-west-2": counted } } },
  paramsRef: { buckets: ["in-box"] },
  replies: {
    allow: {
      sqs: ["https://sqs.us-west-2.amazonaws.com/123456789012/done"],
      eventBuses: ["arn:aws:events:us-west-2:123456789012:event-bus/done"],
      sns: ["arn:aws:sns:us-west-2:123456789012:done"],
      taskTokens: true,
    },
  },
});

/** The one resource of a type that belongs to a lane's worker, with its logical id. */
function of(lane: Lane, type: string) {
  return one(built, `Llm${lane.charAt(0).toUpperCase()}${lane.slice(1)}Worker`, type);
}

describe("a lane's worker", () => {
  test.each([
    ["rt", 90],
    ["bg", 300],
    ["bulk", 900],
  ] as const)("%s has a timeout of %i s", (lane, timeoutS) =>
    expect(of(lane, "AWS::Lambda::Function").properties.Timeout).toBe(timeoutS),
  );

  test("of every lane comes from one bundle", () =>
    expect(new Set(lanes.map((lane) => JSON.stringify(of(lane, "AWS::Lambda::Function").properties.Code))).size).toBe(
      1,
    ));

  test.each(lanes)("%s finds its tables, queues and bucket in its environment, as references", (lane) => {
    const { Variables } = of(lane, "AWS::Lambda::Function").properties.Environment;
    const refs = Object.fromEntries(
      Object.entries<{ Ref?: string }>(Variables).map(([name, value]) => [
        name,
        value.Ref?.replace(/[0-9A-F]{8}$/, "") ?? value,
      ]),
    );
    const laneQueue = `Llm${lane.charAt(0).toUpperCase()}${lane.slice(1)}Queue`;
    expect(refs).toEqual({
      SLUICE_LANE: lane,
      SLUICE_QUEUE_URL: laneQueue,
      SLUICE_PARKED_QUEUE_URL: "LlmParkedQueue",
      SLUICE_REPLIES_QUEUE_URL: "LlmRepliesQueue",
      SLUICE_JOB_TABLE: "LlmJobTable",
      SLUICE_LEASE_TABLE: "LlmLeaseTable",
      SLUICE_BUCKET: "LlmRepliesBucket",
    });
  });

  test.each(lanes)("%s is told all that its handler asks for", (lane) => {
    const { Variables } = of(lane, "AWS::Lambda::Function").properties.Environment;
    const told = Object.entries(Variables).map(([name, value]) => [name, typeof value === "string" ? value : name]);
    expect(workerSettingsOf(Object.fromEntries(told)).lane).toBe(lane);
  });

  test.each([
    ["rt", { BatchSize: 1, ScalingConfig: { MaximumConcurrency: 72 } }],
    ["bg", { BatchSize: 5, ScalingConfig: { MaximumConcurrency: 28 } }],
    ["bulk", { BatchSize: 10, ScalingConfig: { MaximumConcurrency: 13 }, MaximumBatchingWindowInSeconds: 1 }],
  ] as const)("%s is fed through its alias live, with partial batch responses", (lane, numbers) => {
    const { properties } = of(lane, "AWS::Lambda::EventSourceMapping");
    expect(properties).toMatchObject({ ...numbers, FunctionResponseTypes: ["ReportBatchItemFailures"] });
    expect(JSON.stringify(properties.FunctionName)).toContain(`{"Ref":"${of(lane, "AWS::Lambda::Alias").id}"}`);
    expect(properties.MaximumBatchingWindowInSeconds ?? 0).toBe(laneLimits[lane].batchWindowS);
  });
});

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Effect: string;
  readonly Condition?: object;
}

const statements = (lane: Lane): readonly Statement[] =>
  of(lane, "AWS::IAM::Policy").properties.PolicyDocument.Statement;

/** Everything that a lane's worker may do, as `actions: where`. */
const rights = (lane: Lane) =>
  statements(lane).map(({ Action, Resource, Condition }) => {
    const condition = Condition === undefined ? "" : ` where ${JSON.stringify(Condition)}`;
    const where = (JSON.stringify(Resource) + condition).replaceAll(/[0-9A-F]{8}(?=")/g, "");
    return `${[Action]
      .flat()
      .map((action) => action.split(":")[1])
      .join(" ")}: ${where}`;
  });

describe("the rights of a lane's worker", () => {
  test.each(lanes)("%s have nothing with * but keys in S3 and tasks", (lane) => {
    for (const { Action, Resource } of each(lane)) {
      expect(Action).not.toContain("*");
      if (Action.startsWith("states:SendTask")) continue; // a token has no ARN
      expect(Action.startsWith("s3:") || !Resource.includes("*")).toBe(true);
      expect(Resource).not.toMatch(/"\*"|:::\*/);
    }
  });

  test("are these and no others", () =>
    expect(rights("bg")).toEqual([
      'CreateLogStream PutLogEvents: {"Fn::GetAtt":["LlmBgWorkerLogs","Arn"]}',
      'ChangeMessageVisibility DeleteMessage GetQueueAttributes ReceiveMessage: {"Fn::GetAtt":["LlmBgQueue","Arn"]}',
      'GetItem UpdateItem: [{"Fn::GetAtt":["LlmJobTable","Arn"]},{"Fn::GetAtt":["LlmLeaseTable","Arn"]}]',
      'BatchGetItem: {"Fn::GetAtt":["LlmLeaseTable","Arn"]}',
      'SendMessage: [{"Fn::GetAtt":["LlmParkedQueue","Arn"]},{"Fn::GetAtt":["LlmRepliesQueue","Arn"]},{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":sqs:us-west-2:123456789012:done"]]}]',
      expect.stringMatching(/^CountTokens: .*:bedrock:us-west-2::foundation-model.amazon\.nova-lite-v1:0/),
      expect.stringMatching(/^GetInferenceProfile InvokeModel InvokeModelWithResponseStream: .*:inference-profile/),
      expect.stringMatching(/^InvokeModel InvokeModelWithResponseStream: .*foundation-model/),
      'PutObject: {"Fn::Join":["",[{"Fn::GetAtt":["LlmRepliesBucket","Arn"]},"/outputs/*"]]}',
      'GetObject: [{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":s3:::in-box/*"]]},{"Fn::Join":["",[{"Fn::GetAtt":["LlmRepliesBucket","Arn"]},"/params/*"]]}]',
      'ListBucket: {"Fn::GetAtt":["LlmRepliesBucket","Arn"]} where {"StringLike":{"s3:prefix":"params/*"}}',
      'ListBucket: {"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":s3:::in-box"]]}',
      'PutEvents: "arn:aws:events:us-west-2:123456789012:event-bus/done"',
      'Publish: "arn:aws:sns:us-west-2:123456789012:done"',
      'SendTaskFailure SendTaskHeartbeat SendTaskSuccess: "*"',
    ]));

  test("are the same in every lane, but for its own queue and log", () => {
    const [rt, bg, bulk] = lanes.map((lane) =>
      rights(lane).map((right) => right.replaceAll(new RegExp(`Llm${lane}`, "gi"), "Lane")),
    );
    expect([rt, bulk]).toEqual([bg, bg]);
  });

  test("cover every call that the adapters make", () => {
    const adapters = new URL("../../lib/aws/", import.meta.url);
    const sources = readdirSync(adapters).map((file) => readFileSync(new URL(file, adapters), "utf8"));
    const calls = new Set(sources.join("").match(/\b[A-Z]\w+(?=Command\()/g));
    const ofOthers = ["Query", "Scan"]; // the sweeper asks the index, the widget the whole table too
    const may = new Set([...ofOthers, ...each("bg").map(({ Action }) => Action.split(":")[1] ?? "")]);
    expect([...calls].map((call) => actionOf[call] ?? call).filter((action) => !may.has(action))).toEqual([]);
  });

  test("read no bucket but the stack's own, and there only params, unless the config names one", () => {
    const policies = template().findResources("AWS::IAM::Policy");
    const read = JSON.stringify(policies).matchAll(/"s3:GetObject","Effect":"Allow","Resource":(.*?\]\]\})/g);
    const params = expect.stringMatching(
      /^\{"Fn::Join":\["",\[\{"Fn::GetAtt":\["LlmRepliesBucket\w+","Arn"\]\},"\/params\/\*"\]\]\}$/,
    );
    expect([...read].map(([, resource]) => resource)).toEqual([params, params, params, params]);
  });
});

/** The action that allows a call, where it has another name. */
const actionOf: Readonly<Record<string, string>> = {
  ChangeMessageVisibilityBatch: "ChangeMessageVisibility",
  Converse: "InvokeModel",
  ConverseStream: "InvokeModelWithResponseStream",
};

function each(lane: Lane) {
  return statements(lane).flatMap(({ Action, Resource }) =>
    [Action].flat().map((action) => ({ Action: action, Resource: JSON.stringify(Resource) })),
  );
}

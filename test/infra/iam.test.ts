import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { account, arnOf, covers, isAllowed, region, rightsIn } from "./iam.ts";
import type { Call } from "./iam.ts";
import { target, template } from "./synth.ts";

/** With each kind of destination, of target, of guardrail, and a bucket under a key. */
const built = template({
  models: {
    m: {
      targets: {
        profile: target(),
        model: target({ modelId: "amazon.nova-pro-v1:0", countTokens: true, contextWindow: 300_000 }),
      },
    },
  },
  guardrails: [arnOf("bedrock", "guardrail/gr1"), arnOf("bedrock", "guardrail-profile/us.guardrail.v1:0")],
  paramsRef: { buckets: ["their-params"], keys: [arnOf("kms", "key/their-key")] },
  replies: {
    allow: {
      sqs: [`https://sqs.${region}.amazonaws.com/${account}/done`],
      eventBuses: ["done"],
      sns: [arnOf("sns", "done")],
      taskTokens: true,
    },
  },
});

/** The right that each command of an adapter asks for. */
const actionOf: Readonly<Record<string, string>> = {
  BatchGetItem: "dynamodb:BatchGetItem",
  ChangeMessageVisibilityBatch: "sqs:ChangeMessageVisibility",
  Converse: "bedrock:InvokeModel",
  ConverseStream: "bedrock:InvokeModelWithResponseStream",
  CountTokens: "bedrock:CountTokens",
  GetItem: "dynamodb:GetItem",
  GetObject: "s3:GetObject",
  GetQueueAttributes: "sqs:GetQueueAttributes",
  InvokeModel: "bedrock:InvokeModel",
  Publish: "sns:Publish",
  PutEvents: "events:PutEvents",
  PutObject: "s3:PutObject",
  Query: "dynamodb:Query",
  Scan: "dynamodb:Scan",
  SendMessage: "sqs:SendMessage",
  SendTaskFailure: "states:SendTaskFailure",
  SendTaskHeartbeat: "states:SendTaskHeartbeat",
  SendTaskSuccess: "states:SendTaskSuccess",
  UpdateItem: "dynamodb:UpdateItem",
};

const queue = (name: string) => arnOf("sqs", name);
const table = (name: string) => arnOf("dynamodb", `table/${name}`);
const bucket = "arn:aws:s3:::RepliesBucket";
const profile = arnOf("bedrock", "inference-profile/us.amazon.nova-lite-v1:0");
const model = (id: string, where = region) => `arn:aws:bedrock:${where}::foundation-model/${id}`;

function calls(service: string, actions: string, resource: string, context?: Call["context"]): readonly Call[] {
  return actions.split(" ").map((action) => ({
    action: `${service}:${action}`,
    resource,
    ...(context === undefined ? {} : { context }),
  }));
}

const logging = (name: string) =>
  calls("logs", "CreateLogStream PutLogEvents", arnOf("logs", `log-group:${name}Logs:log-stream:2026`));

/** The mapping's own calls; https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html; and hiding. */
const fedFrom = (name: string) =>
  calls("sqs", "ReceiveMessage DeleteMessage GetQueueAttributes ChangeMessageVisibility", queue(name));

const measuring = (name: string) => calls("sqs", "GetQueueAttributes", queue(name));

/** A write that was refused reads the row it was refused by. */
const writingJobs = calls("dynamodb", "GetItem UpdateItem", table("JobTable"));

const parking = calls("sqs", "SendMessage", queue("ParkedQueue"));
const outbox = calls("sqs", "SendMessage", queue("RepliesQueue"));
const puttingOutputs = calls("s3", "PutObject", `${bucket}/outputs/job/0.json`);
const announcing = [
  ...calls("sqs", "SendMessage", queue("done")),
  ...calls("events", "PutEvents", arnOf("events", "event-bus/done")),
  ...calls("sns", "Publish", arnOf("sns", "done")),
  ...calls("states", "SendTaskSuccess SendTaskFailure", "*"),
];
/** S3 decrypts in the name of whoever gets. */
const gettingParams = [
  ...calls("kms", "Decrypt", arnOf("kms", "key/their-key"), { "kms:ViaService": `s3.${region}.amazonaws.com` }),
  ...calls("s3", "GetObject", `${bucket}/params/0.json`),
  ...calls("s3", "GetObject", "arn:aws:s3:::their-params/any/0.json"),
];

/**
 * A call through a profile is weighed for the profile, then for the model that it was routed to; one under a guardrail for
 * that too, and where it has a profile of its own, for this.
 */
const invoke = "InvokeModel InvokeModelWithResponseStream";
const asking = [
  ...calls("bedrock", invoke, model("amazon.nova-pro-v1:0")),
  ...calls("bedrock", "CountTokens", model("amazon.nova-pro-v1:0")),
  ...["guardrail/gr1", "guardrail-profile/us.guardrail.v1:0"].flatMap((what) =>
    calls("bedrock", "ApplyGuardrail", arnOf("bedrock", what)),
  ),
  ...calls("bedrock", invoke, profile),
  ...["us-east-1", "us-east-2", "us-west-2"].flatMap((where) =>
    calls("bedrock", invoke, model("amazon.nova-lite-v1:0", where), { "bedrock:InferenceProfileArn": profile }),
  ),
];

const worker = (lane: string) => [
  ...logging(`${lane}Worker`),
  ...fedFrom(`${lane}Queue`),
  ...[writingJobs, gettingParams, asking, puttingOutputs, outbox, parking, announcing].flat(),
  ...calls("dynamodb", "BatchGetItem GetItem UpdateItem", table("LeaseTable")),
  ...calls("states", "SendTaskHeartbeat", "*"),
];

const made: Readonly<Record<string, readonly Call[]>> = {
  RtWorker: worker("Rt"),
  BgWorker: worker("Bg"),
  BulkWorker: worker("Bulk"),
  ReplyStore: [
    ...logging("ReplyStore"),
    ...fedFrom("RepliesQueue"),
    ...[writingJobs, puttingOutputs, parking, announcing].flat(),
  ],
  DeadLetters: [
    ...logging("DeadLetters"),
    ...["Rt", "Bg", "Bulk"].flatMap((lane) => fedFrom(`${lane}QueueDeadLetters`)),
    ...[writingJobs, gettingParams, outbox, parking, announcing].flat(),
  ],
  Sweeper: [
    ...logging("Sweeper"),
    ...writingJobs,
    ...calls("dynamodb", "Query", `${table("JobTable")}/index/sweep`),
    ...announcing,
  ],
  Widget: [
    ...logging("Widget"),
    ...calls("dynamodb", "Query", `${table("JobTable")}/index/sweep`),
    ...calls("dynamodb", "Scan BatchGetItem", table("JobTable")),
    ...calls("dynamodb", "BatchGetItem GetItem", table("LeaseTable")),
    ...["RtQueue", "BgQueue", "BulkQueue", "ParkedQueue", "RepliesQueue"].flatMap((name) => measuring(name)),
    ...["Rt", "Bg", "Bulk"].flatMap((lane) => measuring(`${lane}QueueDeadLetters`)),
  ],
};

/** Granted, though no function calls it. */
const acknowledged: readonly { readonly why: string; readonly of: RegExp; readonly calls: readonly Call[] }[] = [
  {
    why: "without it S3 answers a missing key with AccessDenied",
    of: /Worker|DeadLetters/,
    calls: [
      ...calls("s3", "ListBucket", bucket, { "s3:prefix": "params/0.json" }),
      ...calls("s3", "ListBucket", "arn:aws:s3:::their-params"),
    ],
  },
  {
    why: "Bedrock wants it of whoever calls through a profile",
    of: /Worker/,
    calls: calls("bedrock", "GetInferenceProfile", profile),
  },
];

const acknowledgedOf = (name: string) => acknowledged.flatMap((each) => (each.of.test(name) ? each.calls : []));

/** What no function does to anything. */
const never = [
  ...["DeleteItem", "DeleteTable", "PutItem"].map((verb) => `dynamodb:${verb}`),
  ...["PurgeQueue", "SetQueueAttributes"].map((verb) => `sqs:${verb}`),
  ...["DeleteObject", "PutBucketPolicy"].map((verb) => `s3:${verb}`),
  "bedrock:CreateModelInvocationJob",
  "events:PutRule",
  "logs:DeleteLogGroup",
  "sns:Subscribe",
];

/** The same in another account, in another region, and by another name. */
function strangers(arn: string): readonly string[] {
  return [
    arn.replace(account, "999999999999"),
    arn.replace(/:us-\w+-\d:/, ":eu-central-1:"),
    arn.replace(
      /^((?:[^:]*:){5}(?:(?:table|log-group|event-bus|inference-profile|foundation-model|guardrail|guardrail-profile|key)[/:])?[\w.-]+)/,
      "$1s",
    ),
  ];
}

const all = [...Object.values(made).flat(), ...acknowledged.flatMap((each) => each.calls)];
const actions = new Set([...all.map(({ action }) => action), ...never]);
const resources = new Set(all.flatMap(({ resource }) => [resource, ...strangers(resource)]).concat(`${bucket}/0.json`));
const contexts: readonly (Call["context"] | undefined)[] = [
  undefined,
  { "bedrock:InferenceProfileArn": profile },
  ...strangers(profile).map((other) => ({ "bedrock:InferenceProfileArn": other })),
  { "s3:prefix": "params/0.json" },
  { "s3:prefix": "outputs/job" },
];

/** Every action on every resource of its service, in every context. */
const conceivable: readonly Call[] = [...actions].flatMap((action) =>
  [...resources]
    .filter((resource) => action.split(":")[0] === (resource === "*" ? "states" : resource.split(":")[2]))
    .flatMap((resource) => contexts.map((context) => ({ action, resource, ...(context && { context }) }))),
);

const told = ({ action, resource, context = {} }: Call) =>
  [action, resource, ...Object.entries(context).map(([key, value]) => `${key}=${value}`)].join(" ");

describe.each(Object.entries(made))("%s", (name, itsCalls) => {
  const rights = rightsIn(built, `Llm${name}`);
  const due = [...itsCalls, ...acknowledgedOf(name)];

  test("is allowed each call that it makes", () =>
    expect(due.filter((call) => !isAllowed(rights, call)).map(told)).toEqual([]));

  test("is denied every other call, on what is another's as on what is its own", () => {
    // What needs no context is allowed in any.
    const expected = new Set(due.map(told));
    const others = conceivable.filter(
      (call) => !expected.has(told(call)) && !expected.has(`${call.action} ${call.resource}`),
    );
    expect(others.length).toBeGreaterThan(1_000);
    expect(others.filter((call) => isAllowed(rights, call)).map(told)).toEqual([]);
  });

  test("has no right that no call needs", () =>
    expect(rights.filter((right) => !due.some((call) => covers(right, call)))).toEqual([]));
});

test("what is acknowledged is no call of the function's", () => {
  const hidden = Object.entries(made).flatMap(([name, itsCalls]) => {
    const calledFor = new Set(itsCalls.map(told));
    return acknowledgedOf(name).filter((call) => calledFor.has(told(call)));
  });
  expect(hidden).toEqual([]);
});

test("every command of the adapters is some function's call", () => {
  const floor = join(import.meta.dirname, "../../lib/aws");
  const sent = readdirSync(floor).flatMap((file) =>
    [...readFileSync(join(floor, file), "utf8").matchAll(/new (\w+)Command\(/g)].map(([, command = ""]) => command),
  );
  expect([...new Set(sent)].toSorted()).toEqual(Object.keys(actionOf));
  const called = new Set(Object.values(made).flatMap((each) => each.map(({ action }) => action)));
  expect(Object.values(actionOf).filter((action) => !called.has(action))).toEqual([]);
});

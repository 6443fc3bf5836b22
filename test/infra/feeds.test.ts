import type { Stack } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { Rule } from "aws-cdk-lib/aws-events";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { SqsQueue } from "aws-cdk-lib/aws-events-targets";
import { Bucket, BucketEncryption, EventType } from "aws-cdk-lib/aws-s3";
import { SqsDestination } from "aws-cdk-lib/aws-s3-notifications";
import { ScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import { Topic } from "aws-cdk-lib/aws-sns";
import { SqsSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { DefinitionBody, Pass, StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import { describe, expect, test } from "vitest";
import type { Feed, FeedOptions } from "../../infra/feeds.ts";
import { Sluice } from "../../infra/sluice.ts";
import type { SluiceProps } from "../../infra/sluice-props.ts";
import { of, rightsOf } from "./one-function.ts";
import { Template, config, findings, smallEntry, stack } from "./synth.ts";

const within = (theirs: Stack, props: Partial<SluiceProps> = {}) =>
  new Sluice(theirs, "Llm", {
    config: config({ paramsRef: { buckets: ["in-box"] } }),
    entryOf: smallEntry,
    ...props,
  });
const pattern = { eventPattern: { source: ["acme"] } };
const withoutHashes = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/[0-9A-F]{8}(?=")/g, ""));

/** What the policy of a lane's queue allows; its own refusal of what comes without TLS left out. */
function allowedIn(built: Template, lane: string) {
  const { properties } = of(built, `Llm${lane}QueuePolicy`, "AWS::SQS::QueuePolicy");
  const statements: { readonly Effect: string }[] = properties.PolicyDocument.Statement;
  return withoutHashes(statements.filter(({ Effect }) => Effect === "Allow"));
}

/** What the key's policy allows to a service. */
function allowedByKey(built: Template, service: string) {
  const { properties } = of(built, "Key", "AWS::KMS::Key");
  const statements: { readonly Principal: { readonly Service?: string } }[] = properties.KeyPolicy.Statement;
  return withoutHashes(statements.filter(({ Principal }) => Principal.Service === service));
}

const arnOf = (id: string) => ({ "Fn::GetAtt": [id, "Arn"] });
const senders: readonly [string, (theirs: Stack) => Feed, service: string, Condition: object, ofKey: object][] = [
  [
    "a topic",
    (theirs) => new Topic(theirs, "From"),
    "sns",
    { ArnEquals: { "aws:SourceArn": { Ref: "From" } } },
    { Condition: { ArnEquals: { "aws:SourceArn": { Ref: "From" } } } },
  ],
  [
    "a rule",
    (theirs) => new Rule(theirs, "From", pattern),
    "events",
    { ArnEquals: { "aws:SourceArn": arnOf("From") } },
    {},
  ],
  [
    "a bucket",
    (theirs) => new Bucket(theirs, "From", { bucketName: "in-box" }),
    "s3",
    { ArnEquals: { "aws:SourceArn": arnOf("From") }, StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
    {},
  ],
];

describe.each(senders)("%s that is allowed to feed", (_says, from, service, Condition, ofKey) => {
  const Principal = { Service: `${service}.amazonaws.com` };
  const send = (lane: string) => ({
    Effect: "Allow",
    Principal,
    Action: "sqs:SendMessage",
    Resource: arnOf(`Llm${lane}Queue`),
    Condition,
  });

  test.each<[name: string, options: FeedOptions | undefined, others: readonly string[]]>([
    ["Bg", undefined, ["Rt", "Bulk"]],
    ["Rt", { lane: "rt" }, ["Bg", "Bulk"]],
    ["Bulk", { lane: "bulk" }, ["Rt", "Bg"]],
  ])("%s may send to its queue and to no other: bg, unless a lane is named", (name, options, others) => {
    const theirs = stack();
    within(theirs).allowFeed(from(theirs), options);
    const built = Template.fromStack(theirs);
    expect(allowedIn(built, name)).toEqual([send(name)]);
    for (const other of others) expect(allowedIn(built, other)).toEqual([]);
  });

  test("may use the key that the queue is under", () => {
    const theirs = stack();
    within(theirs, { key: new Key(theirs, "Key") }).allowFeed(from(theirs));
    const use = { Effect: "Allow", Principal, Action: ["kms:Decrypt", "kms:GenerateDataKey"], Resource: "*", ...ofKey };
    expect(allowedByKey(Template.fromStack(theirs), Principal.Service)).toEqual([use]);
  });

  test("but whose queue and key are imported is told what their policies must hold", () => {
    const theirs = stack();
    const keyArn = "arn:aws:kms:us-west-2:123456789012:key/1";
    const queueArn = "arn:aws:sqs:us-west-2:123456789012:mine";
    const bg = Queue.fromQueueAttributes(theirs, "Mine", { queueArn, keyArn });
    within(theirs, { queues: { bg } }).allowFeed(from(theirs));
    const told = Annotations.fromStack(theirs)
      .findWarning("/Theirs/Llm", Match.anyValue())
      .map(({ entry }) => entry.data);
    expect(told).toEqual([
      expect.stringMatching(`imported queue .* lost unless it holds: .*"${service}.amazonaws.com"`),
      expect.stringMatching(`imported key .* lost unless it holds: .*"${service}.amazonaws.com"`),
    ]);
  });
});

test("queue, key and all senders by their own names close no circle in one stack", () => {
  const theirs = stack();
  const llm = within(theirs, { key: new Key(theirs, "Key") });
  const { queue } = llm.jobQueues.bg;
  const topic = new Topic(theirs, "Topic");
  const rule = new Rule(theirs, "Rule", { ...pattern, targets: [new SqsQueue(queue)] });
  const bucket = new Bucket(theirs, "Bucket", { bucketName: "in-box" });
  topic.addSubscription(new SqsSubscription(queue));
  bucket.addEventNotification(EventType.OBJECT_CREATED, new SqsDestination(queue));
  for (const from of [topic, rule, bucket]) llm.allowFeed(from);
  expect(() => Template.fromStack(theirs)).not.toThrow();
});

describe("who sends by a role", () => {
  const sending = [`SendMessage: ${JSON.stringify(arnOf("LlmRtQueue"))}`];
  const role = (theirs: Stack) => new Role(theirs, "From", { assumedBy: new ServicePrincipal("pipes.amazonaws.com") });

  test.each<[string, from: (theirs: Stack) => Feed]>([
    ["a pipe or an API", role],
    [
      "a state machine",
      (theirs) =>
        new StateMachine(theirs, "From", { definitionBody: DefinitionBody.fromChainable(new Pass(theirs, "P")) }),
    ],
  ])("%s may send by it, and nobody else is let in", (_says, from) => {
    const theirs = stack();
    within(theirs).allowFeed(from(theirs), { lane: "rt" });
    const built = Template.fromStack(theirs);
    expect(rightsOf(of(built, "From", "AWS::IAM::Policy"))).toEqual(sending);
    expect(allowedIn(built, "Rt")).toEqual([]);
  });

  test("and under a key may use it", () => {
    const theirs = stack();
    within(theirs, { key: new Key(theirs, "Key") }).allowFeed(role(theirs), { lane: "rt" });
    expect(rightsOf(of(Template.fromStack(theirs), "From", "AWS::IAM::Policy"))).toEqual([
      ...sending,
      `Decrypt GenerateDataKey: ${JSON.stringify(arnOf("Key"))}`,
    ]);
  });

  test("is, for a group of schedules, a role that only they may take", () => {
    const theirs = stack();
    const made = within(theirs).allowFeed(new ScheduleGroup(theirs, "Group"), { lane: "rt" });
    expect(made.roleArn).toBeDefined();
    const built = Template.fromStack(theirs);
    expect(rightsOf(of(built, "Group", "AWS::IAM::Policy"))).toEqual(sending);
    const { AssumeRolePolicyDocument } = of(built, "Group", "AWS::IAM::Role").properties;
    expect(withoutHashes(AssumeRolePolicyDocument.Statement)).toEqual([
      {
        Effect: "Allow",
        Action: "sts:AssumeRole",
        Principal: { Service: "scheduler.amazonaws.com" },
        Condition: {
          StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" }, "aws:SourceArn": arnOf("Group") },
        },
      },
    ]);
    expect(findings(theirs)).toEqual([]);
  });
});

describe("a bucket of envelopes", () => {
  test.each<[string, from: (theirs: Stack) => Bucket]>([
    ["without a name of its own", (theirs) => new Bucket(theirs, "From")],
    ["that the config does not name", (theirs) => new Bucket(theirs, "From", { bucketName: "other" })],
  ])("%s is refused, with the remedy", (_says, from) => {
    const theirs = stack();
    expect(() => within(theirs).allowFeed(from(theirs))).toThrow(
      "the bucket From would feed jobs that no worker may read; give it a bucketName, and name that in paramsRef.buckets",
    );
  });

  test("imported by its name is known by it", () => {
    const theirs = stack();
    within(theirs).allowFeed(Bucket.fromBucketName(theirs, "From", "in-box"));
    expect(JSON.stringify(allowedIn(Template.fromStack(theirs), "Bg"))).toContain(":s3:::in-box");
  });

  test("under a key of its own is read by those who read envelopes", () => {
    const theirs = stack();
    const encryptionKey = new Key(theirs, "Key");
    const encryption = BucketEncryption.KMS;
    within(theirs).allowFeed(new Bucket(theirs, "From", { bucketName: "in-box", encryption, encryptionKey }));
    const built = Template.fromStack(theirs);
    const decrypt = `Decrypt: ${JSON.stringify(arnOf("Key"))}`;
    const readers = ["RtWorker", "BgWorker", "BulkWorker", "DeadLetters", "ReplyStore", "Sweeper", "Widget"].filter(
      (name) => rightsOf(of(built, `Llm${name}Role`, "AWS::IAM::Policy")).includes(decrypt),
    );
    expect(readers).toEqual(["RtWorker", "BgWorker", "BulkWorker", "DeadLetters"]);
  });
});

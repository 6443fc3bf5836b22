import { Duration } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { QueueProps } from "aws-cdk-lib/aws-sqs";
import { describe, expect, test } from "vitest";
import { unfit } from "../../infra/job-queue.ts";
import { Sluice } from "../../infra/sluice.ts";
import { lanes } from "../../lib/core/lane.ts";
import { laneLimits, queueVisibilityS, sqsRetentionS } from "../../lib/core/limits.ts";
import { Template, config, smallEntry, stack, template } from "./synth.ts";

const built = template();
const queues = Object.entries(built.findResources("AWS::SQS::Queue"));

describe("the numbers of a lane's queue", () => {
  test.each(lanes)("%s keeps a message until its last receive is over", (lane) =>
    expect(laneLimits[lane].receivesMax * queueVisibilityS(lane)).toBeLessThan(sqsRetentionS),
  );
  test.each(lanes)("%s is found fit by the rule for given queues", (lane) =>
    expect(
      unfit(lane, {
        fifo: false,
        visibilityS: queueVisibilityS(lane),
        retentionS: sqsRetentionS,
        receivesMax: laneLimits[lane].receivesMax,
      }),
    ).toBeUndefined(),
  );
});

describe("the queues in the template", () => {
  test("are three lanes, their dead-letter queues, the parked one and that of replies", () =>
    expect(queues).toHaveLength(8));

  test.each(queues)("%s is encrypted by SQS and keeps messages for 14 days", (_id, { Properties }) =>
    expect(Properties).toMatchObject({ SqsManagedSseEnabled: true, MessageRetentionPeriod: 1_209_600 }),
  );

  test.each(queues)("%s is for TLS only", (id) => {
    const [policy] = Object.values(
      built.findResources("AWS::SQS::QueuePolicy", { Properties: { Queues: [{ Ref: id }] } }),
    );
    expect(policy?.["Properties"].PolicyDocument.Statement).toMatchObject([
      {
        Effect: "Deny",
        Principal: { AWS: "*" },
        Action: "sqs:*",
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      },
    ]);
  });

  test.each(queues)("%s says which queues may dead-letter into it", (id, { Properties }) => {
    const permission = id.includes("DeadLetters") ? "byQueue" : "denyAll";
    expect(Properties.RedriveAllowPolicy.redrivePermission).toBe(permission);
  });

  test("give nothing up, but the lanes' own", () => {
    const redriven = queues.filter(([, { Properties }]) => Properties.RedrivePolicy !== undefined);
    expect(redriven.map(([id]) => id.replace(/[0-9A-F]{8}$/, ""))).toEqual([
      "LlmRtQueue",
      "LlmBgQueue",
      "LlmBulkQueue",
    ]);
  });

  test.each([
    ["rt", 540, 50],
    ["bg", 1_800, 200],
    ["bulk", 5_401, 200],
  ] as const)(
    "%s: visibility %i s, %i receives, then its own dead-letter queue, which knows it by name",
    (lane, visibilityS, receives) => {
      const [deadId, dead] = queueOf(`^Llm${lane}QueueDeadLetters`);
      const [, mine] = queueOf(`^Llm${lane}Queue(?!DeadLetters)`);
      expect(mine).toMatchObject({
        VisibilityTimeout: visibilityS,
        RedrivePolicy: { deadLetterTargetArn: { "Fn::GetAtt": [deadId, "Arn"] }, maxReceiveCount: receives },
      });
      expect(JSON.stringify(dead.RedriveAllowPolicy.sourceQueueArns)).toContain(`:${mine.QueueName}"`);
    },
  );
});

describe("each event source mapping's queue", () => {
  const mappings = Object.values(built.findResources("AWS::Lambda::EventSourceMapping"));
  const aliases = Object.entries(built.findResources("AWS::Lambda::Alias"));
  const queueOfMapping = ({ Properties }: (typeof mappings)[number]) =>
    built.findResources("AWS::SQS::Queue")[Properties.EventSourceArn["Fn::GetAtt"][0]]?.["Properties"];
  const functionOfMapping = ({ Properties }: (typeof mappings)[number]) =>
    Object.entries(built.findResources("AWS::Lambda::Function")).find(([id]) =>
      JSON.stringify(aliases.find((alias) => JSON.stringify(Properties.FunctionName).includes(alias[0]))).includes(id),
    )?.[1]["Properties"];

  test("is a lane's, its dead letters' or that of replies", () => expect(mappings).toHaveLength(7));

  test.each(
    mappings.map((mapping) => [String(mapping["Properties"].EventSourceArn["Fn::GetAtt"][0]), mapping] as const),
  )("%s hides a message for six times its function's timeout and its window", (_name, mapping) => {
    const windowS = mapping["Properties"].MaximumBatchingWindowInSeconds ?? 0;
    expect(queueOfMapping(mapping)?.VisibilityTimeout).toBeGreaterThanOrEqual(
      6 * functionOfMapping(mapping)?.Timeout + windowS,
    );
  });
});

const fit: QueueProps = { visibilityTimeout: Duration.seconds(540), retentionPeriod: Duration.days(14) };

const given = (props: QueueProps, receives: number, deadRetention = Duration.days(14)) => {
  const theirs = stack();
  const dead = new Queue(theirs, "Dead", {
    retentionPeriod: deadRetention,
    ...(props.fifo === true ? { fifo: true } : {}),
  });
  const deadLetterQueue = { queue: dead, maxReceiveCount: receives };
  const rt = new Queue(theirs, "Mine", { ...props, ...(receives > 0 ? { deadLetterQueue } : {}) });
  return { theirs, rt, llm: new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, queues: { rt } }) };
};

describe("a queue of somebody's own", () => {
  test("feeds its lane, and no queue is made beside it", () => {
    const { theirs, rt, llm } = given(fit, 50);
    expect(llm.jobQueues.rt.queue).toBe(rt);
    const made = Template.fromStack(theirs);
    // Theirs with its dead-letter queue, two lanes with theirs, the parked one and that of replies.
    expect(Object.keys(made.findResources("AWS::SQS::Queue"))).toHaveLength(2 + 4 + 2);
    const mappings = Object.values(made.findResources("AWS::Lambda::EventSourceMapping"));
    expect(mappings.map(({ Properties }) => Properties.EventSourceArn)).toContainEqual(theirs.resolve(rt.queueArn));
  });

  test.each<[says: string, props: QueueProps, receives: number, remedy: string]>([
    ["FIFO", { ...fit, fifo: true }, 50, "is FIFO; give a standard one"],
    [
      "with too short a visibility",
      { ...fit, visibilityTimeout: Duration.seconds(539) },
      50,
      "hides a message for 539 s; set its visibility to 540 s",
    ],
    ["with SQS's own visibility", { retentionPeriod: Duration.days(14) }, 50, "hides a message for 30 s"],
    ["without a dead-letter queue", fit, 0, "give it a dead-letter queue with maxReceiveCount 50"],
    ["with too few receives", fit, 49, "maxReceiveCount 50"],
    [
      "with too short a retention",
      { ...fit, retentionPeriod: Duration.seconds(27_000) },
      50,
      "set its retention to 1209600 s",
    ],
  ])("%s is refused, with the remedy", (_says, props, receives, remedy) =>
    expect(() => given(props, receives)).toThrow(remedy),
  );

  test("whose dead letters go before their time is refused, with the remedy", () =>
    expect(() => given(fit, 50, Duration.days(4))).toThrow(
      "keeps a message for 1209600 s and its dead-letter queue for 345600 s, counted from the first send; set the retention of the dead-letter queue to 1209600 s",
    ));

  test("under the AWS-managed key is refused, with the remedy", () =>
    expect(() => given({ ...fit, encryption: QueueEncryption.KMS_MANAGED }, 50)).toThrow(
      "set its encryption to SQS_MANAGED, or to KMS with a key of your own",
    ));

  test("under a key of its owner's is read: the worker may decrypt with that key, and with no other", () => {
    const theirs = stack();
    const key = new Key(theirs, "Key");
    const dead = new Queue(theirs, "Dead", { retentionPeriod: Duration.days(14) });
    const rt = new Queue(theirs, "Mine", {
      ...fit,
      encryptionMasterKey: key,
      deadLetterQueue: { queue: dead, maxReceiveCount: 50 },
    });
    expect(
      new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, queues: { rt } }).jobQueues.rt.queue,
    ).toBe(rt);
    const policies = Template.fromStack(theirs).findResources("AWS::IAM::Policy");
    const decrypts = Object.entries(policies).flatMap(([id, { Properties }]) =>
      Properties.PolicyDocument.Statement.filter(({ Action }: { Action: unknown }) =>
        JSON.stringify(Action).includes("kms:"),
      ).map((statement: object) => [id.replace(/[0-9A-F]{8}$/, ""), statement]),
    );
    const right = { Action: "kms:Decrypt", Effect: "Allow", Resource: theirs.resolve(key.keyArn) };
    expect(decrypts).toEqual([["LlmRtWorkerRoleDefaultPolicy", right]]);
  });

  test("imported as FIFO is refused too", () => {
    const theirs = stack();
    const rt = Queue.fromQueueArn(theirs, "Mine", "arn:aws:sqs:us-west-2:123456789012:mine.fifo");
    expect(() => new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, queues: { rt } })).toThrow(
      "is FIFO",
    );
  });
});

describe("one queue for two lanes is refused, for each lane's worker would get the jobs of both,", () => {
  const arn = "arn:aws:sqs:us-west-2:123456789012:mine";
  const lanesOf = (bulk: string) => {
    const theirs = stack();
    const theirQueues = { bg: Queue.fromQueueArn(theirs, "Bg", arn), bulk: Queue.fromQueueArn(theirs, "Bulk", bulk) };
    return new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, queues: theirQueues });
  };

  test("when it is the same", () => {
    const { rt, theirs } = given(fit, 50);
    const props = { config: config(), entryOf: smallEntry, queues: { rt, bulk: rt } };
    expect(() => new Sluice(theirs, "Two", props)).toThrow(
      "Sluice: the queue given for bulk is that of rt too; give each lane its own, or leave one to be made",
    );
  });
  test("when it is imported twice", () =>
    expect(() => lanesOf(arn)).toThrow("the queue given for bulk is that of bg too"));
  test("and two that are imported are not", () => expect(() => lanesOf(`${arn}-bulk`)).not.toThrow());
});

function queueOf(pattern: string) {
  const found = queues.find(([id]) => new RegExp(pattern, "i").test(id));
  if (found === undefined) throw new Error(`no queue ${pattern}`);
  return [found[0], found[1]["Properties"]] as const;
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { App, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { AttributeType, Table } from "aws-cdk-lib/aws-dynamodb";
import type { TableProps } from "aws-cdk-lib/aws-dynamodb";
import { Key } from "aws-cdk-lib/aws-kms";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { QueueProps } from "aws-cdk-lib/aws-sqs";

import { cdkContext } from "../../infra/context.ts";
import { JobQueue } from "../../infra/job-queue.ts";
import { JobTable } from "../../infra/job-table.ts";
import { modelStatements } from "../../infra/model-access.ts";
import { ServiceStack } from "../../infra/service-stack.ts";
import { Sluice } from "../../infra/sluice.ts";
import type { SluiceProps } from "../../infra/sluice-props.ts";
import { checkConfig } from "../../lib/config.ts";
import { config, smallEntry, target } from "../infra/synth.ts";
import type { Entry, Group } from "./entry.ts";
import { thrownBy } from "./entry.ts";

/** An act in a stack of its own, of which nothing is left. */
async function inStack<Said>(act: (theirs: Stack) => Said | Promise<Said>): Promise<Said> {
  const outdir = mkdtempSync(join(tmpdir(), "sluice-errors-"));
  try {
    return await act(new Stack(new App({ outdir, context: cdkContext() }), "Theirs"));
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

const refusalOf = (act: (theirs: Stack) => unknown) => inStack((theirs) => thrownBy(() => act(theirs)));

function sluice(theirs: Stack, props: Partial<SluiceProps> = {}): Sluice {
  return new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, ...props });
}

/** The one thing that a synth says without an end to it. */
function toldOf(act: (theirs: Stack) => unknown): Promise<string> {
  return inStack((theirs) => {
    act(theirs);
    const told = theirs.node
      .findAll()
      .flatMap(({ node }) => node.metadata)
      .filter(({ type }) => type === "aws:cdk:warning" || type === "aws:cdk:info");
    const [only, ...more] = told.map(({ data }) => String(data).replace(/ \[ack: .*\]$/, ""));
    if (only === undefined || more.length > 0) throw new Error("not one thing is told");
    return only;
  });
}

const fit = { visibilityTimeout: Duration.seconds(540), retentionPeriod: Duration.days(14) };

function queueRefused(props: QueueProps, receives = 50, deadRetention = Duration.days(14)): Promise<string> {
  return refusalOf((theirs) => {
    const dead = new Queue(theirs, "Dead", {
      retentionPeriod: deadRetention,
      ...(props.fifo === true ? { fifo: true } : {}),
    });
    const given = new Queue(theirs, "Mine", {
      ...props,
      ...(receives === 0 ? {} : { deadLetterQueue: { queue: dead, maxReceiveCount: receives } }),
    });
    return new JobQueue(theirs, "Rt", { lane: "rt", given });
  });
}

const jobs: TableProps = { partitionKey: { name: "jobId", type: AttributeType.STRING }, timeToLiveAttribute: "ttl" };

function tableRefused(props: TableProps): Promise<string> {
  return refusalOf((theirs) => {
    const given = new Table(theirs, "Mine", props);
    return new JobTable(theirs, "Jobs", { removalPolicy: RemovalPolicy.RETAIN, given });
  });
}

const limited = (facts: Parameters<typeof target>[0]) =>
  config({ models: { "fast-text": { targets: { "us-west-2": target(facts) } } } });

const ofSource = (theirs: Stack) => Queue.fromQueueArn(theirs, "Mine", "arn:aws:sqs:us-west-2:123456789012:mine");

const refused: readonly Entry[] = [
  ["FIFO queues ask for more than a message.", () => queueRefused({ ...fit, fifo: true })],
  ["", () => queueRefused({ ...fit, encryption: QueueEncryption.KMS_MANAGED })],
  [
    "Messages would come to a second worker while the first has them.",
    () => queueRefused({ ...fit, visibilityTimeout: Duration.seconds(30) }),
  ],
  ["Waiting jobs are received many times.", () => queueRefused(fit, 3)],
  ["", () => queueRefused({ ...fit, retentionPeriod: Duration.hours(7) })],
  ["", () => queueRefused(fit, 50, Duration.days(4))],
  [
    "Two mappings would share its messages, and either lane's worker get those of both.",
    () =>
      refusalOf((theirs) => {
        const queue = ofSource(theirs);
        return sluice(theirs, { queues: { bg: queue, bulk: queue } });
      }),
  ],
  ["", () => tableRefused({ ...jobs, partitionKey: { name: "id", type: AttributeType.STRING } })],
  ["", () => tableRefused({ partitionKey: { name: "jobId", type: AttributeType.STRING } })],
  ["", () => tableRefused(jobs)],
  [
    "An inference profile whose regions this version does not know: the stack could not give the rights for them.",
    () =>
      refusalOf((theirs) => {
        const eu = limited({ modelId: "eu.amazon.nova-lite-v1:0", region: "eu-west-1" });
        return modelStatements(theirs, checkConfig(eu));
      }),
  ],
  [
    "`allowFeed` for a bucket: its notifications only point to the envelope.",
    () => refusalOf((theirs) => sluice(theirs).allowFeed(new Bucket(theirs, "InBox"))),
  ],
  [
    "The app's own stack; a context is what `--context NAME=VALUE` gives.",
    () =>
      refusalOf((theirs) => {
        theirs.node.setContext("removable", "yes");
        return new ServiceStack(theirs, "Sluice", { config: config(), entryOf: smallEntry });
      }),
  ],
  [
    "Lambda would refuse invocations, which counts as receives, until jobs that never ran are dead letters.",
    () =>
      inStack((theirs) => {
        const [only, ...more] = sluice(theirs, { reservedConcurrency: { rt: 2 } })
          .node.findAll()
          .flatMap(({ node }) => node.validate());
        if (only === undefined || more.length > 0) throw new Error("not one thing is refused");
        return only;
      }),
  ],
];

const told: readonly Entry[] = [
  [
    "A queue, key or bucket of another stack is fed. The same is said of each.",
    () =>
      toldOf((theirs) => {
        const bg = ofSource(theirs);
        const topic = Topic.fromTopicArn(theirs, "Jobs", "arn:aws:sns:us-west-2:123456789012:jobs");
        sluice(theirs, { queues: { bg } }).allowFeed(topic);
      }),
    "Give the statement to the owner of its policy.",
  ],
  [
    "",
    () =>
      toldOf((theirs) =>
        sluice(theirs, { key: Key.fromKeyArn(theirs, "Key", "arn:aws:kms:us-west-2:123456789012:key/1") }),
      ),
    "Add it to the key's policy.",
  ],
  [
    "Limits of operations, groups or everything that are at least what they cover has in all, or cover nothing.",
    () =>
      toldOf((theirs) =>
        sluice(theirs, {
          config: { ...config(), quotaGroups: { nova: { limitMax: 80 } }, global: { limitMax: 200 } },
        }),
      ),
    "Lower them if they are to bind; else leave it so.",
  ],
  ["", () => toldOf((theirs) => sluice(theirs, { config: limited({ tokensPerMinute: 4_000 }) }))],
  [
    "A stop reason in `fallbackOn` that Converse does not have: Claude's `refusal`, say, or a word that nothing says.",
    () =>
      toldOf((theirs) => {
        const { models } = config();
        const refusing = Object.fromEntries(
          Object.entries(models).map(([name, model]) => [name, { ...model, fallbackOn: ["refusal"] }]),
        );
        return sluice(theirs, { config: { models: refusing } });
      }),
    "If the model says it in a body of its own, leave it so.",
  ],
];

export const synthErrors: readonly Group[] = [
  {
    title: "The construct",
    about:
      "A `ConfigError`, or CDK's `Validation failed`: nothing is synthesized. Of imported queues and tables nothing is known at synth, and nothing refused.",
    entries: refused,
  },
  { title: "What a synth warns of", about: "The stack is synthesized all the same.", entries: told },
];

import { Duration, Names, Stack, Validations } from "aws-cdk-lib";
import { CfnQueue, Queue, QueueEncryption, RedrivePermission } from "aws-cdk-lib/aws-sqs";
import type { IQueue, QueueProps } from "aws-cdk-lib/aws-sqs";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import { ConfigError } from "../lib/config.ts";
import { lanes } from "../lib/core/lane.ts";
import type { Lane } from "../lib/core/lane.ts";
import {
  deadLettersVisibilityS,
  laneLimits,
  queueVisibilityS,
  replyStoreVisibilityS,
  sqsRetentionS,
} from "../lib/core/limits.ts";
import { queueEncryption } from "./encryption.ts";

const common = (key: IKey | undefined): QueueProps => ({
  ...queueEncryption(key),
  enforceSSL: true,
  retentionPeriod: Duration.seconds(sqsRetentionS),
});

export interface JobQueueProps {
  readonly lane: Lane;
  readonly key?: IKey | undefined;
  readonly given?: IQueue | undefined;
}

/** A lane's queue and, unless the queue is given, the dead-letter queue behind it. */
export class JobQueue extends Construct {
  readonly queue: IQueue;
  readonly deadLetters?: Queue;

  constructor(scope: Construct, id: string, { lane, key, given }: JobQueueProps) {
    super(scope, id);
    if (given !== undefined) {
      refuseUnfit(lane, given);
      this.queue = given;
      return;
    }

    // Each of the two queues names the other, and CloudFormation takes no circle: the lane's queue has a name of our
    // making, so that its dead-letter queue, which must exist first, can name it.
    const queueName = Names.uniqueResourceName(this, { maxLength: 80, separator: "-" });
    const visibilityTimeout = Duration.seconds(deadLettersVisibilityS);
    this.deadLetters = new Queue(this, "DeadLetters", { ...common(key), visibilityTimeout });
    const cfn = this.deadLetters.node.findChild("Resource");
    if (cfn instanceof CfnQueue) {
      const sourceQueueArns = [Stack.of(this).formatArn({ service: "sqs", resource: queueName })];
      cfn.redriveAllowPolicy = { redrivePermission: RedrivePermission.BY_QUEUE, sourceQueueArns };
    }
    this.queue = new Queue(this, "Queue", {
      ...common(key),
      queueName,
      visibilityTimeout: Duration.seconds(queueVisibilityS(lane)),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: laneLimits[lane].receivesMax },
      redriveAllowPolicy: { redrivePermission: RedrivePermission.DENY_ALL },
    });
  }
}

/** Messages that nobody consumes: each waits, with its reason, for an operator. */
export class ParkedQueue extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string, key?: IKey) {
    super(scope, id);
    this.queue = new Queue(this, "Queue", {
      ...common(key),
      redriveAllowPolicy: { redrivePermission: RedrivePermission.DENY_ALL },
    });
    Validations.of(this.queue).acknowledge({
      id: "AwsSolutions-SQS3",
      reason:
        "Parked messages are the end of the line: nothing receives them but an operator, so none can be dead-lettered.",
    });
  }
}

/** Replies that the job table could not take, until the reply-store has put them there. */
export class RepliesQueue extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string, key?: IKey) {
    super(scope, id);
    this.queue = new Queue(this, "Queue", {
      ...common(key),
      visibilityTimeout: Duration.seconds(replyStoreVisibilityS),
      redriveAllowPolicy: { redrivePermission: RedrivePermission.DENY_ALL },
    });
    Validations.of(this.queue).acknowledge({
      id: "AwsSolutions-SQS3",
      reason: "A reply that was paid for is tried again until it is stored: among dead letters nobody would try it.",
    });
  }
}

/** SQS gives each message to one of two mappings, whichever asks: a job of rt would run under the bounds of bulk. */
export function refuseShared(given: Readonly<Partial<Record<Lane, IQueue>>>): void {
  const seen = new Map<string, Lane>();
  for (const lane of lanes) {
    const arn = given[lane]?.queueArn;
    if (arn === undefined) continue;
    const other = seen.get(arn);
    if (other !== undefined)
      throw new ConfigError(
        `Sluice: the queue given for ${lane} is that of ${other} too; give each lane its own, or leave one to be made`,
      );
    seen.set(arn, lane);
  }
}

/** What is known of a queue at synth; of an imported one only whether it is FIFO. */
export interface QueueFacts {
  readonly fifo: boolean;
  readonly visibilityS?: number;
  readonly retentionS?: number;
  /** 0: no dead-letter queue. */
  readonly receivesMax?: number;
  /** Of the dead-letter queue. */
  readonly deadRetentionS?: number;
  readonly awsManagedKey?: boolean;
}

/** Why a queue cannot feed a lane, with what to do about it; undefined: it can. */
export function unfit(lane: Lane, { fifo, ...facts }: QueueFacts): string | undefined {
  const needed = { visibilityS: queueVisibilityS(lane), receivesMax: laneLimits[lane].receivesMax };
  const { visibilityS = needed.visibilityS, retentionS = sqsRetentionS, receivesMax = needed.receivesMax } = facts;
  const { deadRetentionS = retentionS, awsManagedKey = false } = facts;
  if (fifo) return "is FIFO; give a standard one, the claim on the jobId already keeps a job from running twice";
  if (awsManagedKey) {
    return "has the AWS-managed KMS key, by which what SNS, EventBridge and S3 send is lost; set its encryption to SQS_MANAGED, or to KMS with a key of your own";
  }
  if (visibilityS < needed.visibilityS) {
    return `hides a message for ${visibilityS} s; set its visibility to ${needed.visibilityS} s, 6 × the worker's timeout and the batching window`;
  }
  if (receivesMax < needed.receivesMax) {
    return `dead-letters a job that only waited; give it a dead-letter queue with maxReceiveCount ${needed.receivesMax}`;
  }
  if (receivesMax * visibilityS >= retentionS) {
    return `loses a message before its last receive; set its retention to ${sqsRetentionS} s, or lower its visibility`;
  }
  if (deadRetentionS < retentionS) {
    return `keeps a message for ${retentionS} s and its dead-letter queue for ${deadRetentionS} s, counted from the first send; set the retention of the dead-letter queue to ${sqsRetentionS} s`;
  }
  return undefined;
}

function refuseUnfit(lane: Lane, queue: IQueue): void {
  const why = unfit(lane, factsOf(queue));
  if (why !== undefined) throw new ConfigError(`Sluice: the queue given for ${lane} ${why}`);
}

function factsOf(queue: IQueue): QueueFacts {
  const { fifo } = queue;
  const awsManagedKey = queue.encryptionType === QueueEncryption.KMS_MANAGED;
  const cfn = cfnOf(queue);
  if (!(queue instanceof Queue) || cfn === undefined) return { fifo, awsManagedKey };
  const { visibilityTimeout: visibilityS = 30 } = cfn;
  const { queue: dead, maxReceiveCount: receivesMax = 0 } = queue.deadLetterQueue ?? {};
  const deadCfn = dead === undefined ? undefined : cfnOf(dead);
  const deadRetention = deadCfn === undefined ? {} : { deadRetentionS: retentionOf(deadCfn) };
  return { fifo, awsManagedKey, visibilityS, retentionS: retentionOf(cfn), receivesMax, ...deadRetention };
}

/** The queue in the template; an imported one is in none. */
function cfnOf(queue: IQueue): CfnQueue | undefined {
  const cfn = queue.node.tryFindChild("Resource");
  return cfn instanceof CfnQueue ? cfn : undefined;
}

/** Absent, SQS's own default holds: four days. */
function retentionOf({ messageRetentionPeriod = 345_600 }: CfnQueue): number {
  return messageRetentionPeriod;
}

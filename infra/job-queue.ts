import { Duration, Names, Stack, Validations } from "aws-cdk-lib";
import { CfnQueue, Queue, QueueEncryption, RedrivePermission } from "aws-cdk-lib/aws-sqs";
import type { IQueue, QueueProps } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { Lane } from "../lib/core/lane.ts";
import { laneLimits, queueVisibilityS, sqsRetentionS } from "../lib/core/limits.ts";

const common = {
  // Keys managed by SQS: SNS, EventBridge and S3 cannot feed a queue that has the AWS-managed KMS key.
  encryption: QueueEncryption.SQS_MANAGED,
  enforceSSL: true,
  retentionPeriod: Duration.seconds(sqsRetentionS),
} satisfies QueueProps;

/** A lane's queue and, unless the queue is given, the dead-letter queue behind it. */
export class JobQueue extends Construct {
  readonly queue: IQueue;
  readonly deadLetters?: Queue;

  constructor(scope: Construct, id: string, { lane, given }: { readonly lane: Lane; readonly given?: IQueue }) {
    super(scope, id);
    if (given !== undefined) {
      refuseUnfit(lane, given);
      this.queue = given;
      return;
    }

    // Each of the two queues names the other, and CloudFormation takes no circle: the lane's queue has a name of our
    // making, so that its dead-letter queue, which must exist first, can name it.
    const queueName = Names.uniqueResourceName(this, { maxLength: 80, separator: "-" });
    this.deadLetters = new Queue(this, "DeadLetters", common);
    const cfn = this.deadLetters.node.findChild("Resource");
    if (cfn instanceof CfnQueue) {
      const sourceQueueArns = [Stack.of(this).formatArn({ service: "sqs", resource: queueName })];
      cfn.redriveAllowPolicy = { redrivePermission: RedrivePermission.BY_QUEUE, sourceQueueArns };
    }
    this.queue = new Queue(this, "Queue", {
      ...common,
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

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.queue = new Queue(this, "Queue", {
      ...common,
      redriveAllowPolicy: { redrivePermission: RedrivePermission.DENY_ALL },
    });
    Validations.of(this.queue).acknowledge({
      id: "AwsSolutions-SQS3",
      reason:
        "Parked messages are the end of the line: nothing receives them but an operator, so none can be dead-lettered.",
    });
  }
}

/** The reason why a queue cannot feed a lane, with what to do about it; undefined: it can. */
export function unfit(
  lane: Lane,
  queue: { readonly fifo: boolean; readonly visibilityS?: number },
): string | undefined {
  if (queue.fifo) {
    return `the ${lane} queue is a FIFO queue; give a standard one: the claim on the jobId already keeps a job from running twice`;
  }
  const visibilityS = queueVisibilityS(lane);
  if (queue.visibilityS !== undefined && queue.visibilityS < visibilityS) {
    return `the ${lane} queue hides a message for ${queue.visibilityS} s; set its visibility timeout to ${visibilityS} s, 6 × the worker's timeout and the batch window`;
  }
  return undefined;
}

function refuseUnfit(lane: Lane, queue: IQueue): void {
  const cfn = queue.node.defaultChild;
  const visibilityS = cfn instanceof CfnQueue ? (cfn.visibilityTimeout ?? sqsVisibilitySDefault) : undefined;
  const why = unfit(lane, { fifo: queue.fifo, ...(visibilityS === undefined ? {} : { visibilityS }) });
  if (why !== undefined) throw new Error(`Sluice: ${why}`);
}

const sqsVisibilitySDefault = 30;

import type { RemovalPolicy } from "aws-cdk-lib";
import type { IBaseDeploymentConfig } from "aws-cdk-lib/aws-codedeploy";
import type { ISecurityGroup, IVpc, SubnetSelection } from "aws-cdk-lib/aws-ec2";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { RecursiveLoop, Tracing } from "aws-cdk-lib/aws-lambda";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { ConfigInput } from "../lib/config.ts";
import type { Lane } from "../lib/core/lane.ts";
import type { AnyTable } from "./given-table.ts";

export type FunctionName = "worker" | "reply-store" | "dead-letters" | "sweeper" | "widget";

export interface SluiceProps {
  readonly config: ConfigInput;
  /**
   * Standard queues of your own for some lanes, with a visibility of 6 × the lane's timeout and its window, and a
   * dead-letter queue that keeps messages as long. What that one receives is yours to deal with; the jobs of those
   * messages are the sweeper's to end.
   */
  readonly queues?: Partial<Readonly<Record<Lane, IQueue>>>;
  /** Tables of your own: `jobs` with the key `jobId` and the index of the sweeper, `leases` with the key `pk`; TTL `ttl`. */
  readonly tables?: { readonly jobs?: AnyTable; readonly leases?: AnyTable };
  /**
   * Encrypts our queues, tables and bucket. Feeds and functions are given what they need of it; an imported key's policy
   * is its owner's, and synth says what it must hold. Default: keys of SQS, DynamoDB and S3.
   */
  readonly key?: IKey;
  /** Where the functions run; it must have a way to Bedrock, SQS, DynamoDB and S3. Default: in no VPC. */
  readonly vpc?: IVpc;
  readonly vpcSubnets?: SubnetSelection;
  /** Default: one that lets everything out and nothing in. */
  readonly securityGroups?: ISecurityGroup[];
  /** What becomes of tables, bucket and logs without the stack. Default RETAIN, and the tables cannot be deleted. */
  readonly removalPolicy?: RemovalPolicy;
  /** Default 30 days. */
  readonly logRetention?: RetentionDays;
  /** Where alarms go; CloudWatch must be allowed to publish there. Default: a topic of our own, encrypted. */
  readonly alarmTopic?: ITopic;
  /** Default true. */
  readonly alarms?: boolean;
  /** Default true. */
  readonly dashboard?: boolean;
  /**
   * How a worker's new version takes over, and is taken back if its errors ring meanwhile: by default it is given a tenth
   * of the invocations for five minutes, then all, so that a deploy takes as long. false, and without alarms: all at once.
   */
  readonly rollout?: IBaseDeploymentConfig | false;
  /** The dashboard's list of open jobs and of leases with their holders: a function that the console invokes. Default: as `dashboard`. */
  readonly widget?: boolean;
  /** Whether jobs are cancelled, and lanes and limits paused and resumed, from there. Default false: the widget may only read. */
  readonly widgetActions?: boolean;
  /** At least what a function's queues may invoke at once. Default: none, for the mappings limit it already. */
  readonly reservedConcurrency?: Partial<Readonly<Record<Lane | Exclude<FunctionName, "worker">, number>>>;
  /** Default TERMINATE: Lambda cuts a job that submits a job that submits … at some 16. ALLOW is for agents that mean it. */
  readonly recursiveLoop?: RecursiveLoop;
  /** X-Ray. Default: none. ACTIVE records each invocation that its sampling chooses; X-Ray charges for it. */
  readonly tracing?: Tracing;
  /** The source file of a function, where it is one of your own; default, and where it answers nothing: `functions/<name>.ts`. */
  readonly entryOf?: (name: FunctionName) => string | undefined;
}

import { Annotations, Stack } from "aws-cdk-lib";
import type { IRule } from "aws-cdk-lib/aws-events";
import { PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { AddToResourcePolicyResult, IGrantable, IRole } from "aws-cdk-lib/aws-iam";
import { CfnBucket } from "aws-cdk-lib/aws-s3";
import type { Bucket, IBucket } from "aws-cdk-lib/aws-s3";
import type { IScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { ConfigError } from "../lib/config.ts";
import type { Lane } from "../lib/core/lane.ts";
import { grantSendingKey, sendingKeyActions } from "./encryption.ts";
import type { Sluice } from "./sluice.ts";

/** CDK's own class does not fit its interface where optional properties are taken exactly. */
type AnyBucket = IBucket | Bucket;

/** What sends by its own name, and is let in by the queue. */
export type Sender = ITopic | IRule | AnyBucket;

/** What sends by a role: a pipe's, an API's, a state machine, a function. */
export type Feed = Sender | IGrantable;

export interface FeedOptions {
  /** Whose queue is fed. Default `bg`. */
  readonly lane?: Lane;
}

export function allowFeed(sluice: Sluice, feed: Feed, { lane = "bg" }: FeedOptions): void {
  const { queue } = sluice.jobQueues[lane];
  if ("topicArn" in feed) {
    const conditions = { ArnEquals: { "aws:SourceArn": feed.topicArn } };
    letIn(sluice, queue, { service: "sns", conditions, keyConditions: conditions });
  } else if ("ruleArn" in feed) {
    letIn(sluice, queue, { service: "events", conditions: { ArnEquals: { "aws:SourceArn": feed.ruleArn } } });
  } else if ("bucketArn" in feed) {
    refuseUnread(sluice, feed);
    for (const fn of [...Object.values(sluice.workers), sluice.deadLetters]) feed.encryptionKey?.grantDecrypt(fn.role);
    // A bucket's ARN names no account, and its name may one day be another's.
    const conditions = {
      ArnEquals: { "aws:SourceArn": feed.bucketArn },
      StringEquals: { "aws:SourceAccount": feed.env.account },
    };
    letIn(sluice, queue, { service: "s3", conditions });
  } else {
    queue.grant(feed, "sqs:SendMessage");
    grantSendingKey(feed, queue.encryptionMasterKey);
  }
}

/** Scheduler sends by a role that each schedule names: this one is for the schedules of the group, and nothing else. */
export function roleOfSchedules(sluice: Sluice, group: IScheduleGroup, { lane = "bg" }: FeedOptions): IRole {
  const { account } = group.env;
  const StringEquals = { "aws:SourceAccount": account, "aws:SourceArn": group.scheduleGroupArn };
  const role = new Role(Construct.isConstruct(group) ? group : sluice, `${sluice.node.id}-${lane}`, {
    assumedBy: new ServicePrincipal("scheduler.amazonaws.com", { conditions: { StringEquals } }),
  });
  allowFeed(sluice, role, { lane });
  return role;
}

interface Admission {
  readonly service: "sns" | "events" | "s3";
  readonly conditions: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * Only SNS is held to them: a rule names its queue and the queue its key, so a key that names the rule would close a
   * circle; and AWS documents neither EventBridge nor S3 as telling KMS for whom they send.
   */
  readonly keyConditions?: Admission["conditions"];
}

function letIn(sluice: Sluice, queue: IQueue, { service, conditions, keyConditions = {} }: Admission): void {
  const principals = [new ServicePrincipal(`${service}.amazonaws.com`)];
  const send = { principals, actions: ["sqs:SendMessage"], resources: [queue.queueArn], conditions };
  added(sluice, "queue", send, (statement) => queue.addToResourcePolicy(statement));

  const key = queue.encryptionMasterKey;
  if (key === undefined) return;
  const use = { principals, actions: sendingKeyActions, resources: ["*"], conditions: keyConditions };
  added(sluice, "key", use, (statement) => key.addToResourcePolicy(statement, true));
}

/** The policy of an imported queue or key is its owner's to change: without this he would hear of it by silence. */
function added(
  sluice: Sluice,
  what: "queue" | "key",
  right: ConstructorParameters<typeof PolicyStatement>[0],
  add: (statement: PolicyStatement) => AddToResourcePolicyResult,
): void {
  const statement = new PolicyStatement(right);
  if (add(statement).statementAdded) return;
  const text = JSON.stringify(Stack.of(sluice).resolve(statement.toStatementJson()));
  Annotations.of(sluice).addWarningV2(
    `sluice:feedNotAllowed:${what}`,
    `The policy of an imported ${what} cannot be changed from here; what it is fed is lost unless it holds: ${text}`,
  );
}

/** A notification only points to its object, and workers read no bucket that the config does not name. */
function refuseUnread(sluice: Sluice, bucket: AnyBucket): void {
  const cfn = bucket.node.tryFindChild("Resource");
  const name = CfnBucket.isCfnBucket(cfn) ? cfn.bucketName : bucket.bucketName;
  if (name !== undefined && sluice.config.paramsRef.buckets.includes(name)) return;
  throw new ConfigError(
    `Sluice: the bucket ${bucket.node.id} would feed jobs that no worker may read; give it a bucketName, and name that in paramsRef.buckets of the config`,
  );
}

import { CfnOutput, Stack } from "aws-cdk-lib";
import { configHashOf } from "../lib/config-hash.ts";
import { lanes } from "../lib/core/lane.ts";
import type { Sluice } from "./sluice.ts";

/** The outputs of a stack by which senders and the command line find its Sluice: one of them in a stack. */
export function addOutputs(sluice: Sluice): void {
  const { config, jobQueues, parked, repliesQueue, jobTable, leaseTable, replies, dashboard, alarmTopic } = sluice;
  const output = (name: string, value: string) => new CfnOutput(Stack.of(sluice), name, { value });
  for (const lane of lanes) {
    output(`${lane}QueueUrl`, jobQueues[lane].queue.queueUrl);
    output(`${lane}QueueArn`, jobQueues[lane].queue.queueArn);
  }
  output("parkedQueueUrl", parked.queue.queueUrl);
  output("parkedQueueArn", parked.queue.queueArn);
  output("repliesQueueUrl", repliesQueue.queue.queueUrl);
  output("repliesQueueArn", repliesQueue.queue.queueArn);
  output("jobTableName", jobTable.table.tableName);
  output("leaseTableName", leaseTable.table.tableName);
  output("repliesBucketName", replies.bucket.bucketName);
  // An operator's command line compares its own copy of the config with it.
  output("configHash", configHashOf(config));
  // Who ends a job from a command line stores its reply, for as long as a worker would.
  output("replyTtlDays", String(config.replies.ttlDays));
  if (dashboard !== undefined) output("dashboardUrl", dashboard.url);
  if (alarmTopic !== undefined) output("alarmTopicArn", alarmTopic.topicArn);
}

import { Aws, Validations } from "aws-cdk-lib";
import type { Config } from "../lib/core/config.ts";
import { busPlaceOf, queueNameOf } from "../lib/core/reply-to.ts";
import type { LiveFunction } from "./live-function.ts";

/** The queues that replies may be announced to, and no others. */
export function announcedQueues({ replies }: Config): string[] {
  return replies.allow.sqs.flatMap((url) => {
    const queue = queueNameOf(url);
    return queue === undefined ? [] : [`arn:${Aws.PARTITION}:sqs:${queue.region}:${queue.account}:${queue.name}`];
  });
}

/** What announcing to buses, topics and tasks needs, for exactly those of the config; `beating`: and tasks' heartbeats. */
export function allowAnnouncing(
  fn: LiveFunction,
  { replies }: Config,
  { beating }: { readonly beating: boolean },
): void {
  const { eventBuses, sns, taskTokens } = replies.allow;
  if (eventBuses.length > 0) fn.allow(["events:PutEvents"], ...eventBuses.map(busArn));
  if (sns.length > 0) fn.allow(["sns:Publish"], ...sns);
  if (!taskTokens) return;
  fn.allow(["states:SendTaskSuccess", "states:SendTaskFailure", ...(beating ? ["states:SendTaskHeartbeat"] : [])], "*");
  Validations.of(fn.role).acknowledge({
    id: "AwsSolutions-IAM5[Resource::*]",
    reason: "A task token names its task and nothing else does: AWS has no resource level for SendTask*.",
  });
}

function busArn(bus: string): string {
  return busPlaceOf(bus) === undefined
    ? `arn:${Aws.PARTITION}:events:${Aws.REGION}:${Aws.ACCOUNT_ID}:event-bus/${bus}`
    : bus;
}

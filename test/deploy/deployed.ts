/** The deployed service, as its users and its operators reach it. */
import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import type { Message } from "@aws-sdk/client-sqs";
import { setTimeout as sleep } from "node:timers/promises";

import { sqsClient } from "../../lib/aws/clients.ts";
import { createClient } from "../../lib/client/index.ts";
import type { Client } from "../../lib/client/index.ts";
import { json, query } from "./call.ts";
import type { Outputs } from "./deployment.ts";
import type { Ministack } from "./ministack.ts";

export function clientOf(outputs: Outputs): Client {
  const {
    rtQueueUrl: rt = "",
    bgQueueUrl: bg = "",
    bulkQueueUrl: bulk = "",
    jobTableName: jobTable = "",
    repliesBucketName: bucket = "",
  } = outputs;
  return createClient({ queueUrls: { rt, bg, bulk }, jobTable, bucket });
}

export interface Resource {
  readonly id: string;
  readonly physicalId: string;
  readonly type: string;
}

/** What the stack is made of. */
export async function resourcesOf(aws: Ministack): Promise<readonly Resource[]> {
  const Version = "2010-05-15";
  const xml = await query(aws, "cloudformation", { Action: "DescribeStackResources", Version, StackName: "Sluice" });
  return [...xml.matchAll(/<member>(.*?)<\/member>/gs)].map(([, member = ""]) => {
    const textOf = (name: string) => new RegExp(`<${name}>(.*?)</${name}>`).exec(member)?.[1] ?? "";
    return { id: textOf("LogicalResourceId"), physicalId: textOf("PhysicalResourceId"), type: textOf("ResourceType") };
  });
}

/** The one resource of a type whose logical id begins so. */
export async function nameOf(aws: Ministack, type: string, id: string): Promise<string> {
  const all = await resourcesOf(aws);
  const [found, ...others] = all.filter((resource) => resource.type === type && resource.id.startsWith(id));
  if (found === undefined || others.length > 0) throw new Error(`no resource, or several: ${type} ${id}`);
  return found.physicalId;
}

/** The first message for which this holds; it stays in its queue, for whoever else looks. */
export async function messageIn(queueUrl: string, holds: (message: Message) => boolean): Promise<Message> {
  for (;;) {
    const { Messages = [] } = await sqsClient().send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ["All"],
        VisibilityTimeout: 0,
      }),
    );
    const found = Messages.find(holds);
    if (found !== undefined) return found;
    await sleep(500);
  }
}

/** The lines that a function has written to its log group, oldest first. */
export async function linesOf(aws: Ministack, id: string): Promise<readonly Record<string, unknown>[]> {
  const logGroupName = await nameOf(aws, "AWS::Logs::LogGroup", id);
  const { events } = await json<{ readonly events: readonly { readonly message: string }[] }>(
    aws,
    "logs",
    "Logs_20140328.FilterLogEvents",
    { logGroupName },
  );
  const lines = events.flatMap(({ message }) => message.split("\n")).filter((line) => line.startsWith("{"));
  return lines.map((line): Record<string, unknown> => JSON.parse(line));
}

/** The deployed service, as its users and its operators reach it. */
import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import type { Message } from "@aws-sdk/client-sqs";
import { setTimeout as sleep } from "node:timers/promises";

import { sqsClient } from "../../lib/aws/clients.ts";
import { createClient } from "../../lib/client/index.ts";
import type { Client, Waited } from "../../lib/client/index.ts";
import type { Op } from "../../lib/core/config.ts";
import { json, query } from "./call.ts";
import type { Caller } from "./call.ts";
import type { Place } from "./place.ts";

/** What a stack says of itself. */
export type Outputs = Readonly<Record<string, string>>;

/** One deployment of `app.ts`, on AWS or on what stands in for it. */
export interface Deployment {
  readonly place: Place;
  readonly outputs: Outputs;
  readonly client: Client;
  readonly aws: Caller;
  /** Of its API's only method. */
  readonly api: { readonly host?: string; readonly path: string };
}

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

/** A reader on a busy machine looks again. */
export async function replyOf(client: Client, jobId: string): Promise<Waited<Op>> {
  for (;;) {
    try {
      return await client.waitForReply(jobId, { timeoutMs: 120_000 });
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
    }
  }
}

export interface Resource {
  readonly id: string;
  readonly physicalId: string;
  readonly type: string;
}

/** What the stack is made of. */
export async function resourcesOf(aws: Caller, StackName: string): Promise<readonly Resource[]> {
  const asked = { Action: "ListStackResources", Version: "2010-05-15", StackName };
  const resources: Resource[] = [];
  let NextToken: string | undefined = "";
  while (NextToken !== undefined) {
    const xml = await query(aws, "cloudformation", NextToken === "" ? asked : { ...asked, NextToken });
    for (const [, member = ""] of xml.matchAll(/<member>(.*?)<\/member>/gs)) {
      const [id = "", physicalId = "", type = ""] = ["LogicalResourceId", "PhysicalResourceId", "ResourceType"].map(
        (name) => textIn(member, name),
      );
      resources.push({ id, physicalId, type });
    }
    NextToken = textIn(xml, "NextToken");
  }
  return resources;
}

function textIn(xml: string, element: string): string | undefined {
  return new RegExp(`<${element}>(.*?)</${element}>`).exec(xml)?.[1];
}

/** The one resource of a type whose logical id begins so. */
export async function nameOf(aws: Caller, stack: string, type: string, id: string): Promise<string> {
  const all = await resourcesOf(aws, stack);
  const [found, ...others] = all.filter((resource) => resource.type === type && resource.id.startsWith(id));
  if (found === undefined || others.length > 0) throw new Error(`no resource, or several: ${type} ${id}`);
  return found.physicalId;
}

/** The first message for which this holds; it stays in its queue, for whoever else looks. */
export async function messageIn(queueUrl: string, holds: (message: Message) => boolean): Promise<Message> {
  const sqs = sqsClient();
  for (;;) {
    const { Messages = [] } = await sqs.send(
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
export async function linesOf(aws: Caller, stack: string, id: string): Promise<readonly Record<string, unknown>[]> {
  const logGroupName = await nameOf(aws, stack, "AWS::Logs::LogGroup", id);
  const { events } = await json<{ readonly events: readonly { readonly message: string }[] }>(
    aws,
    "logs",
    "Logs_20140328.FilterLogEvents",
    { logGroupName },
  );
  const lines = events.flatMap(({ message }) => message.split("\n")).filter((line) => line.startsWith("{"));
  return lines.map((line): Record<string, unknown> => JSON.parse(line));
}

/** What is left in queues and ledgers of a running service: looked at, never changed. */
import { GetQueueAttributesCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";

import { createLeaseTable } from "../../lib/aws/lease-table.ts";
import { lanes } from "../../lib/core/lane.ts";
import { pageCount } from "../../lib/core/lease.ts";
import { ledgersOf } from "../../lib/core/ledgers.ts";
import { outputOf, queueUrl } from "./service.ts";
import type { Service } from "./service.ts";

export type Counted = "ApproximateNumberOfMessages" | "ApproximateNumberOfMessagesNotVisible";

/** Messages that wait in the lanes' queues, or that are hidden there. */
export async function messagesInLanes(service: Service, counted: Counted): Promise<number> {
  const counts = await Promise.all(lanes.map((lane) => messagesIn(service, queueUrl(service, lane), counted)));
  return counts.reduce((sum, count) => sum + count, 0);
}

export async function messagesParked(service: Service): Promise<number> {
  return await messagesIn(service, queueUrl(service, "parked"), "ApproximateNumberOfMessages");
}

async function messagesIn({ clients }: Service, url: string, counted: Counted): Promise<number> {
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: [counted] });
  const { Attributes } = await clients.sqs.send(command);
  return Number(Attributes?.[counted] ?? 0);
}

/** Why the first ten parked messages are parked; they are hidden for a second. */
export async function reasonsParked(service: Service): Promise<readonly string[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queueUrl(service, "parked"),
    MaxNumberOfMessages: 10,
    MessageAttributeNames: ["All"],
    VisibilityTimeout: 1,
  });
  const { Messages = [] } = await service.clients.sqs.send(command);
  return Messages.map(({ MessageAttributes }) => MessageAttributes?.["reason"]?.StringValue ?? "no reason");
}

/** Leases that nobody returned and that have not expired, in all ledgers of the config. */
export async function leasesOut(service: Service): Promise<number> {
  const { clients, config } = service;
  const table = createLeaseTable(clients.dynamo, outputOf(service, "leaseTableName"));
  const refs = [...ledgersOf(config)].flatMap(([ledger, limitMax]) =>
    Array.from({ length: pageCount(limitMax) }, (_, page) => ({ ledger, page })),
  );
  const pages = await Promise.all(refs.map((ref) => table.readPage(ref)));
  const nowMs = Date.now();
  return pages.flatMap((page) => Object.values(page ?? {})).filter((expiresAtMs) => expiresAtMs > nowMs).length;
}

/** The queues that the contract holds for. */
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { sqsClient } from "../../lib/aws/clients.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createQueue } from "../../lib/aws/queue.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryQueue } from "../../lib/memory/queue.ts";
import type { Queue } from "../../lib/ports.ts";
import { startFauxqs } from "../../infra/local/engines.ts";
import { t0 } from "../a.ts";
import * as engines from "./engines.ts";

export interface Received {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly receives: number;
}

export interface QueueBench {
  readonly queue: Queue;
  readonly send: (body: string, delayS?: number) => Promise<void>;
  /** At most ten, without waiting for more. */
  readonly receive: () => Promise<readonly Received[]>;
  readonly remove: (receiptHandle: string) => Promise<void>;
  readonly parked: () => Promise<
    readonly { readonly body: string; readonly attributes: Readonly<Record<string, string>> }[]
  >;
  readonly pass: (ms: number) => Promise<void>;
  /** Requests since the last call; in memory there are none. */
  readonly sent: () => readonly string[];
}

/** A message is hidden for 30 s when it is received; the third receive is the last. */
export const visibilityS = 30;
export const receivesMax = 3;

/**
 * Where fauxqs differs from SQS, and what it costs the contract: it knows no 12 hours in all and takes a visibility for a
 * message that is visible again (both are tested in memory alone).
 */
export const queues: readonly (readonly [name: string, open: () => Promise<QueueBench>])[] = [
  ["in memory", async () => memoryBench()],
  ["on fauxqs", async () => fauxqsBench(await engines.engineForTests(startFauxqs))],
];

async function fauxqsBench(endpoint: string): Promise<QueueBench> {
  const deadLetterUrl = await engines.createQueue(endpoint);
  const deadLetterTargetArn = `arn:aws:sqs:us-east-1:000000000000:${deadLetterUrl.split("/").at(-1)}`;
  const queueUrl = await engines.createQueue(endpoint, {
    VisibilityTimeout: String(visibilityS),
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount: receivesMax }),
  });
  const parkedQueueUrl = await engines.createQueue(endpoint);
  const sqs = sqsClient(engines.localClient(endpoint));
  let sent: string[] = [];
  sqs.middlewareStack.add(
    (next, context) => (args) => {
      sent.push(String(context.commandName).replace("Command", ""));
      return next(args);
    },
    { step: "deserialize" },
  );

  return {
    queue: createQueue(sqs, { queueUrl, parkedQueueUrl }),
    send: async (MessageBody, DelaySeconds = 0) => {
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody, DelaySeconds }));
    },
    receive: async () => {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: queueUrl,
          MaxNumberOfMessages: 10,
          MessageSystemAttributeNames: ["ApproximateReceiveCount"],
        }),
      );
      return Messages.map(({ MessageId = "", ReceiptHandle = "", Body = "", Attributes }) => ({
        messageId: MessageId,
        receiptHandle: ReceiptHandle,
        body: Body,
        receives: Number(Attributes?.ApproximateReceiveCount),
      }));
    },
    remove: async (ReceiptHandle) => {
      await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
    },
    parked: async () => {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: parkedQueueUrl,
          MaxNumberOfMessages: 10,
          MessageAttributeNames: ["All"],
        }),
      );
      return Messages.map(({ Body = "", MessageAttributes = {} }) => ({
        body: Body,
        attributes: Object.fromEntries(
          Object.entries(MessageAttributes).map(([name, { StringValue = "" }]) => [name, StringValue]),
        ),
      }));
    },
    pass: (ms) => systemClock.sleep(ms),
    sent: () => {
      const all = sent;
      sent = [];
      return all;
    },
  };
}

function memoryBench(): QueueBench {
  const clock = createVirtualClock(t0);
  const queue = createMemoryQueue(clock, { visibilityS, receivesMax });
  return {
    queue,
    send: async (body, delayS = 0) => {
      queue.send(body, { delayS });
    },
    receive: async () =>
      queue.receive().map(({ attributes, ...message }) => ({
        ...message,
        receives: Number(attributes.ApproximateReceiveCount),
      })),
    remove: async (receiptHandle) => {
      queue.delete(receiptHandle);
    },
    parked: async () => queue.parked.map(({ body, ...attributes }) => ({ body, attributes })),
    pass: (ms) => clock.advance(ms),
    sent: () => [],
  };
}

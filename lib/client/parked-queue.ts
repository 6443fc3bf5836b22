import { ChangeMessageVisibilityCommand, DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import type { Message, SQSClient } from "@aws-sdk/client-sqs";
import { isLane } from "../core/lane.ts";
import type { Lane } from "../core/lane.ts";
import { sqsBatchEntriesMax } from "../core/limits.ts";

/** A message of the parked queue, as far as its attributes tell; the queue may be fed by a redrive policy too. */
export interface ParkedMessage {
  readonly receiptHandle: string;
  /** Its own in this queue. */
  readonly id: string;
  /** Of the message that was parked: copies of it are one. */
  readonly messageId: string;
  readonly body: string;
  readonly reason: string;
  readonly detail: string;
  readonly lane?: Lane;
  readonly jobId?: string;
  /** When it was parked, epoch ms. */
  readonly parkedAtMs: number;
}

/** SQS shows a message only by handing it out: whoever looks hides it from the others meanwhile. */
export interface ParkedQueue {
  /** Up to ten, hidden for so long; none: there are no more that can be seen, or none was near. */
  receive(hiddenS: number, waitS: number): Promise<readonly ParkedMessage[]>;
  /** Lets the others see it again. */
  show(receiptHandle: string): Promise<void>;
  remove(receiptHandle: string): Promise<void>;
}

export function createParkedQueue(sqs: SQSClient, QueueUrl: string): ParkedQueue {
  return {
    async receive(hiddenS, waitS) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: sqsBatchEntriesMax,
          VisibilityTimeout: hiddenS,
          WaitTimeSeconds: waitS,
          MessageAttributeNames: ["All"],
          MessageSystemAttributeNames: ["SentTimestamp"],
        }),
      );
      return Messages.map(parkedMessageOf);
    },

    async show(ReceiptHandle) {
      await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
    },

    async remove(ReceiptHandle) {
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    },
  };
}

function parkedMessageOf(message: Message): ParkedMessage {
  const { MessageId = "", ReceiptHandle = "", Body = "", Attributes, MessageAttributes = {} } = message;
  const text = (name: string) => MessageAttributes[name]?.StringValue ?? "";
  const [lane, jobId] = [text("lane"), text("jobId")];
  return {
    receiptHandle: ReceiptHandle,
    id: MessageId,
    messageId: text("messageId") || MessageId,
    body: Body,
    reason: text("reason") || "unknown",
    detail: text("detail"),
    ...(isLane(lane) ? { lane } : {}),
    ...(jobId === "" ? {} : { jobId }),
    parkedAtMs: Number(Attributes?.SentTimestamp ?? 0),
  };
}

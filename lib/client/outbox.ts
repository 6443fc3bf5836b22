import { PutObjectCommand } from "@aws-sdk/client-s3";
import type { S3Client } from "@aws-sdk/client-s3";
import { SendMessageBatchCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import type { SQSClient } from "@aws-sdk/client-sqs";
import type { Lane } from "../core/lane.ts";
import type { Message, Upload } from "./message.ts";

/** The way out: the three queues, and the bucket for what does not fit into a message. */
export interface Outbox {
  send(message: Message): Promise<void>;
  /** One request for messages of one lane, at most 10; what SQS said of each, in their order. */
  sendMany(messages: readonly Message[]): Promise<readonly Sent[]>;
  upload(upload: Upload): Promise<void>;
}

export type Sent =
  | { readonly kind: "sent" }
  /** `again`: SQS's own trouble; the same entry may go well the next time. */
  | { readonly kind: "failed"; readonly name: string; readonly again: boolean };

export function createOutbox(sqs: SQSClient, s3: S3Client, queueUrls: Readonly<Record<Lane, string>>): Outbox {
  return {
    async send(message) {
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrls[message.lane], ...entry(message) }));
    },

    async sendMany(messages) {
      const [first] = messages;
      if (first === undefined) return [];
      const { Successful = [], Failed = [] } = await sqs.send(
        new SendMessageBatchCommand({
          QueueUrl: queueUrls[first.lane],
          Entries: messages.map((message, index) => ({ Id: String(index), ...entry(message) })),
        }),
      );
      const sent = new Set(Successful.map(({ Id }) => Id));
      const failed = new Map(Failed.map((failure) => [failure.Id, failure]));
      return messages.map((_message, index) => {
        if (sent.has(String(index))) return { kind: "sent" };
        const { Code = "NoAnswer", SenderFault = false } = failed.get(String(index)) ?? {};
        return { kind: "failed", name: Code, again: !SenderFault };
      });
    },

    async upload({ bucket, key, text }) {
      const object = { Bucket: bucket, Key: key, Body: text, ContentType: "application/json" };
      await s3.send(new PutObjectCommand(object));
    },
  };
}

function entry({ body, groupId }: Message) {
  return { MessageBody: body, ...(groupId === undefined ? {} : { MessageGroupId: groupId }) };
}

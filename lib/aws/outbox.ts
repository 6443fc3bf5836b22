import { SendMessageCommand } from "@aws-sdk/client-sqs";
import type { SQSClient } from "@aws-sdk/client-sqs";
import type { Outbox } from "../ports.ts";

/** The replies queue on SQS. */
export function createOutbox(sqs: SQSClient, queueUrl: string): Outbox {
  return {
    async send(message) {
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: message }));
    },
  };
}

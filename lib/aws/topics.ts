import { PublishCommand, SNSClient } from "@aws-sdk/client-sns";
import { notificationOf } from "../core/announcement.ts";
import { withTimeout } from "./clients.ts";
import type { Where } from "./clients.ts";

/** Publishes replies to topics of SNS. */
export function createTopics(where: Where) {
  const client = new SNSClient({ ...where, ...withTimeout(3_000) });
  return {
    async publish(TopicArn: string, reply: string): Promise<void> {
      const { message: Message, attributes } = notificationOf(reply);
      const MessageAttributes = Object.fromEntries(
        Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: "String", StringValue }]),
      );
      await client.send(new PublishCommand({ TopicArn, Message, MessageAttributes }));
    },
  };
}

import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import type { SQSClient } from "@aws-sdk/client-sqs";
import type { Depth, WatchedQueue } from "../core/overview.ts";
import type { QueueDepths } from "../ports.ts";

const visible = "ApproximateNumberOfMessages";
const hidden = "ApproximateNumberOfMessagesNotVisible";

/** Of the queues whose URLs are known. SQS's counts are approximate, and a minute old at worst. */
export function createQueueDepths(
  sqs: SQSClient,
  queueUrls: Readonly<Partial<Record<WatchedQueue, string>>>,
): QueueDepths {
  return {
    async read() {
      const depths = Object.entries(queueUrls).map(
        async ([queue, QueueUrl]): Promise<[queue: string, depth: Depth]> => {
          const { Attributes = {} } = await sqs.send(
            new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [visible, hidden] }),
          );
          return [queue, { visible: Number(Attributes[visible] ?? 0), hidden: Number(Attributes[hidden] ?? 0) }];
        },
      );
      return Object.fromEntries(await Promise.all(depths));
    },
  };
}

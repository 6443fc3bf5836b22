import {
  ChangeMessageVisibilityBatchCommand,
  GetQueueAttributesCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import type { MessageAttributeValue, SQSClient } from "@aws-sdk/client-sqs";
import { errorName } from "../core/error-name.ts";
import { sqsBatchEntriesMax, sqsMessageBytesMax } from "../core/limits.ts";
import type { Hidden, Hide, Queue } from "../ports.ts";

/** A lane's queue on SQS, and the parked queue that the lanes share. */
export function createQueue(
  sqs: SQSClient,
  urls: { readonly queueUrl: string; readonly parkedQueueUrl: string },
): Queue {
  return {
    async hide(entries) {
      const batches = Array.from({ length: Math.ceil(entries.length / sqsBatchEntriesMax) }, (_, index) =>
        entries.slice(index * sqsBatchEntriesMax, (index + 1) * sqsBatchEntriesMax),
      );
      return (await Promise.all(batches.map((batch) => hideBatch(sqs, urls.queueUrl, batch)))).flat();
    },

    async countHidden() {
      const { Attributes = {} } = await sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: urls.queueUrl,
          AttributeNames: ["ApproximateNumberOfMessagesNotVisible"],
        }),
      );
      return Number(Attributes["ApproximateNumberOfMessagesNotVisible"] ?? 0);
    },

    async park({ messageId, body, lane = "", jobId = "" }, reason, detail) {
      const texts = { reason, messageId, lane, jobId, detail: sendable(detail) };
      const attributes = fitting(texts, sqsMessageBytesMax - utf8Bytes(body));
      await sqs.send(
        new SendMessageCommand({ QueueUrl: urls.parkedQueueUrl, MessageBody: body, MessageAttributes: attributes }),
      );
    },
  };
}

/** A call that fails is the failure of each of its entries: other batches have outcomes of their own. */
async function hideBatch(sqs: SQSClient, queueUrl: string, entries: readonly Hide[]): Promise<readonly Hidden[]> {
  try {
    const { Successful = [], Failed = [] } = await sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: queueUrl,
        Entries: entries.map(({ receiptHandle, seconds }, index) => ({
          Id: String(index),
          ReceiptHandle: receiptHandle,
          VisibilityTimeout: seconds,
        })),
      }),
    );
    const hidden = new Set(Successful.map(({ Id }) => Id));
    const names = new Map(Failed.map(({ Id, Code }) => [Id, Code]));
    return entries.map(({ messageId }, index) => {
      const id = String(index);
      if (hidden.has(id)) return { kind: "hidden", messageId };
      return { kind: "failed", messageId, name: names.get(id) ?? "NoAnswer" };
    });
  } catch (error) {
    return entries.map(({ messageId }) => ({ kind: "failed", messageId, name: errorName(error) }));
  }
}

/**
 * The attributes, in their order, for which a message has room beside its body, the last of them cut: the body is what
 * the operator cannot do without. Names, types and values count; https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
 */
function fitting(texts: Readonly<Record<string, string>>, bytesMax: number): Record<string, MessageAttributeValue> {
  const attributes: Record<string, MessageAttributeValue> = {};
  let left = bytesMax;
  for (const [name, text] of Object.entries(texts)) {
    const value = cut(text, left - utf8Bytes(name) - utf8Bytes("String"));
    if (value === "") continue; // SQS refuses an empty value
    attributes[name] = { DataType: "String", StringValue: value };
    left -= utf8Bytes(name) + utf8Bytes("String") + utf8Bytes(value);
  }
  return attributes;
}

/** The beginning of a text that fits, never half a character. */
function cut(text: string, bytesMax: number): string {
  if (bytesMax <= 0) return "";
  if (utf8Bytes(text) <= bytesMax) return text;
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytesMax)).replace(/\uFFFD+$/, "");
}

/** Without what SQS takes in no message: control characters, and halves of surrogate pairs. */
function sendable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the characters that are meant
  return text.toWellFormed().replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, " ");
}

function utf8Bytes(text: string): number {
  return Buffer.byteLength(text);
}

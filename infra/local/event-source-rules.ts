/**
 * What Lambda's event source mapping for SQS does, as rules without IO.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
import type { Message } from "@aws-sdk/client-sqs";
import type { SQSMessageAttribute, SQSRecord } from "aws-lambda";

/** How an invocation ended; `value` is what the handler returned, as JSON carries it. */
export type Invoked =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly name: string }
  | { readonly kind: "timed-out" };

/** One mapping of the template, on the queue that stands for its own. */
export interface Mapping {
  readonly queueUrl: string;
  readonly queueArn: string;
  /** The queue's own, which a message has when its handler begins. */
  readonly visibilityS: number;
  readonly batchSize: number;
  readonly windowMs: number;
  /** Invocations at a time. */
  readonly concurrencyMax: number;
  /** FunctionResponseTypes has ReportBatchItemFailures. */
  readonly reportsFailures: boolean;
}

/** One receive of a batch that is being gathered. `waitS` 0 is a short poll. */
export interface Poll {
  readonly messagesMax: number;
  readonly waitS: number;
}

const sqsReceiveMax = 10;
const longPollS = 20;
/** The payload limit of a synchronous invocation. */
const eventBytesMax = 6 * 1_048_576;

/** The ids that are deleted; all others come again when their visibility ends, which is left as it is. */
export function acknowledged(ids: readonly string[], invoked: Invoked, reportsFailures: boolean): readonly string[] {
  if (invoked.kind !== "returned") return [];
  if (!reportsFailures) return ids;

  const failed = failedIn(invoked.value);
  // A key or an id that Lambda does not know fails the whole batch: it cannot tell what succeeded.
  if (failed === undefined || failed.some((id) => !ids.some((known) => known === id))) return [];
  return ids.filter((id) => !failed.includes(id));
}

/** The next receive of a batch, or none: it is full, or its window, counted from its first message, is over. */
export function nextPoll(gathered: number, windowLeftMs: number, mapping: Mapping): Poll | undefined {
  const messagesMax = Math.min(sqsReceiveMax, mapping.batchSize - gathered);
  if (gathered === 0) return { messagesMax, waitS: longPollS };
  if (messagesMax <= 0 || windowLeftMs <= 0) return undefined;
  return { messagesMax, waitS: Math.min(longPollS, Math.floor(windowLeftMs / 1_000)) };
}

/** The records in as few events as the payload limit allows. */
export function eventsOf(records: readonly SQSRecord[], bytesMax = eventBytesMax): readonly (readonly SQSRecord[])[] {
  const events: SQSRecord[][] = [];
  let bytesLeft = 0;
  for (const record of records) {
    const bytes = Buffer.byteLength(JSON.stringify(record));
    const last = events.at(-1);
    if (last === undefined || bytes > bytesLeft) {
      events.push([record]);
      bytesLeft = bytesMax - bytes;
    } else {
      last.push(record);
      bytesLeft -= bytes;
    }
  }
  return events;
}

/** A received message as Lambda hands it to a handler. Throws on a message that SQS would not send. */
export function recordOf(message: Message, queueArn: string): SQSRecord {
  const { MessageId, ReceiptHandle, Body, MD5OfBody, MD5OfMessageAttributes, Attributes } = message;
  if (MessageId === undefined || ReceiptHandle === undefined) throw new Error("SQS sent a message without its ids");
  return {
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    body: Body ?? "",
    attributes: {
      ApproximateReceiveCount: "1",
      SentTimestamp: "0",
      SenderId: "",
      ApproximateFirstReceiveTimestamp: "0",
      ...Attributes,
    },
    messageAttributes: attributesOf(message),
    md5OfBody: MD5OfBody ?? "",
    ...(MD5OfMessageAttributes === undefined ? {} : { md5OfMessageAttributes: MD5OfMessageAttributes }),
    eventSource: "aws:sqs",
    eventSourceARN: queueArn,
    awsRegion: queueArn.split(":")[3] ?? "",
  };
}

function failedIn(value: unknown): readonly unknown[] | undefined {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object" || Array.isArray(value)) return undefined;
  const failures = "batchItemFailures" in value ? value.batchItemFailures : undefined;
  if (failures === null || failures === undefined) return [];
  return Array.isArray(failures) ? failures.map(identifierOf) : undefined;
}

function identifierOf(failure: unknown): unknown {
  return typeof failure === "object" && failure !== null && "itemIdentifier" in failure
    ? failure.itemIdentifier
    : undefined;
}

function attributesOf(message: Message): Record<string, SQSMessageAttribute> {
  return Object.fromEntries(
    Object.entries(message.MessageAttributes ?? {}).map(([name, { DataType, StringValue, BinaryValue }]) => [
      name,
      {
        ...(StringValue === undefined ? {} : { stringValue: StringValue }),
        ...(BinaryValue === undefined ? {} : { binaryValue: Buffer.from(BinaryValue).toString("base64") }),
        stringListValues: [],
        binaryListValues: [],
        dataType: DataType ?? "String",
      },
    ]),
  );
}

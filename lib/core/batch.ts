import type { Delivery } from "./job.ts";
import type { Lane } from "./lane.ts";

/** An SQS record as Lambda hands it over, as far as it is read here; every attribute is SQS's own text. */
export interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes?:
    | {
        readonly SentTimestamp?: string | undefined;
        readonly ApproximateReceiveCount?: string | undefined;
        readonly MessageGroupId?: string | undefined;
        readonly AWSTraceHeader?: string | undefined;
      }
    | undefined;
}

/** What Lambda is told of a batch: these messages come again, all others are deleted. */
export interface BatchResponse {
  readonly batchItemFailures: { readonly itemIdentifier: string }[];
}

/** https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting */
export function batchResponse(messageIds: Iterable<string>): BatchResponse {
  return { batchItemFailures: [...new Set(messageIds)].map((itemIdentifier) => ({ itemIdentifier })) };
}

/** The first of each messageId: SQS may put one message into a batch twice, and the second would meet its own claim. */
export function dedupe<T extends { readonly messageId: string }>(records: readonly T[]): T[] {
  const seen = new Set<string>();
  return records.filter(({ messageId }) => !seen.has(messageId) && seen.add(messageId));
}

/** A record with the queue's facts as numbers. An attribute that is missing or garbage is taken as of a first receive, now. */
export function deliveryOf(record: SqsRecord, lane: Lane, nowMs: number): Delivery {
  const { messageId, receiptHandle, body, attributes } = record;
  const { SentTimestamp, ApproximateReceiveCount, MessageGroupId, AWSTraceHeader } = attributes ?? {};
  return {
    messageId,
    receiptHandle,
    body,
    lane,
    // A queue's clock ahead of ours must not make a job younger than new.
    enqueuedAtMs: Math.min(positive(SentTimestamp) ?? nowMs, nowMs),
    receives: positive(ApproximateReceiveCount) ?? 1,
    receivedAtMs: nowMs,
    ...(MessageGroupId === undefined ? {} : { tenant: MessageGroupId }),
    ...(AWSTraceHeader === undefined ? {} : { traceHeader: AWSTraceHeader }),
  };
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

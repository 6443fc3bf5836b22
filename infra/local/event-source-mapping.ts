/** Lambda's event source mapping for SQS: polls, invokes, deletes. Its rules are `event-source-rules.ts`. */
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
} from "@aws-sdk/client-sqs";
import type { DeleteMessageBatchRequestEntry, Message, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import { setTimeout as sleep } from "node:timers/promises";

import { sqsBatchEntriesMax } from "../../lib/core/limits.ts";
import { acknowledged, eventsOf, nextPoll, recordOf } from "./event-source-rules.ts";
import type { Invoked, Mapping, Poll } from "./event-source-rules.ts";

/** What a mapping tells while it runs. `trouble`: SQS refused; the mapping goes on by itself. */
export type MappingNews =
  | { readonly kind: "invoking"; readonly records: readonly SQSRecord[] }
  | {
      readonly kind: "invoked";
      readonly records: readonly SQSRecord[];
      readonly how: Invoked;
      readonly deleted: number;
    }
  | { readonly kind: "trouble"; readonly what: "receive" | "hide" | "delete"; readonly name: string };

export interface RunningMapping {
  /** Received and not yet dealt with: gathered, or with a handler. */
  messagesHeld(): number;
  /** No more receives; resolves once the invocations under way have been dealt with. */
  stop(): Promise<void>;
}

/** What a receive hides. One whose answer is lost must not cost the queue's own visibility, which may be hours. */
const receivedS = 30;
const shortPollMs = 100;
const troublePauseMs = 1_000;
const deleteTriesMax = 3;

/** Never rejects: whatever fails is told, and the messages come again. */
export function startMapping(
  mapping: Mapping,
  sqs: SQSClient,
  invoke: (event: SQSEvent) => Promise<Invoked>,
  tell: (news: MappingNews) => void,
): RunningMapping {
  const stopping = new AbortController();
  let held = 0;

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      for (const records of eventsOf(await gather())) {
        tell({ kind: "invoking", records });
        await hide(records);
        const how = await invoke({ Records: [...records] });
        const gone = new Set(acknowledged(records.map(idOf), how, mapping.reportsFailures));
        const deleted = await deleteAll(records.filter((record) => gone.has(record.messageId)));
        held -= records.length;
        tell({ kind: "invoked", records, how, deleted });
      }
    }
  }

  async function gather(): Promise<readonly SQSRecord[]> {
    const messages: Message[] = [];
    let windowEndsAtMs = Infinity;
    while (!stopping.signal.aborted) {
      const next = nextPoll(messages.length, windowEndsAtMs - Date.now(), mapping);
      if (next === undefined) break;
      const received = await receive(next);
      if (messages.length === 0) windowEndsAtMs = Date.now() + mapping.windowMs;
      if (received.length === 0 && next.waitS === 0) await sleep(shortPollMs);
      messages.push(...received);
      held += received.length;
    }
    // What was gathered when the end came is not begun: its visibility brings it back.
    return stopping.signal.aborted ? [] : messages.map((message) => recordOf(message, mapping.queueArn));
  }

  async function receive({ messagesMax, waitS }: Poll): Promise<readonly Message[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: mapping.queueUrl,
      MaxNumberOfMessages: messagesMax,
      WaitTimeSeconds: waitS,
      VisibilityTimeout: Math.min(receivedS, mapping.visibilityS),
      MessageSystemAttributeNames: ["All"],
      MessageAttributeNames: ["All"],
    });
    try {
      return (await sqs.send(command, { abortSignal: stopping.signal })).Messages ?? [];
    } catch (error) {
      if (stopping.signal.aborted) return [];
      tell({ kind: "trouble", what: "receive", name: nameOf(error) });
      await sleep(troublePauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      return [];
    }
  }

  /** From here on the messages are as Lambda hands them over. What fails leaves them hidden for less. */
  async function hide(records: readonly SQSRecord[]): Promise<void> {
    if (mapping.visibilityS <= receivedS) return;
    for (let from = 0; from < records.length; from += sqsBatchEntriesMax) {
      const Entries = records.slice(from, from + sqsBatchEntriesMax).map(({ receiptHandle }, index) => ({
        Id: String(index),
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: mapping.visibilityS,
      }));
      const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: mapping.queueUrl, Entries });
      await sqs.send(command).catch((error: unknown) => tell({ kind: "trouble", what: "hide", name: nameOf(error) }));
    }
  }

  async function deleteAll(records: readonly SQSRecord[]): Promise<number> {
    let deleted = 0;
    for (let from = 0; from < records.length; from += sqsBatchEntriesMax) {
      deleted += await deleteTen(records.slice(from, from + sqsBatchEntriesMax));
    }
    return deleted;
  }

  /** A batch answers 200 with failed entries in it: those alone are tried again. */
  async function deleteTen(records: readonly SQSRecord[]): Promise<number> {
    let left: DeleteMessageBatchRequestEntry[] = records.map(({ receiptHandle }, index) => ({
      Id: String(index),
      ReceiptHandle: receiptHandle,
    }));
    for (let tries = 0; left.length > 0 && tries < deleteTriesMax; tries++) {
      try {
        const answer = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: mapping.queueUrl, Entries: left }));
        const failed = new Set(answer.Failed?.map(({ Id }) => Id));
        left = left.filter(({ Id }) => failed.has(Id));
        if (failed.size > 0) tell({ kind: "trouble", what: "delete", name: answer.Failed?.[0]?.Code ?? "Failed" });
      } catch (error) {
        tell({ kind: "trouble", what: "delete", name: nameOf(error) });
      }
    }
    return records.length - left.length;
  }

  const pollers = Array.from({ length: mapping.concurrencyMax }, poll);
  return {
    messagesHeld: () => held,
    async stop() {
      stopping.abort();
      await Promise.all(pollers);
    },
  };
}

function idOf({ messageId }: SQSRecord): string {
  return messageId;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "unknown error";
}

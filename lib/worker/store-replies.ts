import { dedupe } from "../core/batch.ts";
import type { SqsRecord } from "../core/batch.ts";
import { afterStoreReply } from "../core/claim.ts";
import type { Config } from "../core/config.ts";
import { errorName } from "../core/error-name.ts";
import { closingBellMs, lastCallMs, replyStoreRetryS } from "../core/limits.ts";
import type { Tags } from "../core/noted.ts";
import { readUnstored } from "../core/outbox.ts";
import type { UnstoredReply } from "../core/outbox.ts";
import { replyTtlS } from "../core/reply.ts";
import type { ParkReason } from "../core/settlement.ts";
import type { World } from "../ports.ts";
import { announce } from "./announce.ts";
import type { Announceable } from "./announce.ts";
import { atMost } from "./at-most.ts";
import { fitForRow } from "./fit-for-row.ts";
import { noteReply } from "./replies.ts";

/** A container of the reply-store. Its World's queue is the replies queue. */
export interface ReplyStore {
  readonly config: Config;
  readonly world: Pick<World, "announcer" | "clock" | "jobs" | "objects" | "queue" | "telemetry">;
}

/**
 * Stores the replies of one invocation and answers the message ids that must come again: in some seconds, and so on for
 * as long as SQS keeps them. It answers before the invocation's end even if a promise hangs.
 */
export async function storeReplies(
  store: ReplyStore,
  records: readonly SqsRecord[],
  endsAtMs: number,
): Promise<string[]> {
  const { clock } = store.world;
  const messages = dedupe(records);
  const again = new Map(messages.map((message) => [message.messageId, message]));
  const all = messages.map(async (message) => {
    if (await guarded(store, message)) again.delete(message.messageId);
  });
  await atMost(clock, endsAtMs - closingBellMs - clock.nowMs(), Promise.all(all));
  if (again.size > 0) await atMost(clock, endsAtMs - lastCallMs - clock.nowMs(), hide(store, [...again.values()]));
  await atMost(clock, endsAtMs - lastCallMs - clock.nowMs(), Promise.all(all));
  return [...again.keys()];
}

/** Whether the message may go. A reply that cannot be stored is its own trouble. */
async function guarded(store: ReplyStore, message: SqsRecord): Promise<boolean> {
  try {
    return await storeOne(store, message);
  } catch (error) {
    const { messageId } = message;
    store.world.telemetry.note({ messageId, kind: "reply-store-failed", error: errorName(error) });
    return false;
  }
}

async function storeOne(store: ReplyStore, message: SqsRecord): Promise<boolean> {
  const { body, messageId } = message;
  const read = readUnstored(body);
  if (read.kind === "fault")
    return park(
      store,
      body,
      { messageId },
      "not_a_reply",
      `${read.field}: cannot be read; only the functions of this stack may send to the replies queue`,
    );

  const { unstored } = read;
  const { jobId, lane } = unstored;
  const tags = { jobId, messageId, ...(lane === undefined ? {} : { lane }) };
  const stored = await storeReply(store, unstored, tags);
  switch (stored.kind) {
    case "stored":
      return tell(store, { jobId, reply: stored.reply, announced: [] }, unstored, tags);
    case "done":
      store.world.telemetry.note({ ...tags, kind: "duplicate", why: "done" });
      // The reply that stands is the one to be told.
      return tell(store, stored.row, unstored, tags);
    case "conflict": {
      const detail =
        "jobId: a job with this id and other content took the row meanwhile; send this one under an id of its own";
      return park(store, body, tags, "job_id_reused", detail);
    }
    case "again":
      return false;
  }
}

async function storeReply(store: ReplyStore, unstored: UnstoredReply, tags: Tags) {
  const { config, world } = store;
  const { jobId, contentHash, status, progress } = unstored;
  const reply = await fitForRow(store, unstored.reply, (output) => world.objects.putOutput(jobId, output), tags);
  const nowMs = world.clock.nowMs();
  const ttlS = replyTtlS(nowMs, config.replies.ttlDays);
  const answer = await world.jobs.storeReply(jobId, { contentHash, nowMs, reply, status, ttlS, progress });
  if (answer.kind === "lost") return afterStoreReply(answer.row, contentHash);
  noteReply(world, JSON.parse(reply), tags);
  return { kind: "stored", reply } as const;
}

function tell({ world }: ReplyStore, reply: Announceable, { replyTo }: UnstoredReply, tags: Tags): Promise<boolean> {
  return announce(world, reply, replyTo, tags, (act) => act());
}

async function park(
  { world }: ReplyStore,
  body: string,
  tags: Tags & { readonly messageId: string },
  reason: ParkReason,
  detail: string,
): Promise<boolean> {
  await world.queue.park({ ...tags, body }, reason, detail);
  world.telemetry.note({ ...tags, kind: "parked", reason });
  return true;
}

async function hide({ world }: ReplyStore, messages: readonly SqsRecord[]): Promise<void> {
  const entries = messages.map(({ messageId, receiptHandle }) => ({
    messageId,
    receiptHandle,
    seconds: replyStoreRetryS,
  }));
  try {
    await world.queue.hide(entries);
  } catch (error) {
    // The queue's own visibility brings them back, only later.
    world.telemetry.note({ kind: "trouble", what: "ChangeMessageVisibility", error: errorName(error) });
  }
}

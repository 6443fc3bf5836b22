/** What can be seen of a running service from outside, while it runs and when it is quiet. */
import { GetObjectCommand } from "@aws-sdk/client-s3";
import { GetQueueAttributesCommand, ListQueuesCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { setTimeout as sleep } from "node:timers/promises";

import { leasesOut } from "../../infra/local/leftovers.ts";
import { outputOf, queueUrl } from "../../infra/local/service.ts";
import type { Service } from "../../infra/local/service.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { isObject, parseJson } from "../../lib/core/json.ts";
import { leaseGraceMs, leaseMs } from "../../lib/core/limits.ts";
import type { ChaosJob } from "./jobs.ts";
import type { History } from "./judge.ts";

type Replies = History["replies"];

export interface Watch {
  readonly replies: Replies;
  /** Resolves when every job has a reply, or when that has taken too long. */
  answered(): Promise<void>;
  stop(): Promise<void>;
}

const lookMs = 300;
/** A judge who waits for ever says nothing. */
const waitMsMax = 8 * 60_000;
const quietLooks = 3;

/** Ends without it when it has taken too long. */
export async function until(holds: () => boolean, endsAtMs = Date.now() + waitMsMax): Promise<void> {
  while (!holds() && Date.now() < endsAtMs) await sleep(20);
}

/** Reads the rows of all jobs, again and again. */
export function watchReplies(service: Service, jobs: readonly ChaosJob[]): Watch {
  const table = createJobTable(service.clients.dynamo, outputOf(service, "jobTableName"), systemClock);
  const replies = new Map<string, { readonly texts: readonly string[]; readonly seenAtMs: number }>();
  const endsAtMs = Date.now() + waitMsMax;
  const stopping = new AbortController();
  const all = Promise.withResolvers<void>();

  async function look(): Promise<void> {
    const rows = await table.readMany(jobs.map(({ jobId }) => jobId));
    for (const { jobId, reply } of rows) {
      const { texts = [], seenAtMs = Date.now() } = replies.get(jobId) ?? {};
      if (reply !== undefined && texts.at(-1) !== reply) replies.set(jobId, { texts: [...texts, reply], seenAtMs });
    }
    if (replies.size === jobs.length || Date.now() > endsAtMs) all.resolve();
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look();
      await sleep(lookMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    await look();
  }

  const watching = watch();
  watching.catch((error: unknown) => all.reject(error));
  return {
    replies,
    answered: () => all.promise,
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

/** Waits until all jobs are answered and nothing moves any more; answers what is left then. `settle`: the network too. */
export async function leftIn(
  service: Service,
  watch: Watch,
  settle: () => Promise<unknown>,
): Promise<Pick<History, "leasesOut" | "messages" | "parked">> {
  await watch.answered();
  await settle();
  const messages = await untilEmpty(service);
  const leases = await untilReturned(service);
  await watch.stop();
  return { messages, leasesOut: leases, parked: await parkedIn(service) };
}

/** Copies of answered jobs come once more, the last of them when the longest hiding ends. */
async function untilEmpty(service: Service): Promise<ReadonlyMap<string, number>> {
  const endsAtMs = Date.now() + waitMsMax;
  for (let looks = 0; ; await sleep(lookMs)) {
    const messages = await messagesIn(service);
    const isEmpty = [...messages.values()].every((count) => count === 0) && service.messagesHeld() === 0;
    looks = isEmpty ? looks + 1 : 0;
    // On its way from SQS to a worker a message is seen nowhere: one look proves nothing.
    if (looks === quietLooks || Date.now() > endsAtMs) return messages;
  }
}

/** In all queues but the parked one, hidden ones too, by the queue's name. */
async function messagesIn(service: Service): Promise<ReadonlyMap<string, number>> {
  const { sqs } = service.clients;
  const parked = queueUrl(service, "parked");
  const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({}));
  const counted = QueueUrls.filter((url) => url !== parked).map(async (QueueUrl) => {
    const command = new GetQueueAttributesCommand({
      QueueUrl,
      AttributeNames: ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
    });
    const { Attributes = {} } = await sqs.send(command);
    const counts = Object.values(Attributes).map(Number);
    return [QueueUrl.split("/").at(-1) ?? "", counts.reduce((sum, count) => sum + count, 0)] as const;
  });
  return new Map(await Promise.all(counted));
}

/** Leases of workers that were killed, and those that a late copy has taken, lapse. */
async function untilReturned(service: Service): Promise<number> {
  for (const endsAtMs = Date.now() + leaseMs + leaseGraceMs; ; await sleep(lookMs)) {
    const out = await leasesOut(service);
    if (out === 0 || Date.now() > endsAtMs) return out;
  }
}

/** `reason body` of each parked message. */
async function parkedIn(service: Service): Promise<readonly string[]> {
  const parked: string[] = [];
  for (;;) {
    const command = new ReceiveMessageCommand({
      QueueUrl: queueUrl(service, "parked"),
      MaxNumberOfMessages: 10,
      MessageAttributeNames: ["All"],
      VisibilityTimeout: 600,
    });
    const { Messages = [] } = await service.clients.sqs.send(command);
    if (Messages.length === 0) return parked;
    for (const { Body = "", MessageAttributes } of Messages)
      parked.push(`${MessageAttributes?.["reason"]?.StringValue ?? "no reason"} ${Body}`);
  }
}

/** The outputs that replies only refer to. */
export async function outputsOf(service: Service, replies: Replies): Promise<ReadonlyMap<string, string>> {
  const refs = [...replies.values()].flatMap(({ texts }) =>
    texts.flatMap((text) => {
      const reply = parseJson(text);
      return isObject(reply) && typeof reply["outputRef"] === "string" ? [reply["outputRef"]] : [];
    }),
  );
  const read = refs.map(async (ref) => {
    const { host: Bucket, pathname } = new URL(ref);
    const Key = decodeURIComponent(pathname.slice(1));
    const { Body } = await service.clients.s3.send(new GetObjectCommand({ Bucket, Key }));
    return [ref, (await Body?.transformToString()) ?? ""] as const;
  });
  return new Map(await Promise.all(read));
}

import { progressFrom } from "./claim.ts";
import type { Progress } from "./claim.ts";
import { isObject, parseJson, sqsJson } from "./json.ts";
import type { Json } from "./json.ts";
import { isLane } from "./lane.ts";
import type { Lane } from "./lane.ts";
import { encodeReplyTo, readReplyTo } from "./reply-to.ts";
import type { ReplyTo } from "./reply-to.ts";
import { isReplyStatus, replyText } from "./reply.ts";
import type { ReplyStatus } from "./reply.ts";

/** A final reply that the job table could not take yet, with all that it takes to store it later, without the claim. */
export interface UnstoredReply {
  readonly jobId: string;
  /** What was answered: a row of other content is another job's. */
  readonly contentHash: string;
  readonly lane?: Lane;
  readonly status: ReplyStatus;
  /** JSON text. */
  readonly reply: string;
  readonly progress: Progress;
  /** Who waits for it. */
  readonly replyTo?: ReplyTo;
}

/** What a message of the replies queue turns out to be; a fault names its field and no value. */
export type ReadReply =
  | { readonly kind: "reply"; readonly unstored: UnstoredReply }
  | { readonly kind: "fault"; readonly field: string };

/** The reply as a message of the replies queue: one JSON object, the reply in it as it is, for the one who looks at it. */
export function encodeUnstored({ contentHash, lane, progress, replyTo, reply }: UnstoredReply): string {
  const about = { contentHash, lane, progress, ...(replyTo === undefined ? {} : { replyTo: encodeReplyTo(replyTo) }) };
  return sqsJson(`${JSON.stringify(about).slice(0, -1)},"reply":${reply}}`);
}

/**
 * Total. The answer was paid for: whatever else of its message cannot be read, as of a newer worker, does not keep it from
 * its job.
 */
export function readUnstored(message: string): ReadReply {
  const body = parseJson(message);
  if (!isObject(body)) return { kind: "fault", field: "body" };
  const { contentHash, lane, progress, replyTo, reply } = body;
  if (typeof contentHash !== "string" || contentHash === "") return { kind: "fault", field: "contentHash" };
  if (!isObject(reply)) return { kind: "fault", field: "reply" };
  const { jobId, status, meta, error } = reply;
  if (typeof jobId !== "string" || jobId === "") return { kind: "fault", field: "reply.jobId" };
  if (!isReplyStatus(status)) return { kind: "fault", field: "reply.status" };
  if (!isObject(meta)) return { kind: "fault", field: "reply.meta" };
  if (status !== "succeeded" && !isObject(error)) return { kind: "fault", field: "reply.error" };
  const to = readReplyTo(replyTo);
  return {
    kind: "reply",
    unstored: {
      jobId,
      contentHash,
      ...(isLane(lane) ? { lane } : {}),
      status,
      reply: replyText(reply),
      progress: progressOf(progress),
      ...(to === undefined ? {} : { replyTo: to }),
    },
  };
}

function progressOf(value: Json | undefined): Progress {
  const counts = isObject(value) ? value : {};
  const usage = isObject(counts["usage"]) ? counts["usage"] : {};
  return progressFrom(
    (name) => numberOf(counts[name]),
    (name) => numberOf(usage[name]),
  );
}

function numberOf(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}

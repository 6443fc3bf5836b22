import { errorName } from "../core/error-name.ts";
import type { Fault } from "../core/envelope.ts";
import type { Delivery } from "../core/job.ts";
import { isAllowed } from "../core/reply-to.ts";
import type { ReplyTo } from "../core/reply-to.ts";
import { replyText } from "../core/reply.ts";
import type { Reply } from "../core/reply.ts";
import { lastTry } from "./in-time.ts";
import type { Invocation } from "./invocation.ts";
import { invalidEnvelope } from "./replies.ts";

/**
 * Fails the task that waits by the token of a message which is about to be parked. The reply under its jobId, if it names
 * a job, is not the answer to what it asked, and no other will ever come. It is told once: a parked message has an operator
 * who sees it.
 */
export async function refuseTask(
  invocation: Invocation,
  delivery: Delivery,
  refused: Partial<Pick<Reply, "jobId" | "metadata">> & { readonly replyTo?: ReplyTo },
  fault: Fault,
): Promise<void> {
  const { worker } = invocation;
  const { jobId, replyTo } = refused;
  if (replyTo?.kind !== "taskToken" || !isAllowed(replyTo, worker.config.replies.allow)) return;
  const { announcer, telemetry } = worker.world;
  const { messageId, lane } = delivery;
  const tags = { ...(jobId === undefined ? {} : { jobId }), messageId, lane };
  const reply = replyText(invalidEnvelope(worker, delivery, refused, fault));
  try {
    const how = await lastTry(invocation, () => announcer.announce(replyTo, reply));
    telemetry.note({ ...tags, kind: "announced", by: replyTo.kind, how });
  } catch (error) {
    telemetry.note({ ...tags, kind: "announcement-failed", by: replyTo.kind, error: errorName(error) });
  }
}

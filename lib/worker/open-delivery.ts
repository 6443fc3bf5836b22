import { isAnswered } from "../core/claim.ts";
import { mayRead } from "../core/config.ts";
import { checkAgainst } from "../core/envelope.ts";
import type { Envelope, Fault, Read } from "../core/envelope.ts";
import { readBody, readObject } from "../core/feeds.ts";
import type { Delivery } from "../core/job.ts";
import { isAllowed } from "../core/reply-to.ts";
import { hasCode, replyText, replyTtlS } from "../core/reply.ts";
import type { Invocation } from "./invocation.ts";
import { invalidEnvelope } from "./replies.ts";
import { settleAnswered, settleUnclaimed } from "./settle-record.ts";
import type { Settled } from "./settle-record.ts";

/** A message that asks for a job, or one that has ended because it does not. */
export type Opened =
  | { readonly kind: "envelope"; readonly envelope: Envelope }
  | { readonly kind: "settled"; readonly settled: Settled };

/** Reads the envelope of a message and holds it against the config; what is none is answered or parked here. */
export async function openDelivery(invocation: Invocation, delivery: Delivery): Promise<Opened> {
  const read = await readDelivery(invocation, delivery);
  switch (read.kind) {
    case "envelope": {
      const fault = checkAgainst(read.envelope, invocation.worker.config);
      if (fault === undefined) return read;
      return settled(await answerInvalid(invocation, delivery, { ...read.envelope, fault }));
    }
    case "ignore":
      return settled(await settleUnclaimed(invocation, delivery, { kind: "acknowledge" }));
    case "refused":
      return settled(await refuse(invocation, delivery, read.fault));
    case "invalid":
      return settled(await answerInvalid(invocation, delivery, read));
  }
}

function settled(end: Settled): Opened {
  return { kind: "settled", settled: end };
}

function bodyFault(message: string): Fault {
  return { field: "body", message };
}

/** The body, or the object in S3 that it points to. Only buckets of the config are read: a sender names them. */
async function readDelivery({ worker }: Invocation, delivery: Delivery): Promise<Exclude<Read, { kind: "pointer" }>> {
  const read = readBody(delivery.body);
  if (read.kind !== "pointer") return read;
  if (!mayRead(worker.config, read)) {
    const fault = bodyFault("points to a bucket that is not allowed; name it in paramsRef.buckets of the config");
    return { kind: "refused", fault };
  }
  const object = await worker.world.objects.get(read.bucket, read.key);
  if (object.kind === "found") return readObject(object.text);
  return {
    kind: "refused",
    fault: bodyFault(
      "points to an object that does not exist, or is bigger than any request; mend that, then send again",
    ),
  };
}

/** No envelope, hence nobody to answer: parked with the reason. */
async function refuse(invocation: Invocation, delivery: Delivery, fault: Fault): Promise<Settled> {
  const { messageId, lane } = delivery;
  invocation.worker.world.telemetry.note({ kind: "refused", messageId, lane, field: fault.field });
  return settleUnclaimed(invocation, delivery, { kind: "park", reason: "not_an_envelope", detail: faultText(fault) });
}

/** A job that can be named is answered, unless it has a row: a damaged duplicate must not end a good job. */
async function answerInvalid(
  invocation: Invocation,
  delivery: Delivery,
  { jobId, fault, replyTo }: Omit<Extract<Read, { kind: "invalid" }>, "kind">,
): Promise<Settled> {
  const { config, digest, world } = invocation.worker;
  const { messageId, lane } = delivery;
  world.telemetry.note({ kind: "refused", jobId, messageId, lane, field: fault.field });
  const nowMs = world.clock.nowMs();
  const reply = replyText(invalidEnvelope(invocation.worker, delivery, jobId, fault));
  const answered = await world.jobs.replyUnclaimed(jobId, {
    nowMs,
    reply,
    status: "failed",
    ttlS: replyTtlS(nowMs, config.replies.ttlDays),
    contentHash: digest(delivery.body),
  });
  // A copy of an envelope that was refused, or the same message again after a lost answer, has its reply.
  const stands = answered.kind === "stored" ? { jobId, reply, announced: [] } : answered.row;
  if (isAnswered(stands) && hasCode(stands.reply, "invalid_envelope")) {
    const to = replyTo !== undefined && isAllowed(replyTo, config.replies.allow) ? replyTo : undefined;
    return settleAnswered(invocation, delivery, stands, to, { jobId, messageId, lane });
  }
  const detail = faultText(fault);
  return settleUnclaimed(invocation, delivery, { kind: "park", reason: "invalid_envelope", detail, jobId });
}

function faultText({ field, message }: Fault): string {
  return `${field}: ${message}`;
}

import { isAnswered } from "../core/claim.ts";
import type { JobRow } from "../core/claim.ts";
import { mayRead } from "../core/config.ts";
import { checkAgainst } from "../core/envelope.ts";
import type { Envelope, Fault, Read } from "../core/envelope.ts";
import { readBody, readObject } from "../core/feeds.ts";
import { contentOf, jobOf } from "../core/job.ts";
import type { Delivery, Job } from "../core/job.ts";
import { noRoomDelayS, strangerDelayS } from "../core/release.ts";
import { isAllowed, isAmong } from "../core/reply-to.ts";
import type { ReplyTo } from "../core/reply-to.ts";
import { hasCode, replyText, replyTtlS } from "../core/reply.ts";
import { hidingFacts } from "./hiding-facts.ts";
import type { Invocation } from "./invocation.ts";
import { refuseTask } from "./refuse-task.ts";
import { invalidEnvelope, noteReply } from "./replies.ts";
import { settleAnswered, settleUnclaimed } from "./settle-record.ts";
import type { Settled } from "./settle-record.ts";

/** A message that asks for a job, or one that has ended because it does not. */
export type Opened =
  | { readonly kind: "job"; readonly job: Job }
  /** A job that has begun, and that this worker's config does not allow: another version's does. */
  | { readonly kind: "disallowed"; readonly job: Job; readonly fault: Fault }
  | { readonly kind: "settled"; readonly settled: Settled };

/** Reads the envelope of a message and holds it against the config; what is none is answered or parked here. */
export async function openDelivery(invocation: Invocation, delivery: Delivery): Promise<Opened> {
  const read = await readDelivery(invocation, delivery);
  switch (read.kind) {
    case "envelope":
      return openEnvelope(invocation, delivery, read.envelope);
    case "ignore":
      return settled(await settleUnclaimed(invocation, delivery, { kind: "acknowledge" }));
    case "refused":
      return settled(await refuse(invocation, delivery, read));
    case "invalid": {
      const end = await answerInvalid(invocation, delivery, read);
      if (end.kind === "settled") return settled(end.settled);
      // The good job's own task is not the damaged copy's to fail.
      const { replyTo, ...invalid } = read;
      const its = replyTo === undefined || knows(end.row, replyTo) ? {} : { replyTo };
      return settled(await parkInvalid(invocation, delivery, { ...invalid, ...its }));
    }
    case "elsewhere":
      return settled(await leaveToOthers(invocation, delivery, read.fault));
    case "no-room": {
      const delayS = noRoomDelayS(hidingFacts(invocation, delivery));
      return settled(await settleUnclaimed(invocation, delivery, { kind: "hide", delayS, why: "memory" }));
    }
  }
}

async function openEnvelope(invocation: Invocation, delivery: Delivery, envelope: Envelope): Promise<Opened> {
  const { config, digest } = invocation.worker;
  const job = jobOf(envelope, delivery, digest(contentOf(envelope)));
  invocation.jobs.set(delivery.messageId, job);
  const fault = checkAgainst(envelope, config);
  if (fault === undefined) return { kind: "job", job };
  const end = await answerInvalid(invocation, delivery, { ...envelope, fault });
  if (end.kind === "settled") return settled(end.settled);
  // A copy that names another destination is damaged; other content is told by the release.
  if (end.row !== undefined && (job.replyTo === undefined || knows(end.row, job.replyTo)))
    return { kind: "disallowed", job, fault };
  return settled(await parkInvalid(invocation, delivery, { ...envelope, fault }));
}

/** Whether a job was begun for this very destination, or its reply told or owed there. */
function knows(row: JobRow | undefined, to: ReplyTo): boolean {
  if (row === undefined) return false;
  return isAmong(to, [...(row.replyTo === undefined ? [] : [row.replyTo]), ...row.announced, ...row.unannounced]);
}

function settled(end: Settled): Opened {
  return { kind: "settled", settled: end };
}

function bodyFault(message: string): Fault {
  return { field: "body", message };
}

type ReadDelivery =
  | Exclude<Read, { kind: "pointer" }>
  /** It points to where this worker's config does not let it read. */
  | { readonly kind: "elsewhere"; readonly fault: Fault }
  /** It points to more than this container can hold beside what it has at work. */
  | { readonly kind: "no-room" };

/** The body, or the object in S3 that it points to. Only buckets of the config are read: a sender names them. */
async function readDelivery({ worker }: Invocation, delivery: Delivery): Promise<ReadDelivery> {
  const read = readBody(delivery.body);
  if (read.kind !== "pointer") return read;
  if (!mayRead(worker.config, read)) {
    const fault = bodyFault("points to a bucket that is not allowed; name it in paramsRef.buckets of the config");
    return { kind: "elsewhere", fault };
  }
  const object = await worker.objects.get(delivery, read);
  switch (object.kind) {
    case "found":
      return readObject(object.text);
    case "no-room":
      return object;
    case "missing": {
      const message =
        "points to an object that does not exist, or is bigger than any request; mend that, then send again";
      return { kind: "refused", fault: bodyFault(message) };
    }
  }
}

/** No envelope, hence nobody to answer but a task that waits by its token: parked with the reason. */
async function refuse(
  invocation: Invocation,
  delivery: Delivery,
  refused: Omit<Extract<Read, { kind: "refused" }>, "kind">,
): Promise<Settled> {
  const { messageId, lane } = delivery;
  const { fault } = refused;
  invocation.worker.world.telemetry.note({ kind: "refused", messageId, lane, field: fault.field });
  await refuseTask(invocation, delivery, refused, fault);
  return settleUnclaimed(invocation, delivery, { kind: "park", reason: "not_an_envelope", detail: faultText(fault) });
}

/**
 * A worker of another version may be let to read there. No row can count for a job that has no name, and receives are
 * spent on other things too: the message waits until it is a dead letter, and is parked from there.
 */
async function leaveToOthers(invocation: Invocation, delivery: Delivery, fault: Fault): Promise<Settled> {
  if (delivery.isDead === true) return refuse(invocation, delivery, { fault });
  const { messageId, lane } = delivery;
  invocation.worker.world.telemetry.note({ kind: "refused", messageId, lane, field: fault.field });
  const delayS = strangerDelayS(hidingFacts(invocation, delivery));
  return settleUnclaimed(invocation, delivery, { kind: "hide", delayS, why: "released" });
}

type Invalid = Omit<Extract<Read, { kind: "invalid" }>, "kind">;

/** A job that can be named is answered, unless it has a row: a damaged duplicate must not end a good job. */
async function answerInvalid(
  invocation: Invocation,
  delivery: Delivery,
  asked: Invalid,
): Promise<
  | { readonly kind: "settled"; readonly settled: Settled }
  | { readonly kind: "has-row"; readonly row: JobRow | undefined }
> {
  const { config, digest, world } = invocation.worker;
  const { messageId, lane } = delivery;
  const { jobId, fault, replyTo } = asked;
  const nowMs = world.clock.nowMs();
  const invalid = invalidEnvelope(invocation.worker, delivery, asked, fault);
  const reply = replyText(invalid);
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
    const tags = { jobId, messageId, lane };
    world.telemetry.note({ ...tags, kind: "refused", field: fault.field });
    if (answered.kind === "stored") noteReply(world, invalid, tags);
    const to = replyTo !== undefined && isAllowed(replyTo, config.replies.allow) ? replyTo : undefined;
    const end = await settleAnswered(invocation, delivery, stands, to, tags);
    return { kind: "settled", settled: end };
  }
  return { kind: "has-row", row: answered.kind === "stored" ? undefined : answered.row };
}

async function parkInvalid(invocation: Invocation, delivery: Delivery, invalid: Invalid): Promise<Settled> {
  const { jobId, fault } = invalid;
  const { messageId, lane } = delivery;
  invocation.worker.world.telemetry.note({ kind: "refused", jobId, messageId, lane, field: fault.field });
  const detail = faultText(fault);
  await refuseTask(invocation, delivery, invalid, fault);
  return settleUnclaimed(invocation, delivery, { kind: "park", reason: "invalid_envelope", detail, jobId });
}

function faultText({ field, message }: Fault): string {
  return `${field}: ${message}`;
}

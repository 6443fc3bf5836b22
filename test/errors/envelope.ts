import { checkAgainst } from "../../lib/core/envelope.ts";
import { readBody, readObject } from "../../lib/core/feeds.ts";
import { noProgress } from "../../lib/core/claim.ts";
import { encodeUnstored } from "../../lib/core/outbox.ts";
import { noMeta, replyOf, replyText } from "../../lib/core/reply.ts";
import { createMemoryWorld } from "../../lib/memory/world.ts";
import { processDeadLetters } from "../../lib/worker/dead-letters.ts";
import { storeReplies } from "../../lib/worker/store-replies.ts";
import { a, t0 } from "../a.ts";
import { aService, config, passing } from "../worker/a-service.ts";
import type { Service } from "../worker/a-service.ts";
import type { Entry, Group } from "./entry.ts";

const job = { jobId: "order-8812-summary", model: "fast", op: "converse", params: { messages: [] } };
const { params: _params, ...without } = job;
const s3 = (eventName: string, bucket: object = { name: "prompts" }) => ({
  eventName,
  s3: { bucket, object: { key: "job.json" } },
});

/** What is wrong with a body, as its reader or the worker's config says it. */
function faultOf(body: unknown): string {
  const read = readBody(typeof body === "string" ? body : JSON.stringify(body));
  const fault =
    read.kind === "envelope" ? checkAgainst(read.envelope, config) : "fault" in read ? read.fault : undefined;
  if (fault === undefined) throw new Error("the body has no fault");
  return fault.message;
}

/** What a worker says of the last of some messages, which it parks. */
async function parkedOf(...sent: readonly object[]): Promise<string> {
  const service = aService();
  for (const body of sent) {
    service.world.queue.send(JSON.stringify(body));
    await service.invoke();
  }
  return lastParked(service);
}

/** What the reply-store says of the last of some messages, which it parks. */
async function unstorable(...sent: readonly string[]): Promise<string> {
  const world = createMemoryWorld({ startMs: t0, lane: "bg" });
  const { queue } = world.outbox;
  for (const body of sent) await world.outbox.send(body);
  const store = { config, world: { ...world, queue } };
  await passing(world.clock, storeReplies(store, queue.receive(), t0 + 30_000));
  const detail = queue.parked.at(-1)?.detail;
  if (detail === undefined) throw new Error("nothing was parked");
  return detail;
}

/** A reply on its way to the job's row, which another job's content may have. */
function unstored(contentHash: string): string {
  const reply = replyText(
    replyOf({ jobId: job.jobId, metadata: {} }, { kind: "succeeded", output: { of: contentHash } }, noMeta),
  );
  const { jobId } = job;
  return encodeUnstored({ jobId, contentHash, lane: "bg", status: "succeeded", progress: noProgress, reply });
}

/** The same of a message that SQS gave up. */
async function deadOf(body: object): Promise<string> {
  const service = aService();
  const { clock } = service.world;
  const delivery = a.delivery({ body: JSON.stringify(body), isDead: true });
  await passing(clock, processDeadLetters(service.worker, [delivery], clock.nowMs() + 300_000));
  return lastParked(service);
}

function lastParked({ world }: Service): string {
  const detail = world.queue.parked.at(-1)?.detail;
  if (detail === undefined) throw new Error("nothing was parked");
  return detail;
}

const fields: readonly [when: string, body: unknown, remedy?: string][] = [
  ["A name that is no field, and near to one.", { ...job, models: "fast-text" }],
  ["A name that is near to none.", { ...job, colour: "red" }],
  ["A name that is not repeated here, for it might hold anything.", { ...job, "say hello to Ada": 1 }],
  ["A field that must be there is not.", { model: "fast-text", op: "converse", params: {} }],
  ["", { ...job, jobId: 8_812 }],
  ["", { ...job, model: "us.amazon.nova-lite-v1:0" }],
  ["", { ...job, op: "chat" }],
  ["", { ...job, params: "Say hello." }],
  ["Neither of the two is there.", without],
  ["Both are.", { ...job, paramsRef: "s3://prompts/job.json" }],
  ["", { ...without, paramsRef: "https://prompts/job.json" }],
  ["A bucket that no worker may read.", { ...without, paramsRef: "s3://elsewhere/job.json" }],
  ["", { ...job, lane: "fast" }],
  ["", { ...job, deadlineAt: "tomorrow" }],
  ["", { ...job, operation: "" }],
  ["", { ...job, tenant: "Größe" }],
  ["", { ...job, fallback: [] }],
  ["", { ...job, replyTo: "me" }],
  [
    "A queue, a bus, a topic or a task token that the deployment does not tell.",
    { ...job, replyTo: { eventBus: "mine" } },
  ],
  [
    "A message with a Step Functions task token, whose envelope names somebody else to be told.",
    { envelope: { ...job, replyTo: { eventBus: "default" } }, taskToken: "AAAAKgAAAAIAAA" },
  ],
  ["", { ...job, metadata: { order: 8_812 } }],
];

const bodies: readonly [when: string, message: () => string | Promise<string>, remedy?: string][] = [
  ["A body that is no JSON.", () => faultOf("{jobId: order-8812-summary}")],
  ["JSON in which no envelope can be found.", () => faultOf({ order: 8_812 })],
  [
    "A schedule of EventBridge without an input of its own.",
    () => faultOf({ "detail-type": "Scheduled Event", detail: {} }),
  ],
  [
    "A message of several jobs: one message has one reply.",
    () => faultOf({ first: job, second: { ...job, jobId: "b" } }),
  ],
  ["SNS asks whether the queue wants the topic's messages.", () => faultOf({ Type: "SubscriptionConfirmation" })],
  [
    "A notification of several objects.",
    () => faultOf({ Records: [s3("ObjectCreated:Put"), s3("ObjectCreated:Put")] }),
  ],
  ["Records of another service.", () => faultOf({ Records: [{ kinesis: {} }] })],
  [
    "An object was deleted, tagged, restored: nothing asks for a job.",
    () => faultOf({ Records: [s3("ObjectRemoved:Delete")] }),
  ],
  ["A notification without its object's place.", () => faultOf({ Records: [s3("ObjectCreated:Put", {})] })],
  ["An object that points to another one.", () => readFault(JSON.stringify({ Records: [s3("ObjectCreated:Put")] }))],
  [
    "A task token waits for what may never be a job.",
    () => faultOf({ event: { Records: [s3("ObjectCreated:Put")] }, taskToken: "AAAAKgAAAAIAAA" }),
  ],
  ["The object is gone.", () => parkedOf({ Records: [s3("ObjectCreated:Put")] })],
  [
    "An object in a bucket that no worker may read: the message waits until SQS gives it up, for a worker of another version might.",
    () => deadOf({ Records: [s3("ObjectCreated:Put", { name: "elsewhere" })] }),
  ],
  [
    "A job with other content has the id, `job_id_reused`: it is never run, and never given the other's answer.",
    () => parkedOf(job, { ...job, params: { messages: [{ role: "user", content: [{ text: "Hello." }] }] } }),
  ],
  ["The same of an answer that came by the replies queue.", () => unstorable(unstored("h-1"), unstored("h-2"))],
  [
    "SQS gave the message up, `dead_lettered`: the job has its [reply](#dead_lettered), and here is its message.",
    () => deadOf(job),
    "Mend what kept it from an answer, then run it again.",
  ],
  [
    "A message of the replies queue that is none, `not_a_reply`.",
    () => unstorable("{}"),
    "Find who sent it, and delete it.",
  ],
];

function readFault(text: string): string {
  const read = readObject(text);
  if (!("fault" in read)) throw new Error("the object has no fault");
  return read.fault.message;
}

export const envelopeErrors: Group = {
  title: "A job's envelope",
  about:
    "Told to the sender: by the client before anything is sent (`JobRefused`, with the `field`), else in the reply's `error` with the code `invalid_envelope`. A damaged copy of a job that has a row already is parked instead, with the reason `invalid_envelope`. The first fault is the one that is told; a value is never repeated.",
  entries: fields.map(([when, body, ...remedy]): Entry => [when, () => faultOf(body), ...remedy]),
};

export const bodyErrors: Group = {
  title: "A message that is no job",
  about:
    "Nobody could be answered: it is parked with the reason `not_an_envelope`, or the one that is named here, and this text as the attribute `detail`, behind the field's name. `JobsRefused` counts them. Correct the sender, then delete the message or run it again.",
  entries: bodies,
};

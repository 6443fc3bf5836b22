import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { beforeEach, describe, expect, test } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { createObjects } from "../../lib/aws/objects.ts";
import { createQueue as queueOn } from "../../lib/aws/queue.ts";
import { createOutbox } from "../../lib/client/outbox.ts";
import { createParkedQueue } from "../../lib/client/parked-queue.ts";
import { rerun } from "../../lib/client/rerun.ts";
import type { Parked, RerunOutside } from "../../lib/client/rerun.ts";
import { readBody } from "../../lib/core/feeds.ts";
import { lanes } from "../../lib/core/lane.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { createMemoryJobTable } from "../../lib/memory/job-table.ts";
import type { MemoryJobTable } from "../../lib/memory/job-table.ts";
import { a, t0 } from "../a.ts";
import { createBucket, createQueue, engineForTests, localClient } from "../contract/engines.ts";

const endpoint = await engineForTests(startFauxqs);
const bucket = await createBucket(endpoint);
const s3 = new S3Client({ ...localClient(endpoint), forcePathStyle: true });
const sqs = new SQSClient({ ...localClient(endpoint), useQueueUrlAsEndpoint: false });

const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
const bodyOf = (facts: object = {}) =>
  JSON.stringify({ jobId: "order-8812-summary", model: "fast-text", op: "converse", params, ...facts });

let jobs: MemoryJobTable;
let parkedQueueUrl: string;
let queueUrls: Record<Lane, string>;
beforeEach(async () => {
  jobs = createMemoryJobTable();
  const urls = await Promise.all(["rt", "bg", "bulk", "parked"].map(() => createQueue(endpoint)));
  const [rt = "", bg = "", bulk = "", parked = ""] = urls;
  queueUrls = { rt, bg, bulk };
  parkedQueueUrl = parked;
});

/** What a worker parked, received by an operator. */
async function park(body: string, facts: { readonly messageId?: string; readonly lane?: Lane } = {}): Promise<Parked> {
  const queue = queueOn(sqs, { queueUrl: "", parkedQueueUrl });
  await queue.park({ messageId: "m-1", lane: "bulk", ...facts, body }, "dead_lettered", "received 200 times");
  return await received();
}

async function received(): Promise<Parked> {
  const [message] = await createParkedQueue(sqs, parkedQueueUrl).receive(0, 0);
  if (message === undefined) throw new Error("nothing is parked");
  return message;
}

async function receive(QueueUrl: string) {
  const about = { MessageAttributeNames: ["All"], MaxNumberOfMessages: 10, VisibilityTimeout: 0 };
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, ...about }));
  return Messages;
}

/** The envelopes that were sent, by lane. */
async function sent() {
  const found: { lane: Lane; envelope: object }[] = [];
  for (const lane of lanes)
    for (const { Body = "" } of await receive(queueUrls[lane])) {
      const read = readBody(Body);
      if (read.kind !== "envelope") throw new Error(`no envelope was sent: ${read.kind}`);
      found.push({ lane, envelope: read.envelope });
    }
  return found;
}

const outside = (facts: Partial<RerunOutside> = {}): RerunOutside => ({
  jobs,
  objects: createObjects(s3, bucket),
  outbox: createOutbox(sqs, s3, queueUrls),
  clock: { nowMs: () => t0 },
  remove: async (ReceiptHandle) => {
    await sqs.send(new DeleteMessageCommand({ QueueUrl: parkedQueueUrl, ReceiptHandle }));
  },
  bucket,
  ...facts,
});

const answered = () => jobs.put(a.row({ state: "ended", reply: '{"ok":false}' }));
const reruns = async () => (await jobs.read("order-8812-summary"))?.reruns;

describe("a parked message that is run again", () => {
  test("is sent to its lane under a new jobId that the old row names, and leaves the parked queue", async () => {
    answered();
    const parked = await park(bodyOf({ lane: "bulk", metadata: { order: "8812" }, deadlineAt: t0 - 1 }));
    expect(await rerun(parked, outside())).toEqual({
      jobId: "order-8812-summary~2",
      was: "order-8812-summary",
      lane: "bulk",
    });
    const envelope = a.envelope({ jobId: "order-8812-summary~2", lane: "bulk", metadata: { order: "8812" } });
    expect(await sent()).toEqual([{ lane: "bulk", envelope }]);
    expect(await jobs.read("order-8812-summary")).toMatchObject({
      reply: '{"ok":false}',
      reruns: { "m-1": "order-8812-summary~2" },
    });
    expect(await receive(parkedQueueUrl)).toEqual([]);
  });

  test("keeps a deadline that is still ahead", async () => {
    answered();
    await rerun(await park(bodyOf({ deadlineAt: t0 + 60_000 })), outside());
    expect(await sent()).toMatchObject([{ envelope: { deadlineAtMs: t0 + 60_000 } }]);
  });

  test("goes to the lane that it was parked by, which its job may have lowered", async () => {
    answered();
    await rerun(await park(bodyOf({ lane: "bulk" }), { lane: "rt" }), outside());
    expect(await sent()).toMatchObject([{ lane: "rt", envelope: { lane: "bulk" } }]);
  });

  test("goes to the lane that the job names where the parked message names none, else to bg", async () => {
    answered();
    for (const facts of [{ lane: "rt" }, {}]) {
      await sqs.send(new SendMessageCommand({ QueueUrl: parkedQueueUrl, MessageBody: bodyOf(facts) }));
      await rerun(await received(), outside());
    }
    expect((await sent()).map(({ lane }) => lane)).toEqual(["rt", "bg"]);
  });

  test("is unwrapped: whatever service sent it, an envelope goes out", async () => {
    answered();
    await rerun(await park(JSON.stringify({ Type: "Notification", Message: bodyOf() })), outside());
    expect(await sent()).toMatchObject([{ envelope: { jobId: "order-8812-summary~2", model: "fast-text" } }]);
  });

  test("that points to S3 is read there, and big params go there again", async () => {
    answered();
    const text = "word ".repeat(200_000);
    const body = bodyOf({ params: { messages: [{ role: "user", content: [{ text }] }] } });
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "jobs/1.json", Body: body }));
    const detail = { bucket: { name: bucket }, object: { key: "jobs/1.json" } };
    const event = { source: "aws.s3", "detail-type": "Object Created", detail };
    await rerun(await park(JSON.stringify(event)), outside());
    expect(await sent()).toMatchObject([{ envelope: { params: { kind: "ref", bucket } } }]);
  });

  test("runs under the next id each time that it comes back", async () => {
    answered();
    await rerun(await park(bodyOf()), outside());
    jobs.put(a.row({ jobId: "order-8812-summary~2", state: "ended", reply: '{"ok":false}' }));
    const again = await park(bodyOf({ jobId: "order-8812-summary~2" }), { messageId: "m-2" });
    expect(await rerun(again, outside())).toMatchObject({ jobId: "order-8812-summary~3" });
    expect(await jobs.read("order-8812-summary~2")).toMatchObject({ reruns: { "m-2": "order-8812-summary~3" } });
  });

  test("gets an id of its own beside another message of the same jobId, and beside a sender's own ids", async () => {
    answered();
    jobs.put(a.row({ jobId: "order-8812-summary~3" }));
    await rerun(await park(bodyOf()), outside());
    const other = await park(bodyOf({ operation: "summarise" }), { messageId: "m-2" });
    expect(await rerun(other, outside())).toMatchObject({ jobId: "order-8812-summary~4" });
    expect(await reruns()).toEqual({ "m-1": "order-8812-summary~2", "m-2": "order-8812-summary~4" });
  });

  test("of a job whose row has gone runs under the first new id, and makes no row", async () => {
    expect(await rerun(await park(bodyOf()), outside())).toMatchObject({ jobId: "order-8812-summary~2" });
    expect(jobs.rows()).toEqual([]);
  });
});

describe("whatever dies in between", () => {
  const dying = () => Promise.reject(new Error("died"));

  /** Somebody else runs a message again after we have read the row and before we write to it. */
  function overtakenBy(other: Parked): RerunOutside {
    let isFirst = true;
    const noteRerun: MemoryJobTable["noteRerun"] = async (...args) => {
      if (isFirst) await rerun(other, outside());
      isFirst = false;
      return jobs.noteRerun(...args);
    };
    return outside({ jobs: { ...jobs, noteRerun } });
  }

  test.each<[after: string, facts: () => Partial<RerunOutside>]>([
    ["the row names the new job", () => ({ outbox: { ...outside().outbox, send: dying } })],
    ["the new job is sent", () => ({ remove: dying })],
  ])("after %s, the next try sends the same id", async (_after, facts) => {
    answered();
    const parked = await park(bodyOf());
    await expect(rerun(parked, outside(facts()))).rejects.toThrow("died");
    expect(await rerun(parked, outside())).toMatchObject({ jobId: "order-8812-summary~2" });
    const ids = (await sent()).map(({ envelope }) => (envelope as { jobId: string }).jobId);
    expect(new Set(ids)).toEqual(new Set(["order-8812-summary~2"]));
    expect(await receive(parkedQueueUrl)).toEqual([]);
  });

  test("before the row names the new job, nothing is sent and the message stays", async () => {
    answered();
    const parked = await park(bodyOf());
    await expect(rerun(parked, outside({ jobs: { ...jobs, noteRerun: dying } }))).rejects.toThrow("died");
    expect(await sent()).toEqual([]);
    expect(await receive(parkedQueueUrl)).toHaveLength(1);
  });

  test("two who run the same message again send one job, whoever is faster", async () => {
    answered();
    const parked = await park(bodyOf());
    expect(await rerun(parked, overtakenBy(parked))).toMatchObject({ jobId: "order-8812-summary~2" });
    expect(await reruns()).toEqual({ "m-1": "order-8812-summary~2" });
  });

  test("two who run two messages of one jobId again send two jobs", async () => {
    answered();
    const [first, second] = [await park(bodyOf()), { ...(await park(bodyOf())), messageId: "m-2" }];
    expect(await rerun(first, overtakenBy(second))).toMatchObject({ jobId: "order-8812-summary~3" });
  });

  test("a row that never stands still is given up, with a word, and nothing is sent", async () => {
    answered();
    const never = { ...jobs, noteRerun: async () => false };
    await expect(rerun(await park(bodyOf()), outside({ jobs: never }))).rejects.toThrow("try once more");
    expect(await sent()).toEqual([]);
  });
});

describe("a parked message that cannot be run again", () => {
  const long = "x".repeat(127);
  test.each([
    ["is no envelope", "no envelope", "body", /not JSON/],
    ["has a fault", bodyOf({ lan: "rt" }), "lan", /did you mean lane/],
    ["asks for nothing", JSON.stringify({ Service: "Amazon S3", Event: "s3:TestEvent" }), "body", /delete the message/],
    ["names an object that is gone", JSON.stringify(pointerTo("nowhere")), "body", /send the job itself/],
    ["leaves no room for a new id", bodyOf({ jobId: long }), "jobId", /under a shorter id/],
  ])("because it %s says so, and stays parked", async (_why, body, field, says) => {
    const refused = rerun(await park(body), outside());
    await expect(refused).rejects.toMatchObject({ name: "RerunRefused", field, message: expect.stringMatching(says) });
    expect(await sent()).toEqual([]);
    expect(await receive(parkedQueueUrl)).toHaveLength(1);
  });
});

function pointerTo(key: string): object {
  return { source: "aws.s3", "detail-type": "Object Created", detail: { bucket: { name: bucket }, object: { key } } };
}

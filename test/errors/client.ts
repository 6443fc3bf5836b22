import { callNowOn, CallFailed } from "../../lib/call-now/call-now.ts";
import { createCallNow } from "../../lib/call-now/index.ts";
import { cancel } from "../../lib/client/cancel.ts";
import { forget } from "../../lib/client/forget.ts";
import { createClient } from "../../lib/client/index.ts";
import { checked } from "../../lib/client/meant.ts";
import { prepare } from "../../lib/client/message.ts";
import { outputPlaceOf } from "../../lib/core/s3-place.ts";
import { readJobs } from "../../lib/client/read-jobs.ts";
import { rerun } from "../../lib/client/rerun.ts";
import type { RerunOutside } from "../../lib/client/rerun.ts";
import { createMemoryJobTable } from "../../lib/memory/job-table.ts";
import { createMemoryObjects } from "../../lib/memory/objects.ts";
import { createMemoryWorld } from "../../lib/memory/world.ts";
import written from "../../infra/sluice.config.ts";
import { createTestClient } from "../../lib/testing/index.ts";
import { a, t0 } from "../a.ts";
import { config } from "../worker/a-service.ts";
import type { Entry, Group } from "./entry.ts";
import { thrownBy } from "./entry.ts";

const job = { jobId: "order-8812-summary", model: "fast", op: "converse", params: { messages: [] } };
const saying = (value: unknown) => ({ ...job, params: { additionalModelRequestFields: { seed: value } } });

/** What is wrong with a job before it is sent. */
function refusal(given: unknown): string {
  const prepared = prepare(given, undefined);
  if (prepared.kind !== "refused") throw new Error("the job is not refused");
  return prepared.fault.message;
}

function nested(levels: number): object {
  return levels === 0 ? {} : { inside: nested(levels - 1) };
}

function looped(): object {
  const node: { parent?: object } = {};
  node.parent = node;
  return node;
}

const submitted: readonly [when: string, job: unknown, remedy?: string][] = [
  ["", saying(Number.NaN)],
  ["", saying(7n)],
  ["", saying(() => 7)],
  ["A map, a set, a promise that nobody awaited.", saying(new Map())],
  ["", saying(new Date("tomorrow"))],
  ["A tree whose nodes know their parents, an object of a database's library.", saying(looped())],
  ["", saying(nested(300))],
  ["Big params, and a client that has no bucket for them.", { ...job, params: { text: "x".repeat(900_000) } }],
  ["More than any model takes.", { ...job, params: { text: "x".repeat(33_554_432) } }],
  [
    "An envelope that is big beside its params.",
    { ...job, fallback: Array.from({ length: 20_000 }, () => "x".repeat(64)) },
  ],
];

/** What is wrong with a line of a file of jobs. */
async function lineFault(line: string | Uint8Array): Promise<string> {
  async function* chunks() {
    yield typeof line === "string" ? new TextEncoder().encode(line) : line;
  }
  for await (const read of readJobs(chunks())) if (read.kind === "fault") return read.fault.message;
  throw new Error("the line has no fault");
}

const lost = async () => ({ kind: "lost", row: undefined }) as const;

/** A table whose row is another's at every write, as long as it is tried. */
function restless(row: Parameters<typeof a.row>[0] = {}) {
  const read = async (jobId: string) => (jobId === job.jobId ? a.row(row) : undefined);
  return { ...createMemoryJobTable(), read, forget: lost, replyUnlessRunning: lost, noteRerun: async () => false };
}

const clock = { nowMs: () => t0 };

/** Runs a parked body again. */
function rerunOf(body: unknown, outside: Partial<RerunOutside> = {}): Promise<string> {
  const parked = { receiptHandle: "r-1", messageId: "m-1", body: JSON.stringify(body) };
  const outbox = { send: async () => {}, sendMany: async () => [], upload: async () => {} };
  const jobs = createMemoryJobTable();
  const whole = { jobs, objects: createMemoryObjects(), outbox, clock, remove: async () => {}, ...outside };
  return thrownBy(() => rerun(parked, whole));
}

const pointer = {
  Records: [{ eventName: "ObjectCreated:Put", s3: { bucket: { name: "prompts" }, object: { key: "k" } } }],
};

const afterwards: readonly Entry[] = [
  ["Something else than the id was given.", () => thrownBy(() => checked("order 8812"))],
  ["Nothing was given.", () => thrownBy(() => Reflect.apply(checked, undefined, [undefined]))],
  [
    "Others wrote the job's row at the same moments, again and again.",
    () =>
      thrownBy(() =>
        cancel(
          "order-8812-summary",
          restless({ heldUntilMs: 0 }),
          { ...createMemoryWorld({ startMs: t0, lane: "bg" }).clock },
          7,
        ),
      ),
  ],
  [
    "The same, or its worker is of a newer version than this client.",
    () =>
      thrownBy(() => forget("order-8812-summary", restless({ reply: "{}" }), { removeOutput: async () => {} }, clock)),
  ],
  [
    "A row that something else than Sluice wrote to.",
    () =>
      thrownBy(() =>
        forget("order-8812-summary", restless({ reply: "succeeded" }), { removeOutput: async () => {} }, clock),
      ),
  ],
  [
    "A reply whose output lies where Sluice puts none.",
    () => thrownBy(() => outputPlaceOf("s3://elsewhere/answer.json")),
  ],
];

const rerunning: readonly Entry[] = [
  ["A test event of S3.", () => rerunOf({ Service: "Amazon S3", Event: "s3:TestEvent" })],
  ["What it pointed to is gone.", () => rerunOf(pointer)],
  ["A jobId of 127 or 128 characters.", () => rerunOf({ ...job, jobId: "x".repeat(128) })],
  ["Several operators at once, or many messages of one job.", () => rerunOf(job, { jobs: restless() })],
];

/** A call in this process, and what of it throws. */
function callOf(facts: object): Promise<string> {
  const call = callNowOn(createMemoryWorld({ startMs: t0, lane: "rt" }), config, "here");
  return thrownBy(() => Reflect.apply(call, undefined, [{ ...job, ...facts }]));
}

const calls: readonly Entry[] = [
  ["", () => callOf({ params: undefined, paramsRef: "s3://prompts/job.json" })],
  ["", () => callOf({ replyTo: { eventBus: "default" } })],
  ["", () => callOf({ model: "clever" })],
  [
    "DynamoDB, or what a request needs before it reaches Bedrock, is not there.",
    async () => new CallFailed("order-8812-summary", "ResourceNotFoundException").message,
  ],
];

/** What a test's own answer makes of its client. */
function tested(): Promise<string> {
  const client = createTestClient({ answer: () => [], startMs: t0 });
  return thrownBy(async () => {
    const jobId = await client.submit({ jobId: job.jobId, model: "fast", op: "converse", params: { messages: [] } });
    await client.waitForReply(jobId);
  });
}

const queueUrls = { rt: "https://rt", bg: "https://bg", bulk: "https://bulk" };

export const clientErrors: readonly Group[] = [
  {
    title: "createClient and createCallNow",
    about: "A `TypeError` as the client is made: mostly a variable that nobody has set.",
    entries: [
      ["", () => thrownBy(() => createClient({ queueUrls, jobTable: "" }))],
      ["", () => thrownBy(() => createClient({ queueUrls: { ...queueUrls, bg: "" }, jobTable: "jobs" }))],
      ["", () => thrownBy(() => createCallNow({ config: written, leaseTable: "" }))],
    ],
  },
  {
    title: "submit and submitBatch",
    about:
      "`submit` throws it as a `JobRefused`, `submitBatch` answers it as `refused`; nothing was sent. Faults of [the envelope](#a-jobs-envelope) are told in the same way. What AWS refuses comes as the SDK's own error, or as `failed` with its name: send again, the jobId sees to it that nothing runs twice.",
    entries: submitted.map(([when, given, ...remedy]): Entry => [when, () => refusal(given), ...remedy]),
  },
  {
    title: "A file of jobs",
    about:
      "One line of a JSONL file, told with its number; the others are read. Faults of [the envelope](#a-jobs-envelope) are told in the same way.",
    entries: [
      ["", () => lineFault(Uint8Array.of(0xff))],
      ["", () => lineFault("[]")],
      ["A file without line feeds, or one big array.", () => lineFault(new Uint8Array(68_000_000))],
      ["Often a job over several lines.", () => lineFault("{")],
    ],
  },
  {
    title: "waitForReply and replies, cancel and forget",
    about: "Errors of the call; the job is as it was. Of an id that no job can have they are a `JobRefused`.",
    entries: afterwards,
  },
  {
    title: "Running a parked message again",
    about:
      "A `RerunRefused`: nothing was sent, and the message stays parked. Faults of [the envelope](#a-jobs-envelope) are told in the same way.",
    entries: rerunning,
  },
  {
    title: "callNow",
    about:
      "A `JobRefused` before anything is asked, beside the faults of [the envelope](#a-jobs-envelope); or a `CallFailed`, which has no reply.",
    entries: calls,
  },
  {
    title: "The test client",
    about: "Of `lib/testing`, beside a config that [cannot be used](#the-config) and what `answer` itself throws.",
    entries: [["", tested]],
  },
];

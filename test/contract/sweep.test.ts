/** The sweeper's side of the job table: its sparse index, what puts a row into it and what takes it out. */
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import { noProgress, verdict } from "../../lib/core/claim.ts";
import type { Claim, ClaimAsk } from "../../lib/core/claim.ts";
import { sweepLateMs } from "../../lib/core/limits.ts";
import type { ReplyTo } from "../../lib/core/reply-to.ts";
import { sweepShardOf } from "../../lib/core/sweep.ts";
import type { Due } from "../../lib/core/sweep.ts";
import type { CompleteAsk, GiveBackAsk } from "../../lib/ports.ts";
import { a, t0 } from "../a.ts";
import { dynamoEngines, engineForTests } from "./engines.ts";
import { claimOn, dynamoBench, jobTables } from "./job-table.ts";

const lateAtMs = t0 + 3_600_000 + sweepLateMs;
const stage = { stage: "requeued until 12:00:06", stageAtMs: t0 };
const back: GiveBackAsk = { nowMs: t0, notBeforeMs: t0 + 6_000, progress: noProgress, stage };
const end: CompleteAsk = {
  nowMs: t0,
  reply: '{"ok":true}',
  status: "succeeded",
  ttlS: t0 / 1_000 + 604_800,
  progress: noProgress,
};
const toQueue: ReplyTo = { kind: "sqs", queueUrl: "https://sqs.us-west-2.amazonaws.com/1/done" };
const toToken: ReplyTo = { kind: "taskToken", token: "AAAA/+=", heartbeatSeconds: 60 };

describe.each(jobTables)("the sweeper's index %s", async (_name, open) => {
  const { jobs, loseNextAnswer } = await open();

  let jobId = "";
  let ids = 0;
  beforeEach(() => {
    jobId = `job-${++ids}`;
  });

  async function claimed(facts: Partial<ClaimAsk> = {}): Promise<Claim> {
    const answer = await jobs.claim(a.claimAsk({ jobId, ...facts }));
    if (answer.kind === "refused") throw new Error("the claim was refused");
    return claimOn(answer.row);
  }
  async function requeued(facts: Partial<GiveBackAsk> = {}): Promise<void> {
    await jobs.giveBack(await claimed(), { ...back, ...facts });
  }
  /** The entry of this job, among all those of its shard that are due before then. */
  async function due(beforeMs = Number.MAX_SAFE_INTEGER): Promise<Due | undefined> {
    for (let after: Due | undefined; ;) {
      const page = await jobs.readDue(sweepShardOf(jobId), beforeMs, after);
      const mine = page.due.find((entry) => entry.jobId === jobId);
      if (mine !== undefined || page.next === undefined) return mine;
      after = page.next;
    }
  }
  async function dueNow(): Promise<Due> {
    const entry = await due();
    if (entry === undefined) throw new Error("the row is not in the index");
    return entry;
  }

  test("holds no job that ends in its first delivery, at any time of its life", async () => {
    const mine = await claimed();
    expect(await due()).toBeUndefined();
    await jobs.complete(mine, end);
    expect(await due()).toBeUndefined();
  });

  test("holds a job that was handed back, from a quarter of an hour past its deadline on", async () => {
    await requeued();
    expect(await due(lateAtMs)).toBeUndefined();
    expect(await due(lateAtMs + 1)).toEqual({ jobId, sweepAtMs: lateAtMs });
    expect(await jobs.read(jobId)).toMatchObject({ sweepAtMs: lateAtMs });
  });

  test("holds a job whose model nobody knew", async () => {
    await jobs.countRelease({ ...a.claimAsk({ jobId }), replyTo: toQueue });
    expect(await due()).toEqual({ jobId, sweepAtMs: lateAtMs });
    expect(await jobs.read(jobId)).toMatchObject({ replyTo: toQueue });
  });

  test("knows who waits for the reply of a job that was handed back, by the last message that said so", async () => {
    await requeued({ replyTo: toQueue });
    await jobs.giveBack(await claimed({ holder: "holder-2", nowMs: t0 + 6_000 }), { ...back, replyTo: toToken });
    await jobs.giveBack(await claimed({ holder: "holder-3", nowMs: t0 + 12_000 }), back);
    expect(await jobs.read(jobId)).toMatchObject({ replyTo: toToken });
  });

  test("lets go of a job that has its reply, whoever wrote it, and of whom it was for", async () => {
    await requeued({ replyTo: toQueue });
    await jobs.complete(await claimed({ holder: "holder-2", nowMs: t0 + 6_000 }), end);
    expect(await due()).toBeUndefined();
    expect(await jobs.read(jobId)).not.toHaveProperty("replyTo");

    jobId = `${jobId}-by-the-replies-queue`;
    await requeued({ replyTo: toQueue });
    await jobs.storeReply(jobId, { ...end, contentHash: "h-1" });
    expect(await due()).toBeUndefined();
  });

  test("keeps a cancelled job: its message alone would tell who waits, and may be lost", async () => {
    await requeued({ replyTo: toQueue });
    await jobs.replyUnlessRunning(jobId, { ...end, status: "cancelled" });
    expect(await due()).toEqual({ jobId, sweepAtMs: lateAtMs });
    expect(await jobs.read(jobId)).toMatchObject({ replyTo: toQueue });
  });

  test("takes a reply together with who is still to be told of it", async () => {
    await requeued({ replyTo: toQueue });
    const mine = await claimed({ holder: "holder-2", nowMs: t0 + 6_000 });
    loseNextAnswer();
    expect(await jobs.complete(mine, { ...end, owed: { to: toQueue, dueMs: t0 + 9 } })).toEqual({ kind: "stored" });
    expect(await due()).toEqual({ jobId, sweepAtMs: t0 + 9 });
    expect(await jobs.read(jobId)).toMatchObject({ reply: end.reply, announced: [], unannounced: [toQueue] });
  });

  test("holds a job whose reply could not be announced, from then on", async () => {
    await jobs.complete(await claimed(), end);
    await jobs.deferAnnouncement(jobId, toQueue, t0 + 9);
    expect(await due(t0 + 9)).toBeUndefined();
    expect(await due(t0 + 10)).toEqual({ jobId, sweepAtMs: t0 + 9 });
  });

  test("counts how often the sweeper told nobody, and begins anew for another who waits", async () => {
    await jobs.complete(await claimed(), end);
    await jobs.deferAnnouncement(jobId, toQueue, t0 + 9);
    await jobs.sweepAgain(await dueNow(), t0 + 10);
    await jobs.sweepAgain(await dueNow(), t0 + 20);
    expect(await due()).toEqual({ jobId, sweepAtMs: t0 + 20 });
    expect(await jobs.read(jobId)).toMatchObject({ sweeps: 2 });
    await jobs.deferAnnouncement(jobId, toToken, t0 + 30);
    expect(await jobs.read(jobId)).not.toHaveProperty("sweeps");
  });

  test("lets go of a job that was swept, and leaves the reply as it is", async () => {
    await jobs.complete(await claimed(), end);
    await jobs.deferAnnouncement(jobId, toQueue, t0 + 9);
    await jobs.markAnnounced(jobId, toQueue);
    loseNextAnswer();
    await jobs.swept(await dueNow());
    expect(await due()).toBeUndefined();
    expect(await jobs.read(jobId)).toMatchObject({ reply: end.reply, announced: [toQueue] });
  });

  test("obeys whoever put the row in anew while the sweeper was at it", async () => {
    await jobs.complete(await claimed(), end);
    await jobs.deferAnnouncement(jobId, toQueue, t0 + 9);
    const seen = await dueNow();
    await jobs.deferAnnouncement(jobId, toToken, t0 + 30);
    await jobs.swept(seen);
    await jobs.sweepAgain(seen, t0 + 40);
    expect(await due()).toEqual({ jobId, sweepAtMs: t0 + 30 });
  });

  test("makes no row of a job whose row has gone", async () => {
    const gone = { jobId, sweepAtMs: t0 };
    await jobs.swept(gone);
    await jobs.sweepAgain(gone, t0 + 1);
    expect(await jobs.noteRerun(jobId, undefined, { "m-1": `${jobId}~2` })).toBe(false);
    expect(await jobs.read(jobId)).toBeUndefined();
  });

  test("is read page by page, the longest due first, each entry once", async () => {
    const all = Array.from({ length: 2_000 }, (_, index) => `page-${index}`);
    const shard = sweepShardOf("page-0");
    const mine = all.filter((id) => sweepShardOf(id) === shard).slice(0, 107);
    const sent = mine.map(async (id, index) =>
      jobs.countRelease(a.claimAsk({ jobId: id, deadlineAtMs: t0 - sweepLateMs - 10 * Math.floor(index / 2) })),
    );
    await Promise.all(sent);
    const read: Due[] = [];
    for (let after: Due | undefined; ;) {
      const page = await jobs.readDue(shard, t0 + 1, after);
      read.push(...page.due);
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(read.map((entry) => entry.jobId).toSorted()).toEqual(mine.toSorted());
    const times = read.map(({ sweepAtMs }) => sweepAtMs);
    expect(times).toEqual(times.toSorted((x, y) => x - y));
  });

  describe("a claim that does not wait for the requeue's delay", () => {
    const early = () => a.claimAsk({ jobId, holder: "holder-2", nowMs: t0 + 1_000, early: true });

    test("is taken before the delay has passed", async () => {
      await requeued();
      const ask = { ...early(), early: false };
      expect(verdict(await jobs.claim(ask), ask, ask.nowMs)).toMatchObject({ kind: "not-yet" });
      expect(verdict(await jobs.claim(early()), early(), t0)).toMatchObject({ kind: "run", claim: { fence: 2 } });
    });

    test("waits for all the rest: another holder, a reply, another content", async () => {
      const mine = await claimed();
      expect(verdict(await jobs.claim(early()), early(), t0)).toMatchObject({ kind: "held" });
      const other = { ...early(), contentHash: "h-2" };
      expect(verdict(await jobs.claim(other), other, t0)).toMatchObject({ kind: "conflict" });
      await jobs.complete(mine, end);
      expect(verdict(await jobs.claim(early()), early(), t0)).toMatchObject({ kind: "done" });
    });
  });

  describe("a rerun of a parked message", () => {
    test("is named by the old row, one after the other, and is not written twice", async () => {
      await jobs.complete(await claimed(), end);
      const first = { "m-1": `${jobId}~2` };
      expect(await jobs.noteRerun(jobId, undefined, first)).toBe(true);
      expect(await jobs.noteRerun(jobId, undefined, { "m-2": `${jobId}~2` })).toBe(false);
      const both = { ...first, "m-2": `${jobId}~3` };
      expect(await jobs.noteRerun(jobId, first, both)).toBe(true);
      expect(await jobs.noteRerun(jobId, first, { ...first, "m-3": `${jobId}~3` })).toBe(false);
      expect(await jobs.read(jobId)).toMatchObject({ reruns: both, reply: end.reply });
    });
  });
});

describe.each(dynamoEngines)("a row on %s", async (_name, start) => {
  const { jobs, client, table } = await dynamoBench(await engineForTests(start));

  test("of a job that ends in its first delivery never carries an attribute of the sweeper's", async () => {
    const answer = await jobs.claim(a.claimAsk({ jobId: "job" }));
    if (answer.kind === "taken") await jobs.complete(claimOn(answer.row), end);
    const { Item = {} } = await client.send(new GetItemCommand({ TableName: table, Key: { jobId: { S: "job" } } }));
    expect(Item["reply"]).toEqual({ S: end.reply });
    expect(Object.keys(Item).filter((name) => /sweep|replyTo|nnounced|reruns/.test(name))).toEqual([]);
  });
});

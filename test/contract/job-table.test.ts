import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { afterStoreReply, noProgress, releaseVerdict, verdict } from "../../lib/core/claim.ts";
import type { Claim, ClaimAsk } from "../../lib/core/claim.ts";
import { claimGraceMs, holdMs, sweepLateMs } from "../../lib/core/limits.ts";
import type { ReplyTo } from "../../lib/core/reply-to.ts";
import type { CompleteAsk, GiveBackAsk } from "../../lib/ports.ts";
import { a, t0 } from "../a.ts";
import { dynamoEngines, engineForTests } from "./engines.ts";
import { claimOn, dynamoBench, jobTables, readsAfterRefusal } from "./job-table.ts";

const lapsesAtMs = t0 + holdMs + claimGraceMs;
const giveBackAsk: GiveBackAsk = {
  nowMs: t0 + 1_000,
  notBeforeMs: t0 + 6_000,
  progress: { ...noProgress, attempts: 2, requeues: 1, usage: { ...noProgress.usage, inputTokens: 12 } },
  stage: { stage: "requeued until 12:00:06", stageAtMs: t0 + 1_000, step: "fast-text@us-west-2" },
};
const completeAsk: CompleteAsk = {
  nowMs: t0 + 2_000,
  reply: '{"ok":true}',
  status: "succeeded",
  ttlS: t0 / 1_000 + 604_800,
  progress: { ...noProgress, attempts: 1 },
};
const unclaimedAsk = { ...completeAsk, contentHash: "of-the-damaged-body" };
const heartbeat = {
  nowMs: t0 + 10_000,
  heldUntilMs: t0 + 40_000,
  stage: { stage: "attempt=1/4", stageAtMs: t0 + 500 },
};
const unstored = { ...completeAsk, contentHash: "h-1" };
const toQueue: ReplyTo = { kind: "sqs", queueUrl: "https://sqs.us-west-2.amazonaws.com/1/done" };
const toToken: ReplyTo = { kind: "taskToken", token: "AAAA/+=", heartbeatSeconds: 60 };
const cancelReply = { ...completeAsk, reply: '{"ok":false,"status":"cancelled"}', status: "cancelled" };

describe.each(jobTables)("the job table %s", async (name, open) => {
  const { jobs, put, loseNextAnswer, sent } = await open();

  let jobId = "";
  let ids = 0;
  beforeEach(() => {
    jobId = `job-${++ids}`;
    sent();
  });

  const ask = (facts: Partial<ClaimAsk> = {}) => a.claimAsk({ jobId, ...facts });
  const releaseAsk = (nowMs = t0) => ask({ nowMs });
  const wire = async (act: () => Promise<unknown>) => {
    sent();
    await act();
    return sent();
  };
  const claim = async (facts: Partial<ClaimAsk> = {}) =>
    verdict(await jobs.claim(ask(facts)), ask(facts), facts.nowMs ?? t0);
  async function claimed(facts: Partial<ClaimAsk> = {}): Promise<Claim> {
    const says = await claim(facts);
    if (says.kind !== "run") throw new Error(`the claim is not to be run: ${says.kind}`);
    return says.claim;
  }
  async function overtaken(): Promise<Claim> {
    const zombie = await claimed();
    await claimed({ holder: "holder-2", nowMs: lapsesAtMs + 1 });
    return zombie;
  }

  describe("a claim", () => {
    test("makes the row of a job that nobody has seen", async () => {
      const answer = await jobs.claim(ask());
      expect(answer).toEqual({ kind: "taken", row: a.row({ jobId }) });
      expect(await jobs.read(jobId)).toEqual(answer.row);
    });

    test("has one winner of 64, and shows the others who won", async () => {
      const asks = Array.from({ length: 64 }, (_, index) =>
        ask({ holder: `holder-${index}`, heldUntilMs: t0 + holdMs + index }),
      );
      const answers = await Promise.all(asks.map((each) => jobs.claim(each)));
      const winners = answers.filter(({ kind }) => kind === "taken");
      expect(winners).toHaveLength(1);
      expect(new Set(answers.map(({ row }) => row?.holder))).toEqual(new Set([winners[0]?.row?.holder]));
      expect(new Set(answers.map(({ row }) => row?.fence))).toEqual(new Set([1]));
    });

    test("is held until its end and 2 s more, to the millisecond", async () => {
      await claimed();
      expect(await claim({ holder: "holder-2", nowMs: lapsesAtMs })).toEqual({
        kind: "held",
        heldUntilMs: t0 + holdMs,
      });
      const thief = await claimed({ holder: "holder-2", nowMs: lapsesAtMs + 1 });
      expect(thief.fence).toBe(2);
    });

    test("after a crash tells where the job was", async () => {
      const crashed = await claimed();
      await jobs.extend(crashed, { ...heartbeat, stage: { ...heartbeat.stage, step: "fast-text@us-west-2" } });
      expect(await claim({ holder: "holder-2", nowMs: t0 + 42_001 })).toMatchObject({
        kind: "run",
        crashes: 1,
        row: { stage: "waiting", stageBefore: "attempt=1/4", step: "fast-text@us-west-2", startedAtMs: t0 },
      });
    });

    test("once given back waits until its time has come, and goes to the next with the next fence", async () => {
      await jobs.giveBack(await claimed(), giveBackAsk);
      expect(await claim({ holder: "holder-2", nowMs: t0 + 5_999 })).toEqual({
        kind: "not-yet",
        notBeforeMs: t0 + 6_000,
      });
      expect(await claim({ holder: "holder-2", nowMs: t0 + 6_000 })).toMatchObject({
        kind: "run",
        claim: { fence: 2 },
        crashes: 0,
        row: { ...giveBackAsk.progress, givenBack: 1 },
      });
    });

    test("that ends no later than one before is a late copy and changes nothing", async () => {
      await jobs.giveBack(await claimed(), { ...giveBackAsk, notBeforeMs: t0 });
      const before = await jobs.read(jobId);
      expect(await claim()).toEqual({ kind: "again", why: "late-copy" });
      expect(await jobs.read(jobId)).toEqual(before);
    });

    test("keeps the first enqueueing and takes the last deadline", async () => {
      await jobs.giveBack(await claimed(), giveBackAsk);
      const later = { nowMs: t0 + 6_000, enqueuedAtMs: t0 + 5_000, deadlineAtMs: t0 + 7_000_000 };
      expect(await claim(later)).toMatchObject({
        row: { enqueuedAtMs: t0, startedAtMs: t0, deadlineAtMs: t0 + 7_000_000 },
      });
    });

    test("of other content under the same jobId is a conflict, whatever the row's state", async () => {
      const other = { contentHash: "h-2", nowMs: lapsesAtMs + 1 };
      const first = await claimed();
      expect(await claim(other)).toEqual({ kind: "conflict" });
      await jobs.complete(first, completeAsk);
      expect(await claim(other)).toEqual({ kind: "conflict" });
    });

    test("leaves a row of a newer format alone, as a release and a cancel do", async () => {
      await put({ jobId, format: 2, state: "queued" });
      const before = await jobs.read(jobId);
      expect(await claim()).toEqual({ kind: "newer", format: 2 });
      expect(releaseVerdict(await jobs.countRelease(releaseAsk()), releaseAsk())).toEqual({ kind: "newer", format: 2 });
      expect(await jobs.replyUnlessRunning(jobId, cancelReply)).toEqual({ kind: "lost", row: before });
      expect(await jobs.read(jobId)).toEqual(before);
    });

    test("never takes a running row that does not say until when it is held", async () => {
      await put({ jobId, format: 1, state: "running", holder: "holder-0", fence: 1 });
      expect(await claim({ nowMs: t0 + 365 * 86_400_000 })).toEqual({ kind: "held" });
    });

    test("takes a row of an older format", async () => {
      await put({ jobId, state: "queued", fence: 3, givenBack: 3 });
      expect(await claim()).toMatchObject({ kind: "run", claim: { fence: 4 }, crashes: 0, row: { format: 1 } });
    });

    test("whose answer was lost is found to be ours", async () => {
      loseNextAnswer();
      expect(await claim()).toMatchObject({ kind: "run", claim: { holder: "holder-1", fence: 1 }, crashes: 0 });
    });
  });

  describe("the holder", () => {
    test("extends the claim, with the stage", async () => {
      const mine = await claimed();
      const row = a.row({ jobId, heldUntilMs: t0 + 40_000, stage: "attempt=1/4", stageAtMs: t0 + 500 });
      expect(await jobs.extend(mine, heartbeat)).toEqual({ kind: "owned", row });
      expect(await jobs.read(jobId)).toEqual(row);
    });

    test("never shortens the claim, and is told that it is still its own", async () => {
      const mine = await claimed();
      const shorter = { ...heartbeat, heldUntilMs: t0 + 1 };
      expect(await jobs.extend(mine, shorter)).toEqual({ kind: "owned", row: a.row({ jobId }) });
    });

    test("gives back with progress, holder, fence and end kept", async () => {
      const mine = await claimed();
      const row = a.row({
        ...giveBackAsk.progress,
        ...giveBackAsk.stage,
        jobId,
        state: "queued",
        givenBack: 1,
        notBeforeMs: t0 + 6_000,
        sweepAtMs: t0 + 3_600_000 + sweepLateMs,
      });
      expect(await jobs.giveBack(mine, giveBackAsk)).toEqual({ kind: "owned", row });
      expect(await jobs.read(jobId)).toEqual(row);
    });

    test("stores the reply and ends the job in one write", async () => {
      const mine = await claimed();
      expect(await jobs.complete(mine, completeAsk)).toEqual({ kind: "stored" });
      expect(await jobs.read(jobId)).toEqual(
        a.row({
          jobId,
          attempts: 1,
          state: "ended",
          reply: '{"ok":true}',
          stage: "succeeded",
          stageAtMs: t0 + 2_000,
        }),
      );
      expect(await claim({ holder: "holder-2", nowMs: lapsesAtMs + 1 })).toMatchObject({
        kind: "done",
        row: { reply: '{"ok":true}' },
      });
    });

    test("is believed when an answer to it was lost", async () => {
      const mine = await claimed();
      loseNextAnswer();
      expect(await jobs.extend(mine, heartbeat)).toMatchObject({ kind: "owned" });
      loseNextAnswer();
      expect(await jobs.giveBack(mine, giveBackAsk)).toMatchObject({ kind: "owned", row: { givenBack: 1 } });
      const again = await claimed({ holder: "holder-2", nowMs: t0 + 11_000 });
      loseNextAnswer();
      expect(await jobs.complete(again, completeAsk)).toEqual({ kind: "stored" });
    });

    test("loses no reply to what is no number", async () => {
      const mine = await claimed();
      const progress = { ...noProgress, sleptMs: Number.NaN, providerMs: Infinity, leaseWaitMs: -0.4 };
      expect(await jobs.complete(mine, { ...completeAsk, progress })).toEqual({ kind: "stored" });
      expect(await jobs.read(jobId)).toMatchObject({ sleptMs: 0, providerMs: Number.MAX_SAFE_INTEGER });
    });

    test("may store 350 KB, in any script", async () => {
      const mine = await claimed();
      const reply = JSON.stringify({ output: "ü€😀\u0000\uD800".repeat(15_000), tail: "a".repeat(40_000) });
      expect(Buffer.byteLength(reply)).toBeGreaterThan(350_000);
      expect(await jobs.complete(mine, { ...completeAsk, reply })).toEqual({ kind: "stored" });
      expect((await jobs.read(jobId))?.reply).toBe(reply);
      expect(await jobs.complete(mine, { ...completeAsk, reply })).toEqual({ kind: "stored" });
    });
  });

  describe("a holder that was overtaken", () => {
    test("can neither extend, nor give back, nor reply", async () => {
      const zombie = await overtaken();
      const before = await jobs.read(jobId);
      const lost = { kind: "lost", row: before };
      expect(await jobs.extend(zombie, { ...heartbeat, heldUntilMs: lapsesAtMs + 900_000 })).toEqual(lost);
      expect(await jobs.giveBack(zombie, giveBackAsk)).toEqual(lost);
      expect(await jobs.complete(zombie, completeAsk)).toEqual(lost);
      expect(await jobs.read(jobId)).toEqual(before);
    });

    test("cannot do so after the end either, and is shown the reply that stands", async () => {
      const mine = await claimed();
      await jobs.complete(mine, completeAsk);
      const before = await jobs.read(jobId);
      const lost = { kind: "lost", row: before };
      expect(await jobs.extend(mine, heartbeat)).toEqual(lost);
      expect(await jobs.giveBack(mine, giveBackAsk)).toEqual(lost);
      expect(await jobs.complete(mine, { ...completeAsk, reply: "another" })).toEqual(lost);
      expect(await jobs.read(jobId)).toEqual(before);
    });

    test("with the right fence but another's name is refused as well", async () => {
      const mine = await claimed();
      const before = await jobs.read(jobId);
      expect(await jobs.complete({ ...mine, holder: "holder-2" }, completeAsk)).toEqual({ kind: "lost", row: before });
    });

    test("by a later claim of its own name is refused as well", async () => {
      const mine = await claimed();
      await claimed({ nowMs: lapsesAtMs + 1 });
      const before = await jobs.read(jobId);
      expect(await jobs.complete(mine, completeAsk)).toEqual({ kind: "lost", row: before });
    });

    test("of a job whose row is gone learns that there is none", async () => {
      const nobody: Claim = { jobId, holder: "holder-1", fence: 1 };
      const lost = { kind: "lost", row: undefined };
      expect(await jobs.extend(nobody, heartbeat)).toEqual(lost);
      expect(await jobs.giveBack(nobody, giveBackAsk)).toEqual(lost);
      expect(await jobs.complete(nobody, completeAsk)).toEqual(lost);
      expect(await jobs.read(jobId)).toBeUndefined();
    });
  });

  describe("a cancel", () => {
    test("of a running job is a flag that the heartbeat reads", async () => {
      const mine = await claimed();
      expect(await jobs.askCancel(jobId, t0)).toMatchObject({ kind: "taken", row: { cancelAsked: true } });
      expect(await jobs.extend(mine, heartbeat)).toMatchObject({ kind: "owned", row: { cancelAsked: true } });
    });

    test("refuses the give-back, and its holder replies", async () => {
      const mine = await claimed();
      await jobs.askCancel(jobId, t0);
      const row = a.row({ jobId, cancelAsked: true });
      expect(await jobs.giveBack(mine, giveBackAsk)).toEqual({ kind: "lost", row });
      expect(await jobs.complete(mine, cancelReply)).toEqual({ kind: "stored" });
    });

    test("that its holder never saw is the next holder's reply", async () => {
      await claimed();
      await jobs.askCancel(jobId, t0);
      expect(await claim({ holder: "holder-2", nowMs: lapsesAtMs + 1 })).toMatchObject({
        kind: "cancelled",
        claim: { fence: 2 },
      });
    });

    test("flags no job that waits, has ended or has not arrived", async () => {
      expect(await jobs.askCancel(jobId, t0)).toEqual({ kind: "refused", row: undefined });
      await jobs.giveBack(await claimed(), giveBackAsk);
      expect(await jobs.askCancel(jobId, t0)).toMatchObject({ kind: "refused", row: { cancelAsked: false } });
      await jobs.replyUnlessRunning(jobId, cancelReply);
      expect(await jobs.askCancel(jobId, t0)).toMatchObject({ kind: "refused", row: { cancelAsked: false } });
    });

    test("of a job that has not arrived is a reply that waits for it", async () => {
      expect(await jobs.replyUnlessRunning(jobId, cancelReply)).toEqual({ kind: "stored" });
      expect(await claim()).toMatchObject({ kind: "done", row: { reply: cancelReply.reply, fence: 0 } });
    });

    test("ends a job that waits, or whose worker died, and no job that runs", async () => {
      await claimed();
      expect(await jobs.replyUnlessRunning(jobId, cancelReply)).toEqual({ kind: "lost", row: a.row({ jobId }) });
      const afterLapse = { ...cancelReply, nowMs: lapsesAtMs + 1 };
      expect(await jobs.replyUnlessRunning(jobId, afterLapse)).toEqual({ kind: "stored" });

      jobId = `${jobId}-waits`;
      await jobs.giveBack(await claimed(), giveBackAsk);
      expect(await jobs.replyUnlessRunning(jobId, cancelReply)).toEqual({ kind: "stored" });
    });

    test("and an answer that race have one winner, which both are shown", async () => {
      const mine = await claimed();
      const afterLapse = { ...cancelReply, nowMs: lapsesAtMs + 1 };
      const ends = await Promise.all([
        jobs.complete(mine, completeAsk),
        ...Array.from({ length: 7 }, (_, index) =>
          jobs.replyUnlessRunning(jobId, { ...afterLapse, reply: `cancelled by ${index}` }),
        ),
      ]);
      expect(ends.filter(({ kind }) => kind === "stored")).toHaveLength(1);
      const reply = (await jobs.read(jobId))?.reply;
      const shown = ends.flatMap((end) => (end.kind === "lost" ? [end.row?.reply] : []));
      expect(shown).toEqual(Array.from({ length: 7 }, () => reply));
    });
  });

  describe("a reply without a claim", () => {
    test("is for a job that has no row, and for no other", async () => {
      expect(await jobs.replyUnclaimed(jobId, unclaimedAsk)).toEqual({ kind: "stored" });
      expect(await jobs.replyUnclaimed(jobId, { ...unclaimedAsk, reply: "another" })).toMatchObject({
        kind: "lost",
        row: { reply: completeAsk.reply, contentHash: unclaimedAsk.contentHash },
      });
      jobId = `${jobId}-waits`;
      await jobs.countRelease(releaseAsk());
      expect(await jobs.replyUnclaimed(jobId, unclaimedAsk)).toMatchObject({ kind: "lost", row: { state: "queued" } });
    });

    test("is stored once although its answer was lost", async () => {
      loseNextAnswer();
      expect(await jobs.replyUnclaimed(jobId, unclaimedAsk)).toEqual({ kind: "stored" });
    });
  });

  describe("a reply out of the replies queue", () => {
    test("is stored while its job has none, whoever holds it, and ends the job", async () => {
      const zombie = await overtaken();
      expect(await jobs.storeReply(jobId, unstored)).toEqual({ kind: "stored" });
      expect(await jobs.read(jobId)).toMatchObject({
        state: "ended",
        reply: unstored.reply,
        stage: "succeeded",
        stageAtMs: t0 + 2_000,
        attempts: 1,
      });
      expect(await jobs.complete({ ...zombie, holder: "holder-2", fence: 2 }, cancelReply)).toMatchObject({
        kind: "lost",
        row: { reply: unstored.reply },
      });
    });

    test("makes the row of a job whose row has gone, with its content", async () => {
      expect(await jobs.storeReply(jobId, unstored)).toEqual({ kind: "stored" });
      expect(await claim()).toMatchObject({ kind: "done", row: { format: 1, reply: unstored.reply } });
      expect(await claim({ contentHash: "h-2" })).toEqual({ kind: "conflict" });
    });

    test("never takes the place of another, and is believed when the answer to it was lost", async () => {
      loseNextAnswer();
      expect(await jobs.storeReply(jobId, unstored)).toEqual({ kind: "stored" });
      const before = await jobs.read(jobId);
      expect(await jobs.storeReply(jobId, { ...unstored, reply: "another" })).toEqual({ kind: "lost", row: before });
      expect(await jobs.read(jobId)).toEqual(before);
    });

    test("is not for a job of other content, nor for a row of a newer format", async () => {
      await claimed();
      const other = await jobs.storeReply(jobId, { ...unstored, contentHash: "h-2" });
      expect(other.kind === "lost" && afterStoreReply(other.row, "h-2")).toEqual({ kind: "conflict" });
      jobId = `${jobId}-newer`;
      await put({ jobId, format: 2, state: "queued" });
      const newer = await jobs.storeReply(jobId, unstored);
      expect(newer.kind === "lost" && afterStoreReply(newer.row, "h-1")).toEqual({ kind: "again" });
      expect((await jobs.read(jobId))?.reply).toBeUndefined();
    });
  });

  describe("an announcement", () => {
    beforeEach(async () => {
      await jobs.storeReply(jobId, unstored);
    });
    const told = async () => {
      const { announced, unannounced, sweepAtMs } = (await jobs.read(jobId)) ?? {};
      return { announced, unannounced, sweepAtMs };
    };

    test("is remembered by its destination, once however often it is told", async () => {
      await jobs.markAnnounced(jobId, toQueue);
      loseNextAnswer();
      await jobs.markAnnounced(jobId, toQueue);
      await jobs.markAnnounced(jobId, toToken);
      const { announced } = await told();
      expect(announced).toHaveLength(2);
      expect(announced).toEqual(expect.arrayContaining([toQueue, toToken]));
    });

    test("that failed waits for its time, each destination by itself, until it is made", async () => {
      await jobs.deferAnnouncement(jobId, toQueue, t0 + 1);
      await jobs.deferAnnouncement(jobId, toToken, t0 + 2);
      await jobs.deferAnnouncement(jobId, toToken, t0 + 3);
      expect((await told()).unannounced).toHaveLength(2);
      expect((await told()).sweepAtMs).toBe(t0 + 3);
      await jobs.markAnnounced(jobId, toQueue);
      expect(await told()).toMatchObject({ announced: [toQueue], unannounced: [toToken] });
      await jobs.markAnnounced(jobId, toToken);
      expect((await told()).unannounced).toEqual([]);
    });

    test("that was made is not put off any more", async () => {
      await jobs.markAnnounced(jobId, toQueue);
      await jobs.deferAnnouncement(jobId, toQueue, t0 + 1);
      expect(await told()).toEqual({ announced: [toQueue], unannounced: [], sweepAtMs: undefined });
    });

    test("makes no row of a job whose row has gone", async () => {
      jobId = `${jobId}-gone`;
      await jobs.markAnnounced(jobId, toQueue);
      await jobs.deferAnnouncement(jobId, toQueue, t0 + 1);
      expect(await jobs.read(jobId)).toBeUndefined();
    });
  });

  describe("a reply that is forgotten", () => {
    const left = '{"ok":true,"forgottenAtMs":1}';
    const forget = (seen = completeAsk.reply) => jobs.forget(jobId, seen, left);

    test("leaves what is left of it, and all else as it was: its job is done, and owes what it owed", async () => {
      await jobs.complete(await claimed(), completeAsk);
      await jobs.deferAnnouncement(jobId, toQueue, t0 + 1);
      const before = await jobs.read(jobId);
      expect(await forget()).toEqual({ kind: "stored" });
      expect(await jobs.read(jobId)).toEqual({ ...before, reply: left });
      expect(await claim({ holder: "holder-2", nowMs: lapsesAtMs + 1 })).toMatchObject({
        kind: "done",
        row: { reply: left, unannounced: [toQueue] },
      });
      expect(await claim({ contentHash: "h-2" })).toEqual({ kind: "conflict" });
    });

    test("is still a final reply: no other takes its place", async () => {
      await jobs.complete(await claimed(), completeAsk);
      await forget();
      const before = await jobs.read(jobId);
      expect(await jobs.storeReply(jobId, unstored)).toEqual({ kind: "lost", row: before });
      expect(await jobs.replyUnlessRunning(jobId, cancelReply)).toEqual({ kind: "lost", row: before });
      expect(await jobs.read(jobId)).toEqual(before);
    });

    test("is believed when the answer to it was lost", async () => {
      await jobs.complete(await claimed(), completeAsk);
      loseNextAnswer();
      expect(await forget()).toEqual({ kind: "stored" });
    });

    test("is the one that was seen: another, none, and one of a newer format stay as they are", async () => {
      expect(await forget()).toEqual({ kind: "lost", row: undefined });
      const mine = await claimed();
      expect(await forget()).toEqual({ kind: "lost", row: a.row({ jobId }) });
      await jobs.complete(mine, completeAsk);
      const before = await jobs.read(jobId);
      expect(await forget("another")).toEqual({ kind: "lost", row: before });
      jobId = `${jobId}-newer`;
      await put({ jobId, format: 2, state: "ended", reply: completeAsk.reply });
      const newer = await jobs.read(jobId);
      expect(await forget()).toEqual({ kind: "lost", row: newer });
      expect(await jobs.read(jobId)).toEqual(newer);
    });

    test("may have been as big as a row takes", async () => {
      const reply = JSON.stringify({ output: "ü€😀".repeat(35_000) });
      expect(Buffer.byteLength(reply)).toBeGreaterThan(300_000);
      await jobs.complete(await claimed(), { ...completeAsk, reply });
      expect(await forget(reply)).toEqual({ kind: "stored" });
      expect((await jobs.read(jobId))?.reply).toBe(left);
    });
  });

  describe("a release", () => {
    test("is counted without a claim, from the first on", async () => {
      expect(await jobs.countRelease(releaseAsk())).toMatchObject({
        kind: "taken",
        row: { state: "queued", stage: "queued", fence: 0, releases: 1, deadlineAtMs: t0 + 3_600_000 },
      });
      expect(await jobs.countRelease(releaseAsk(t0 + 1))).toMatchObject({ row: { releases: 2 } });
      expect(await claim()).toMatchObject({ kind: "run", claim: { fence: 1 }, crashes: 0, row: { releases: 2 } });
    });

    test("whose answer was lost counts once", async () => {
      loseNextAnswer();
      const answer = await jobs.countRelease(releaseAsk());
      expect(releaseVerdict(answer, releaseAsk())).toEqual({ kind: "counted", releases: 1 });
      expect(await jobs.read(jobId)).toMatchObject({ releases: 1 });
    });

    test("is refused where the job is held, done or another's", async () => {
      const mine = await claimed();
      expect(releaseVerdict(await jobs.countRelease(releaseAsk()), releaseAsk())).toMatchObject({ kind: "held" });
      await jobs.complete(mine, completeAsk);
      expect(releaseVerdict(await jobs.countRelease(releaseAsk()), releaseAsk())).toMatchObject({ kind: "done" });
      const other = ask({ contentHash: "h-2" });
      expect(releaseVerdict(await jobs.countRelease(other), other)).toEqual({ kind: "conflict" });
    });
  });

  test("reads many rows, each once, and leaves out those that do not exist", async () => {
    const there = Array.from({ length: 130 }, (_, index) => `${jobId}-${index}`);
    await Promise.all(there.map((each) => jobs.claim(ask({ jobId: each }))));
    const rows = await jobs.readMany([...there, ...there, "nobody's"]);
    expect(rows.map((row) => row.jobId).toSorted()).toEqual(there.toSorted());
    expect(rows[0]).toEqual(a.row({ jobId: rows[0]?.jobId ?? "" }));
    expect(await jobs.readMany([])).toEqual([]);
  });

  test("a late copy of a request that went through changes nothing, whatever happened since", async () => {
    let runs = 0;
    const step = fc.record({
      verb: fc.constantFrom(
        "claim",
        "extend",
        "giveBack",
        "complete",
        "release",
        "askCancel",
        "cancel",
        "storeReply",
        "forget",
      ),
      worker: fc.integer({ min: 0, max: 2 }),
      afterMs: fc.constantFrom(1, 900, 10_000, holdMs + claimGraceMs + 1),
      replay: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
        const id = `${jobId}-${++runs}`;
        const claims: Claim[] = [];
        const wentThrough: (() => Promise<{ readonly kind: string }>)[] = [];
        let nowMs = t0;
        for (const [index, { verb, worker, afterMs, replay }] of steps.entries()) {
          nowMs += afterMs;
          const at = nowMs;
          const mine = claims[worker] ?? { jobId: id, holder: "nobody", fence: 0 };
          const stage = { stage: `stage-${index}`, stageAtMs: at };
          const reply = { ...completeAsk, nowMs: at, reply: `reply-${index}` };
          const seen = (await jobs.read(id))?.reply ?? "";
          const send = {
            claim: () => jobs.claim(a.claimAsk({ jobId: id, nowMs: at, holder: `holder-${index}` })),
            extend: () => jobs.extend(mine, { nowMs: at, heldUntilMs: at + holdMs, stage }),
            giveBack: () => jobs.giveBack(mine, { ...giveBackAsk, notBeforeMs: at, stage }),
            complete: () => jobs.complete(mine, reply),
            release: () => jobs.countRelease(a.claimAsk({ jobId: id, nowMs: at })),
            askCancel: () => jobs.askCancel(id, at),
            cancel: () => jobs.replyUnlessRunning(id, reply),
            storeReply: () => jobs.storeReply(id, { ...reply, contentHash: "h-1" }),
            forget: () => jobs.forget(id, seen, `left-${index}`),
          }[verb];
          const answer = await send();
          if (verb === "claim" && answer.kind === "taken") claims[worker] = claimOn(answer.row);
          if (answer.kind === "taken" || answer.kind === "owned" || answer.kind === "stored") wentThrough.push(send);

          const before = await jobs.read(id);
          await wentThrough[replay % wentThrough.length]?.();
          expect(await jobs.read(id)).toEqual(before);
        }
      }),
      { numRuns: name === "in memory" ? 500 : 30 },
    );
  }, 60_000);

  // The one in memory sends nothing.
  test.skipIf(name === "in memory")(
    "spends one request a verb, and reads the row that refused where it was not shown",
    async () => {
      const refused = readsAfterRefusal(name) ? ["UpdateItem", "GetItem"] : ["UpdateItem"];

      expect(await wire(() => jobs.claim(ask()))).toEqual(["UpdateItem"]);
      const mine: Claim = { jobId, holder: "holder-1", fence: 1 };
      expect(await wire(() => jobs.claim(ask({ holder: "holder-2" })))).toEqual(refused);
      expect(await wire(() => jobs.countRelease(releaseAsk()))).toEqual(refused);
      expect(await wire(() => jobs.replyUnclaimed(jobId, unclaimedAsk))).toEqual(refused);
      expect(await wire(() => jobs.replyUnlessRunning(jobId, cancelReply))).toEqual(refused);
      expect(await wire(() => jobs.extend(mine, heartbeat))).toEqual(["UpdateItem"]);
      expect(await wire(() => jobs.giveBack(mine, giveBackAsk))).toEqual(["UpdateItem"]);
      expect(await wire(() => jobs.countRelease(releaseAsk()))).toEqual(["UpdateItem"]);
      await jobs.claim(ask({ holder: "holder-3", nowMs: t0 + 20_000 }));
      expect(await wire(() => jobs.askCancel(jobId, t0))).toEqual(["UpdateItem"]);
      expect(await wire(() => jobs.complete({ ...mine, holder: "holder-3", fence: 2 }, completeAsk))).toEqual([
        "UpdateItem",
      ]);
      expect(await wire(() => jobs.complete(mine, cancelReply))).toEqual(refused);
      expect(await wire(() => jobs.storeReply(jobId, { ...unstored, reply: "another" }))).toEqual(refused);
      expect(await wire(() => jobs.markAnnounced(jobId, toQueue))).toEqual(["UpdateItem"]);
      expect(await wire(() => jobs.deferAnnouncement(jobId, toToken, t0))).toEqual(["UpdateItem"]);
      expect(await wire(() => jobs.forget(jobId, completeAsk.reply, "left"))).toEqual(["UpdateItem"]);
      expect(await wire(() => jobs.forget(jobId, "another", "left"))).toEqual(refused);
      expect(await wire(() => jobs.read(jobId))).toEqual(["GetItem"]);
      expect(await wire(() => jobs.scan("open"))).toEqual(["Scan"]);
      expect(await wire(() => jobs.readMany(Array.from({ length: 101 }, (_, index) => `${index}`)))).toEqual([
        "BatchGetItem",
        "BatchGetItem",
      ]);
    },
  );
});

describe.each(jobTables)("the job table read as a whole %s", async (_name, open) => {
  const { jobs } = await open();
  const stage = { stage: "requeued until then", stageAtMs: t0, step: "fast@west", cause: "capacity" as const };

  async function all(which: Parameters<typeof jobs.scan>[0]): Promise<string[]> {
    const ids: string[] = [];
    for (let after: string | undefined; ;) {
      const { rows, next } = await jobs.scan(which, after);
      ids.push(...rows.map(({ jobId }) => jobId));
      if (next === undefined) return ids.toSorted();
      after = next;
    }
  }
  async function claimed(jobId: string): Promise<Claim> {
    const answer = await jobs.claim(a.claimAsk({ jobId }));
    if (answer.kind === "refused") throw new Error("the claim was refused");
    return claimOn(answer.row);
  }

  test("shows open jobs apart from those that ended, and these by how they did", async () => {
    const ending = { nowMs: t0, ttlS: t0 / 1_000, progress: noProgress };
    for (const jobId of ["runs-1", "runs-2", "runs-3", "runs-4"]) await claimed(jobId);
    await jobs.giveBack(await claimed("waits"), { nowMs: t0, notBeforeMs: t0 + 1, progress: noProgress, stage });
    await jobs.complete(await claimed("went-well"), { ...ending, reply: "{}", status: "succeeded" });
    await jobs.complete(await claimed("went-wrong"), { ...ending, reply: "{}", status: "failed" });
    expect(await all("open")).toEqual(["runs-1", "runs-2", "runs-3", "runs-4", "waits"]);
    expect(await all("failed")).toEqual(["went-wrong"]);
    expect(await all("succeeded")).toEqual(["went-well"]);
    expect(await all("cancelled")).toEqual([]);
  });

  test("says why a job was handed back", async () => {
    const row = (await jobs.scan("open")).rows.find(({ jobId }) => jobId === "waits") ?? (await jobs.read("waits"));
    expect(row).toMatchObject({ state: "queued", stage: stage.stage, step: "fast@west", cause: "capacity" });
  });
});

describe.each(dynamoEngines)("the rows on %s", async (_name, start) => {
  const { jobs, client, table } = await dynamoBench(await engineForTests(start));

  test("go by their ttl, in whole seconds", async () => {
    await jobs.replyUnclaimed("job", { ...unclaimedAsk, ttlS: 1_795_960_000.2 });
    const { Item } = await client.send(new GetItemCommand({ TableName: table, Key: { jobId: { S: "job" } } }));
    expect(Item?.["ttl"]).toEqual({ N: "1795960001" });
  });

  test("that DynamoDB left out of an answer are asked for again", async () => {
    const there = Array.from({ length: 9 }, (_, index) => `left-out-${index}`);
    await Promise.all(there.map((jobId) => jobs.claim(a.claimAsk({ jobId }))));
    const halves = leaveOutHalf(client, table);
    const rows = await jobs.readMany(there);
    expect(rows.map(({ jobId }) => jobId).toSorted()).toEqual(there);
    expect(halves()).toBeGreaterThan(1);
  });
});

/** No local engine ever leaves a key unprocessed; DynamoDB does when it throttles, or beyond 16 MB. */
function leaveOutHalf(client: Awaited<ReturnType<typeof dynamoBench>>["client"], table: string): () => number {
  let leftOut = 0;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (context.commandName !== "BatchGetItemCommand") return next(args);
      const { output, response } = await next(args);
      const rows = "Responses" in output && isByTable(output.Responses) ? (output.Responses[table] ?? []) : [];
      const kept = rows.slice(0, Math.ceil(rows.length / 2));
      const left = rows.slice(kept.length).map(({ jobId }) => ({ jobId: jobId ?? { S: "" } }));
      if (left.length > 0) leftOut++;
      return {
        response,
        output: { ...output, Responses: { [table]: kept }, UnprocessedKeys: { [table]: { Keys: left } } },
      };
    },
    { step: "initialize" },
  );
  return () => leftOut;
}

function isByTable(
  responses: unknown,
): responses is Readonly<Record<string, readonly Record<string, AttributeValue>[]>> {
  return typeof responses === "object" && responses !== null && !Array.isArray(responses);
}

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import { createJobTable as jobTableOn } from "../../lib/aws/job-table.ts";
import { cancel } from "../../lib/client/cancel.ts";
import { forget } from "../../lib/client/forget.ts";
import { replies, waitForReply } from "../../lib/client/wait.ts";
import { noProgress, verdict } from "../../lib/core/claim.ts";
import type { Claim, ClaimAsk, Progress } from "../../lib/core/claim.ts";
import { holdMs } from "../../lib/core/limits.ts";
import { createMemoryObjects } from "../../lib/memory/objects.ts";
import type { Clock, JobTable } from "../../lib/ports.ts";
import { t0 } from "../a.ts";
import { createJobTable, dynamoEngines, engineForTests, localClient } from "../contract/engines.ts";

/** A clock whose sleeps pass at once. `at` runs what shall happen during a sleep, once its time has come. */
function newClock() {
  let nowMs = t0;
  const sleeps: number[] = [];
  const agenda: [atMs: number, act: () => Promise<unknown>][] = [];
  const clock: Clock = {
    nowMs: () => nowMs,
    async sleep(ms) {
      sleeps.push(ms);
      nowMs += ms;
      for (const entry of agenda.filter(([atMs]) => atMs <= nowMs)) {
        agenda.splice(agenda.indexOf(entry), 1);
        await entry[1]();
      }
    },
    after: () => () => undefined,
    jitter: () => 0.5,
    newId: () => "id",
  };
  const pass = (ms: number) => void (nowMs += ms);
  return { clock, sleeps, pass, at: (ms: number, act: () => Promise<unknown>) => agenda.push([t0 + ms, act]) };
}

const progress: Progress = { ...noProgress, attempts: 1, requests: 1 };
const ask = (facts: Partial<ClaimAsk> = {}): ClaimAsk => ({
  jobId: "j-1",
  contentHash: "h-1",
  holder: "holder-1",
  nowMs: t0,
  heldUntilMs: t0 + holdMs,
  deadlineAtMs: t0 + 3_600_000,
  enqueuedAtMs: t0 - 5_000,
  lane: "bg",
  worker: "w-1",
  ...facts,
});
const reply = (jobId: string) => ({ jobId, ok: true, status: "succeeded", output: { text: "Hello, Ada." } });
const ttlDays = 7;

describe.each(dynamoEngines)("on %s", async (_name, start) => {
  const endpoint = await engineForTests(start);
  const dynamo = new DynamoDBClient(localClient(endpoint));
  let jobs: JobTable;
  let time: ReturnType<typeof newClock>;
  beforeEach(async () => {
    time = newClock();
    jobs = jobTableOn(dynamo, await createJobTable(endpoint), time.clock);
  });

  /** A job that runs, as its worker has it. */
  async function running(facts: Partial<ClaimAsk> = {}): Promise<Claim> {
    const asked = ask(facts);
    const says = verdict(await jobs.claim(asked), asked, asked.nowMs);
    if (says.kind !== "run") throw new Error(says.kind);
    return says.claim;
  }
  const finish = (claim: Claim, nowMs = t0) =>
    jobs.complete(claim, {
      nowMs,
      reply: JSON.stringify(reply(claim.jobId)),
      status: "succeeded",
      ttlS: t0 / 1_000 + 86_400,
      progress,
    });
  const requeue = (claim: Claim, notBeforeMs: number) => {
    const stage = { stage: "requeued", stageAtMs: t0, step: "fast-text@us-west-2" };
    return jobs.giveBack(claim, { nowMs: t0, notBeforeMs, progress, stage });
  };
  const wait = (options: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
    waitForReply({ jobId: "j-1" }, options, jobs, time.clock);
  const found = (jobIds: readonly string[]) =>
    replies(
      jobIds.map((jobId) => ({ jobId })),
      jobs,
    );
  const stop = (jobId = "j-1") => cancel(jobId, jobs, time.clock, ttlDays);

  describe("who waits for a reply", () => {
    test("has it at once if it is there", async () => {
      await finish(await running());
      expect(await wait()).toEqual({ kind: "replied", reply: reply("j-1") });
      expect(time.sleeps).toEqual([]);
    });

    test("has it soon after it came", async () => {
      const claim = await running();
      time.at(3_000, () => finish(claim));
      expect(await wait()).toEqual({ kind: "replied", reply: reply("j-1") });
      expect(time.clock.nowMs()).toBeLessThan(t0 + 5_000);
    });

    test("looks ever less often, every 5 s at last", async () => {
      await wait({ timeoutMs: 60_000 });
      const whole = time.sleeps.slice(0, -1);
      expect(whole).toEqual(whole.toSorted((a, b) => a - b));
      expect(whole[0]).toBe(200);
      expect(whole.at(-1)).toBe(5_000);
    });

    test("looks once more when the time is up, so that a reply of the last moment counts", async () => {
      const claim = await running();
      time.at(60_000, () => finish(claim));
      expect(await wait({ timeoutMs: 60_000 })).toMatchObject({ kind: "replied" });
    });

    test("is told the stage when the time is up", async () => {
      await requeue(await running(), t0 + 60_000);
      expect(await wait({ timeoutMs: 1_000 })).toEqual({ kind: "timeout", stage: "requeued" });
      expect(time.clock.nowMs()).toBe(t0 + 1_000);
    });

    test("is told no stage of a job that no worker has seen", async () => {
      expect(await wait({ timeoutMs: 0 })).toEqual({ kind: "timeout" });
    });

    /** A table whose reads throw what is listed, one by one, and then go well. */
    const failing = (...errors: readonly object[]): JobTable => {
      const left = [...errors];
      return { ...jobs, read: (jobId) => (left.length > 0 ? Promise.reject(left.shift()) : jobs.read(jobId)) };
    };
    const waitOn = (table: JobTable, timeoutMs = 60_000) =>
      waitForReply({ jobId: "j-1" }, { timeoutMs }, table, time.clock);
    const failed = (name: string, facts: object = {}) => Object.assign(new Error(name), { name, ...facts });
    const status = (httpStatusCode: number) => ({ $metadata: { httpStatusCode } });

    test.each<[says: string, error: object]>([
      ["a socket that hangs up", failed("Error", { code: "ECONNRESET" })],
      ["nobody who answers", failed("AggregateError", { code: "ECONNREFUSED" })],
      ["a name that is not resolved for a moment", failed("Error", { code: "EAI_AGAIN" })],
      ["an answer that takes too long", failed("TimeoutError")],
      ["a throttle", failed("ThrottlingException", status(400))],
      ["a table that is asked too much", failed("ProvisionedThroughputExceededException", status(400))],
      ["an account that asks too much", failed("RequestLimitExceeded", status(400))],
      ["a 429", failed("Http429", status(429))],
      ["a failure of AWS", failed("InternalServerError", status(500))],
      ["a 502 of something between", failed("SyntaxError", status(502))],
    ])("sits out %s", async (_says, error) => {
      await finish(await running());
      expect(await waitOn(failing(error, error))).toEqual({ kind: "replied", reply: reply("j-1") });
      expect(time.sleeps).toHaveLength(2);
    });

    test.each<[says: string, error: object]>([
      ["a right that is missing", failed("AccessDeniedException", status(400))],
      ["a table that is not there", failed("ResourceNotFoundException", status(400))],
      ["credentials that are not there", failed("CredentialsProviderError")],
      ["credentials that have expired", failed("ExpiredTokenException", status(400))],
      ["no region", failed("Error")],
      ["a region that is none", failed("Error", { code: "ENOTFOUND" })],
    ])("is told of %s at once", async (_says, error) => {
      await expect(waitOn(failing(error))).rejects.toBe(error);
      expect(time.sleeps).toEqual([]);
    });

    test("sits out a name that was resolved before", async () => {
      const lost = failed("Error", { code: "ENOTFOUND" });
      const claim = await running();
      let reads = 0;
      const flaky = {
        ...jobs,
        read: async (jobId: string) => ((reads += 1) === 2 ? Promise.reject(lost) : jobs.read(jobId)),
      };
      time.at(2_000, () => finish(claim));
      expect(await waitOn(flaky)).toMatchObject({ kind: "replied" });
    });

    test("is told what the last read threw when the time is up: nobody knows whether there is a reply", async () => {
      const hangUp = failed("Error", { code: "ECONNRESET" });
      const dead: JobTable = { ...jobs, read: () => Promise.reject(hangUp) };
      await expect(waitOn(dead)).rejects.toBe(hangUp);
      expect(time.clock.nowMs()).toBe(t0 + 60_000);
    });

    test("is told that the row is another job's at once, before there is any reply", async () => {
      await running();
      const others = { jobId: "j-1", hashes: new Set(["h-2"]) };
      expect(await waitForReply(others, {}, jobs, time.clock)).toEqual({ kind: "conflict" });
      expect(time.sleeps).toEqual([]);
      expect(await replies([others], jobs)).toEqual([{ jobId: "j-1", kind: "conflict" }]);
      const mine = { jobId: "j-1", hashes: new Set(["h-2", "h-1"]) };
      expect(await waitForReply(mine, { timeoutMs: 0 }, jobs, time.clock)).toEqual({
        kind: "timeout",
        stage: "waiting",
      });
    });

    test("for a time that is no number does not wait for ever", async () => {
      expect(await wait({ timeoutMs: Number.NaN })).toEqual({ kind: "timeout" });
    });

    test("may stop at any time, for its own reason", async () => {
      const stopping = new AbortController();
      time.at(1_000, async () => stopping.abort(new Error("the page was closed")));
      await expect(wait({ signal: stopping.signal })).rejects.toThrow("the page was closed");
    });
  });

  test("replies come in the order of the ids, each as it stands", async () => {
    await finish(await running({ jobId: "done" }));
    await requeue(await running({ jobId: "waiting" }), t0 + 60_000);
    expect(await found(["unknown", "done", "waiting", "done"])).toEqual([
      { jobId: "unknown", kind: "open" },
      { jobId: "done", kind: "replied", reply: reply("done") },
      { jobId: "waiting", kind: "open", stage: "requeued" },
      { jobId: "done", kind: "replied", reply: reply("done") },
    ]);
  });

  test("replies of more jobs than one request takes", async () => {
    const jobIds = Array.from({ length: 101 }, (_, n) => `j-${n}`);
    await Promise.all(jobIds.map(async (jobId) => finish(await running({ jobId, holder: jobId }))));
    expect((await found(jobIds)).map(({ kind }) => kind)).toEqual(jobIds.map(() => "replied"));
  });

  describe("a job that is forgotten", () => {
    const objects = createMemoryObjects();
    const forgetting = (jobId = "j-1", table: JobTable = jobs) => forget(jobId, table, objects, time.clock);
    const finishWith = (claim: Claim, text: object) =>
      jobs.complete(claim, { nowMs: t0, reply: JSON.stringify(text), status: "succeeded", ttlS: t0 / 1_000, progress });
    const left = { jobId: "j-1", ok: true, status: "succeeded", metadata: {}, forgottenAtMs: t0 };

    test("has a reply without output and metadata, which says so", async () => {
      await finishWith(await running(), { ...reply("j-1"), metadata: { patient: "Ada" } });
      expect(await forgetting()).toEqual({ kind: "forgotten" });
      expect(await wait()).toEqual({ kind: "replied", reply: left });
      expect(await found(["j-1"])).toEqual([{ jobId: "j-1", kind: "replied", reply: left }]);
    });

    test("loses an output that lies apart", async () => {
      const outputRef = await objects.putOutput("j-1", "Hello, Ada.");
      await finishWith(await running(), { ...reply("j-1"), output: undefined, outputRef });
      await forgetting();
      expect(await objects.get("outputs", outputRef.slice("s3://outputs/".length))).toEqual({ kind: "missing" });
      expect(await wait()).toEqual({ kind: "replied", reply: left });
    });

    test("keeps where its output is for as long as S3 does not take it, so that one may begin again", async () => {
      const outputRef = "s3://outputs/outputs/j-1/0.json";
      await finishWith(await running(), { ...reply("j-1"), output: undefined, outputRef });
      const away = { removeOutput: () => Promise.reject(new Error("S3 is away")) };
      await expect(forget("j-1", jobs, away, time.clock)).rejects.toThrow("S3 is away");
      expect(await wait()).toMatchObject({ reply: { outputRef } });
      expect(await forgetting()).toEqual({ kind: "forgotten" });
    });

    test("is done for every copy of its message, and cannot be cancelled", async () => {
      await finish(await running());
      await forgetting();
      expect(verdict(await jobs.claim(ask()), ask(), t0)).toMatchObject({ kind: "done" });
      expect(await stop()).toEqual({ kind: "ended", reply: left });
    });

    test("a second time stays as the first one left it", async () => {
      await finish(await running());
      await forgetting();
      time.pass(1_000);
      expect(await forgetting()).toEqual({ kind: "forgotten" });
      expect(await wait()).toEqual({ kind: "replied", reply: left });
    });

    test("by two at once is forgotten for both", async () => {
      await finish(await running());
      const racing: JobTable = {
        ...jobs,
        forget: async (...asked) => {
          await forgetting();
          time.pass(1);
          return await jobs.forget(...asked);
        },
      };
      expect(await forgetting("j-1", racing)).toEqual({ kind: "forgotten" });
    });

    test("must have ended: one that nobody has seen, that runs or that waits is left alone", async () => {
      expect(await forgetting()).toEqual({ kind: "open" });
      const claim = await running();
      expect(await forgetting()).toEqual({ kind: "open", stage: "waiting" });
      await requeue(claim, t0 + 60_000);
      expect(await forgetting()).toEqual({ kind: "open", stage: "requeued" });
      expect(await jobs.read("j-1")).toMatchObject({ state: "queued" });
    });

    test("gives up aloud where a row of a newer version refuses it", async () => {
      await finish(await running());
      const refusing: JobTable = { ...jobs, forget: async () => ({ kind: "lost", row: undefined }) };
      await expect(forgetting("j-1", refusing)).rejects.toThrow("could not be forgotten");
    });
  });

  describe("a cancel", () => {
    test("before the job arrives ends it: whoever claims it later finds the reply", async () => {
      expect(await stop()).toEqual({ kind: "cancelled" });
      expect(verdict(await jobs.claim(ask()), ask(), t0)).toMatchObject({ kind: "done" });
      expect(await wait()).toMatchObject({
        kind: "replied",
        reply: { jobId: "j-1", ok: false, status: "cancelled", error: { code: "cancelled" } },
      });
    });

    test("of a job that waits in the queue ends it, with what it has used up", async () => {
      await requeue(await running({ nowMs: t0 - 3_000 }), t0 + 60_000);
      expect(await stop()).toEqual({ kind: "cancelled" });
      expect(await wait()).toMatchObject({
        reply: {
          status: "cancelled",
          meta: { model: "fast-text", attempts: 1, deliveries: 1, queueMs: 2_000, totalMs: 5_000 },
        },
      });
    });

    test("of a running job asks its worker, and changes nothing else", async () => {
      const claim = await running();
      expect(await stop()).toEqual({ kind: "asked" });
      expect(await jobs.read("j-1")).toMatchObject({ cancelAsked: true, state: "running", holder: claim.holder });
      expect(await finish(claim)).toEqual({ kind: "stored" });
    });

    test("of a job whose worker died ends it", async () => {
      await running({ nowMs: t0 - 60_000, heldUntilMs: t0 - 30_000 });
      expect(await stop()).toEqual({ kind: "cancelled" });
    });

    test("after the reply is told the reply", async () => {
      await finish(await running());
      expect(await stop()).toEqual({ kind: "ended", reply: reply("j-1") });
      expect(await wait()).toEqual({ kind: "replied", reply: reply("j-1") });
    });

    test("a second time is told the first one's reply", async () => {
      await stop();
      expect(await stop()).toMatchObject({ kind: "ended", reply: { status: "cancelled" } });
    });

    test("keeps its reply for the days that replies are kept", async () => {
      const asks: number[] = [];
      const watched: JobTable = {
        ...jobs,
        replyUnlessRunning: (jobId, facts) => {
          asks.push(facts.ttlS);
          return jobs.replyUnlessRunning(jobId, facts);
        },
      };
      await cancel("j-1", watched, time.clock, ttlDays);
      expect(asks).toEqual([t0 / 1_000 + 7 * 86_400]);
    });

    test.each<[does: string, race: (claim: Claim) => Promise<unknown>, end: string]>([
      ["ends meanwhile is told the reply", finish, "ended"],
      ["is given back meanwhile ends it", (claim) => requeue(claim, t0), "cancelled"],
    ])("of a job that %s", async (_does, race, end) => {
      const claim = await running();
      const racing: JobTable = {
        ...jobs,
        askCancel: async (jobId, nowMs) => {
          await race(claim);
          return await jobs.askCancel(jobId, nowMs);
        },
      };
      expect(await cancel("j-1", racing, time.clock, ttlDays)).toMatchObject({ kind: end });
    });

    test("of a job that begins to run meanwhile asks its worker", async () => {
      const racing: JobTable = {
        ...jobs,
        replyUnlessRunning: async (jobId, facts) => {
          await running();
          return await jobs.replyUnlessRunning(jobId, facts);
        },
      };
      expect(await cancel("j-1", racing, time.clock, ttlDays)).toEqual({ kind: "asked" });
    });

    test("gives up aloud where a row of a newer version refuses it", async () => {
      const refusing: JobTable = { ...jobs, replyUnlessRunning: async () => ({ kind: "lost", row: undefined }) };
      await expect(cancel("j-1", refusing, time.clock, ttlDays)).rejects.toThrow("could not be cancelled");
    });
  });
});

/** A task of Step Functions that waits by its token hears how its job ended, whatever the end, and that it lives until then. */
import { describe, expect, test } from "vitest";
import { deliveryOf } from "../../lib/core/batch.ts";
import type { Config } from "../../lib/core/config.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { announceRetryMs, sweepEveryMs, sweepLateMs, taskBeatMsMax } from "../../lib/core/limits.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { Announcer, World } from "../../lib/ports.ts";
import { processDeadLetters } from "../../lib/worker/dead-letters.ts";
import { storeReplies } from "../../lib/worker/store-replies.ts";
import { sweep } from "../../lib/worker/sweep.ts";
import { t0 } from "../a.ts";
import { aService, config as silent, passing } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const allow = { ...silent.replies.allow, taskTokens: true };
const config: Config = { ...silent, replies: { ...silent.replies, allow } };
const by = (token: string, heartbeatSeconds?: number) => ({
  replyTo: { taskToken: token, ...(heartbeatSeconds === undefined ? {} : { heartbeatSeconds }) },
});
const throttled: ScriptText = { rules: [{ do: { kind: "fail", error: "throttled", retryAfter: "600" } }] };
const refusing: ScriptText = { rules: [{ do: { kind: "fail", error: "invalid" } }] };
const down = () => Promise.reject(Object.assign(new Error("down"), { name: "TimeoutError" }));

const aStepService = (
  facts: {
    readonly script?: ScriptText;
    readonly announcer?: (world: MemoryWorld) => Partial<Announcer>;
    readonly jobs?: Partial<World["jobs"]>;
  } = {},
) =>
  aService({
    config,
    ...(facts.script === undefined ? {} : { script: facts.script }),
    around: (world) => ({
      ...world,
      jobs: { ...world.jobs, ...facts.jobs },
      announcer: { ...world.announcer, ...facts.announcer?.(world) },
    }),
  });

const good = { model: "fast", op: "converse", params: { messages: [] } };

/** As if SQS had moved what is in the queue to the dead letters. */
function endDeadLetters({ world, worker }: Service): Promise<readonly string[]> {
  const { clock, queue } = world;
  const records = queue.receive().map((record) => deliveryOf(record, "bg", clock.nowMs()));
  return passing(clock, processDeadLetters(worker, records, clock.nowMs() + 60_000));
}

/** Who was told what: the token, then the status or the code. */
const heard = ({ world }: Service) =>
  world.announcer.sent.map(({ to, reply }) => {
    const { ok, status, error } = JSON.parse(reply);
    return [to.kind === "taskToken" ? to.token : to.kind, ok === true ? status : error.code];
  });

describe("a task that waits by its token hears", () => {
  const ends: [says: string, script: ScriptText, job: JsonObject, end: string][] = [
    ["of an answer", {}, {}, "succeeded"],
    ["of a request that its model refused", refusing, {}, "provider_error"],
    ["of an envelope with a fault", {}, { modle: "fast" }, "invalid_envelope"],
    ["of a deadline that has passed", {}, { deadlineAt: t0 - 1 }, "deadline_exceeded"],
    ["of params that are not there", {}, { params: undefined, paramsRef: "s3://prompts/none" }, "params_missing"],
  ];
  test.each(ends)("%s", async (_says, script, job, end) => {
    const service = aStepService({ script });
    service.send({ ...by("t"), ...job });
    expect(await service.invoke()).toEqual([]);
    expect(heard(service)).toEqual([["t", end]]);
  });

  test("of a cancel, when its message comes", async () => {
    const service = aStepService();
    const reply = '{"ok":false,"status":"cancelled","error":{"code":"cancelled"}}';
    await service.world.jobs.replyUnlessRunning("j-1", { nowMs: t0, reply, status: "cancelled", ttlS: 1 });
    service.send(by("t"));
    expect(await service.invoke()).toEqual([]);
    expect(heard(service)).toEqual([["t", "cancelled"]]);
  });

  test("of the reply that stands, when it is a retry's with a new token", async () => {
    const service = aStepService();
    for (const token of ["first", "second", "second"]) {
      service.send(by(token));
      expect(await service.invoke()).toEqual([]);
    }
    expect(heard(service)).toEqual([
      ["first", "succeeded"],
      ["second", "succeeded"],
    ]);
    expect(service.world.models.play.record().calls).toHaveLength(1);
  });

  test("of a model that no worker knows, after its releases", async () => {
    const service = aStepService();
    service.send({ ...by("t"), model: "nobody" });
    await service.drain();
    expect(heard(service)).toEqual([["t", "model_not_configured"]]);
  });

  test("of a message that SQS gave up", async () => {
    const service = aStepService();
    service.send(by("t"));
    expect(await endDeadLetters(service)).toEqual([]);
    expect(heard(service)).toEqual([["t", "dead_lettered"]]);
  });

  test("of a message that was purged, by the sweeper", async () => {
    const service = aStepService({ script: throttled });
    service.send(by("t"));
    await service.invoke();
    const { world } = service;
    await world.clock.advance(3_600_000 + sweepLateMs + sweepEveryMs);
    await passing(world.clock, sweep({ config, world, name: "s", version: "1" }, world.clock.nowMs() + 120_000));
    expect(heard(service)).toEqual([["t", "deadline_exceeded"]]);
  });

  test("of a reply that came by the replies queue", async () => {
    const service = aStepService({ jobs: { complete: down } });
    service.send(by("t"));
    await service.invoke();
    const { world } = service;
    const store = { config, world: { ...world, queue: world.outbox.queue } };
    const records = world.outbox.queue.receive();
    expect(await passing(world.clock, storeReplies(store, records, world.clock.nowMs() + 30_000))).toEqual([]);
    expect(heard(service)).toEqual([["t", "succeeded"]]);
  });

  test("what could not be told at once, from the sweeper", async () => {
    const service = aStepService({ announcer: () => ({ announce: down }) });
    service.send(by("t"));
    expect(await service.invoke()).toEqual([]);
    const { world } = service;
    await world.clock.advance(announceRetryMs + 1);
    await passing(world.clock, sweep({ config, world, name: "s", version: "1" }, world.clock.nowMs() + 120_000));
    expect(heard(service)).toEqual([["t", "succeeded"]]);
  });

  test("that its jobId is another job's, and never that one's answer", async () => {
    const service = aStepService();
    service.send();
    await service.invoke();
    service.send({ ...by("t"), params: { messages: [] } });
    expect(await service.invoke()).toEqual([]);
    expect(heard(service)).toEqual([["t", "invalid_envelope"]]);
    expect(service.world.queue.parked).toMatchObject([{ reason: "job_id_reused" }]);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("that its copy of a good job is damaged", async () => {
    const service = aStepService();
    service.send();
    await service.invoke();
    service.send({ ...by("t"), modle: "fast" });
    expect(await service.invoke()).toEqual([]);
    expect(heard(service)).toEqual([["t", "invalid_envelope"]]);
    expect(service.world.queue.parked).toMatchObject([{ reason: "invalid_envelope" }]);
  });

  const unnamed: [says: string, body: JsonObject, field: string][] = [
    ["a jobId that names no job", { envelope: { ...good, jobId: "order (12)" }, taskToken: "t" }, "jobId"],
    ["a jobId that is missing", { envelope: good, taskToken: "t" }, "jobId"],
    ["a second envelope", { a: { ...good, jobId: "a" }, b: { ...good, jobId: "b" }, taskToken: "t" }, "body"],
    ["a jobId that is a number", { ...good, jobId: 17, ...by("t") }, "jobId"],
  ];
  test.each(unnamed)("of %s, before its message is parked", async (_says, body, field) => {
    const service = aStepService();
    service.world.queue.send(JSON.stringify(body));
    expect(await service.invoke()).toEqual([]);
    expect(heard(service)).toEqual([["t", "invalid_envelope"]]);
    const [told] = service.world.announcer.sent;
    expect(JSON.parse(told?.reply ?? "")).toMatchObject({ error: { message: expect.stringContaining(`${field} `) } });
    expect(service.world.queue.parked).toMatchObject([{ reason: "not_an_envelope" }]);
  });

  test("the same of a dead letter, whose reader never came to it", async () => {
    const service = aStepService();
    service.world.queue.send(JSON.stringify({ envelope: good, taskToken: "t" }));
    expect(await endDeadLetters(service)).toEqual([]);
    expect(heard(service)).toEqual([["t", "invalid_envelope"]]);
    expect(service.world.queue.parked).toMatchObject([{ reason: "not_an_envelope" }]);
  });

  test("nothing of a damaged copy where the token is that of the good job, which will end it", async () => {
    const service = aStepService({ script: throttled });
    service.send(by("t"));
    await service.invoke();
    service.send({ ...by("t"), modle: "fast" });
    await service.invoke();
    expect(service.world.queue.parked).toMatchObject([{ reason: "invalid_envelope" }]);
    expect(heard(service)).toEqual([]);
  });

  test("nothing where that fails for a message to be parked: it is parked all the same", async () => {
    const service = aStepService({ announcer: () => ({ announce: down }) });
    service.send();
    await service.invoke();
    service.send({ ...by("t"), params: { messages: [] } });
    expect(await service.invoke()).toEqual([]);
    expect(service.world.queue.parked).toHaveLength(1);
    expect(service.world.noted).toContainEqual(
      expect.objectContaining({ kind: "announcement-failed", by: "taskToken" }),
    );
  });

  test("nothing where the config allows no tokens", async () => {
    const service = aService({ config: silent });
    for (const job of [{}, by("t", 20), { ...by("t", 20), modle: "fast" }, { ...by("t"), jobId: 17 }]) {
      service.send(job);
      expect(await service.invoke()).toEqual([]);
    }
    expect(service.world.announcer).toMatchObject({ sent: [], beats: [] });
  });
});

describe("a task's heartbeat", () => {
  const slow = (latency: number): ScriptText => ({ latency });
  /** When the heart beat, in seconds from the beginning. */
  const watched = (script: ScriptText, answer: (beat: number) => Promise<"alive" | "gone"> = async () => "alive") => {
    const beatsAtS: number[] = [];
    const service = aStepService({
      script,
      announcer: ({ clock }) => ({
        beat: () => {
          beatsAtS.push((clock.nowMs() - t0) / 1_000);
          return answer(beatsAtS.length);
        },
      }),
    });
    return { service, beatsAtS };
  };

  test.each([
    [60, [0, 30, 60, 90]],
    [80, [0, 40, 80]],
    [200, [0, 100]],
    [99_999_999, [0]],
  ])("that is due every %i s is sent at once, then twice as often, until the job ends", async (dueS, atS) => {
    const { service, beatsAtS } = watched(slow(110_000));
    service.send(by("t", dueS));
    expect(await service.invoke()).toEqual([]);
    expect(beatsAtS).toEqual(atS);
    expect(heard(service)).toEqual([["t", "succeeded"]]);
    expect(service.world.clock.nextAtMs()).toBeUndefined();
  });

  test("is not sent for a task that wants none", async () => {
    const { service, beatsAtS } = watched(slow(110_000));
    service.send(by("t"));
    await service.invoke();
    expect(beatsAtS).toEqual([]);
  });

  test("is sent when the message goes back, and it comes again before the next is due", async () => {
    // Each of the three steps takes its time to say that it is throttled.
    const { service, beatsAtS } = watched({ latency: 25_000, ...throttled });
    service.send(by("t", 60));
    expect(await service.invoke()).toHaveLength(1);
    expect(beatsAtS).toEqual([0, 30, 60, 75]);
    expect(((service.world.queue.nextVisibleAtMs() ?? 0) - t0) / 1_000).toBe(75 + 59);
  });

  test("is not sent twice within a second, for a copy that is hidden at once", async () => {
    const { service, beatsAtS } = watched(slow(20_000));
    service.send(by("t", 600));
    service.send(by("t", 600));
    await service.invoke();
    expect(beatsAtS).toEqual([0, 0]);
  });

  test("that finds nobody is the last, and its job runs on, for its reply is kept", async () => {
    const { service, beatsAtS } = watched(slow(110_000), async (beat) => (beat === 2 ? "gone" : "alive"));
    service.send(by("t", 20));
    expect(await service.invoke()).toEqual([]);
    expect(beatsAtS).toEqual([0, 10]);
    expect(service.reply()).toMatchObject({ ok: true });
    expect(service.world.noted.filter(({ kind }) => kind === "task-gone")).toEqual([
      { kind: "task-gone", jobId: "j-1", lane: "bg", messageId: expect.any(String) },
    ]);
  });

  test("that finds nobody is not sent either when the message goes back", async () => {
    const { service, beatsAtS } = watched({ latency: 25_000, ...throttled }, async () => "gone");
    service.send(by("t", 60));
    expect(await service.invoke()).toHaveLength(1);
    expect(beatsAtS).toEqual([0]);
  });

  test("is never waited for so long that a timer overflows, which fires at once", async () => {
    const sleptMs: number[] = [];
    const service = aService({
      config,
      around: (world) => {
        const sleep: World["clock"]["sleep"] = (ms, signal) => {
          sleptMs.push(ms);
          return world.clock.sleep(ms, signal);
        };
        return { ...world, clock: Object.assign(Object.create(world.clock) as World["clock"], { sleep }) };
      },
    });
    service.send(by("t", 99_999_999));
    await service.invoke();
    expect(sleptMs).toContain(taskBeatMsMax);
    expect(Math.max(...sleptMs)).toBeLessThan(2 ** 31);
  });

  test("that fails is one line in the log, and is tried again sooner", async () => {
    const { service, beatsAtS } = watched(slow(35_000), (beat) => (beat === 2 ? down() : Promise.resolve("alive")));
    service.send(by("t", 40));
    expect(await service.invoke()).toEqual([]);
    expect(beatsAtS).toEqual([0, 20, 25]);
    expect(service.reply()).toMatchObject({ ok: true });
    expect(service.world.noted).toContainEqual(
      expect.objectContaining({ kind: "trouble", what: "send a task's heartbeat", error: "TimeoutError" }),
    );
  });

  test("that hangs keeps neither its job nor the handler", async () => {
    const { service } = watched({}, () => new Promise<never>(() => undefined));
    service.send(by("t", 20));
    expect(await service.invoke({ timeoutMs: 30_000 })).toEqual([]);
    expect(service.world.clock.nowMs() - t0).toBeLessThanOrEqual(29_000);
    expect(heard(service)).toEqual([["t", "succeeded"]]);
  });

  test("stops with the invocation, where its record hangs", async () => {
    const service = aStepService({ jobs: { claim: () => new Promise(() => undefined) } });
    service.send(by("t", 2));
    expect(await service.invoke({ timeoutMs: 30_000 })).toHaveLength(1);
    const { beats } = service.world.announcer;
    expect(beats).toHaveLength(29);
    await service.world.clock.advance(60_000);
    expect(beats).toHaveLength(29);
  });
});

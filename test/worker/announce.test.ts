/** Who waits for a reply is told of it: after it is stored, once if all goes well, and never at the cost of a second run. */
import { describe, expect, test } from "vitest";
import { cancel } from "../../lib/client/cancel.ts";
import { forget } from "../../lib/client/forget.ts";
import type { Config } from "../../lib/core/config.ts";
import { announceRetryMs } from "../../lib/core/limits.ts";
import type { ReplyTo } from "../../lib/core/reply-to.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { Announcer, World } from "../../lib/ports.ts";
import { storeReplies } from "../../lib/worker/store-replies.ts";
import { t0 } from "../a.ts";
import { aService, config as silent, passing } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const url = (name: string) => `https://sqs.us-west-2.amazonaws.com/123456789012/${name}`;
const queue = (name: string): ReplyTo => ({ kind: "sqs", queueUrl: url(name) });
const to = (name: string) => ({ replyTo: { sqs: url(name) } });
const config: Config = {
  ...silent,
  replies: { ...silent.replies, allow: { ...silent.replies.allow, sqs: [url("done"), url("other")] } },
};

const down = () => Promise.reject(Object.assign(new Error("down"), { name: "TimeoutError" }));

/** A service whose announcer, or verbs of whose job table, are as a test wants them. */
const announcing = (announcer?: (world: MemoryWorld) => Partial<Announcer>, jobs: Partial<World["jobs"]> = {}) =>
  aService({
    config,
    around: (world) => ({
      ...world,
      jobs: { ...world.jobs, ...jobs },
      announcer: { ...world.announcer, ...announcer?.(world) },
    }),
  });

const told = ({ world }: Service) => world.announcer.sent.map((it) => (it.to.kind === "sqs" ? it.to.queueUrl : it.to));
const asked = ({ world }: Service) => world.models.play.record().calls.length;
const row = ({ world }: Service, jobId = "j-1") => world.jobs.rows().find((each) => each.jobId === jobId);
const stored = (service: Service, jobId = "j-1") => row(service, jobId)?.reply;

describe("who waits for a reply", () => {
  test("is told when it is stored, word for word, and it is noted that he was", async () => {
    const rows: unknown[] = [];
    const service = announcing((world) => ({
      announce(destination, reply) {
        rows.push(world.jobs.rows()[0]?.reply === reply);
        return world.announcer.announce(destination, reply);
      },
    }));
    service.send(to("done"));
    expect(await service.invoke()).toEqual([]);
    expect(rows).toEqual([true]);
    expect(service.world.announcer.sent).toEqual([{ to: queue("done"), reply: stored(service) }]);
    expect(row(service)?.announced).toEqual([queue("done")]);
    expect(service.world.noted).toContainEqual(
      expect.objectContaining({ kind: "announced", jobId: "j-1", by: "sqs", how: "sent" }),
    );
  });

  test("is told of a big output where it lies, as the row says it", async () => {
    const text = "a".repeat(config.replies.inlineBytesMax);
    const service = aService({ config, script: { rules: [{ do: { kind: "answer", content: [{ text }] } }] } });
    service.send(to("done"));
    await service.invoke();
    expect(service.world.announcer.sent).toEqual([{ to: queue("done"), reply: stored(service) }]);
    expect(stored(service)).toContain("outputRef");
  });

  test("is told once, however often the message comes while the job runs or later", async () => {
    const service = announcing();
    for (let copies = 0; copies < 3; copies += 1) service.send(to("done"));
    await service.drain();
    expect(told(service)).toEqual([url("done")]);
  });

  test("of a job whose content was forgotten is told what is left", async () => {
    const service = announcing();
    service.send({ metadata: { patient: "Ada" } });
    await service.drain();
    await forget("j-1", service.world.jobs, service.world.objects, service.world.clock);
    service.send({ metadata: { patient: "Ada" }, ...to("done") });
    await service.drain();
    expect(service.world.announcer.sent).toEqual([{ to: queue("done"), reply: stored(service) }]);
    expect(JSON.parse(stored(service) ?? "")).toMatchObject({
      ok: true,
      metadata: {},
      forgottenAtMs: expect.any(Number),
    });
    expect(asked(service)).toBe(1);
  });

  test("of a job that was cancelled before its message came is told with the metadata of the message", async () => {
    const service = announcing();
    const { clock, jobs } = service.world;
    await cancel("j-1", jobs, clock, 7);
    service.send({ metadata: { order: "8812" }, ...to("done") });
    await service.drain();
    const replies = service.world.announcer.sent.map(({ reply }) => JSON.parse(reply));
    expect(replies).toEqual([{ ...JSON.parse(stored(service) ?? ""), metadata: { order: "8812" } }]);
    expect(replies).toMatchObject([{ status: "cancelled" }]);
  });

  test("of an envelope with a fault is told with the metadata that could be read", async () => {
    const service = announcing();
    service.send({ op: "shout", metadata: { order: "8812" }, ...to("done") });
    await service.drain();
    const replies = service.world.announcer.sent.map(({ reply }) => JSON.parse(reply));
    expect(replies).toMatchObject([{ error: { code: "invalid_envelope" }, metadata: { order: "8812" } }]);
    expect(replies).toEqual([JSON.parse(stored(service) ?? "")]);
  });

  test("at another place than the first is told the reply that stands", async () => {
    const service = announcing();
    service.send(to("done"));
    await service.invoke();
    for (let copies = 0; copies < 2; copies += 1) {
      service.send(to("other"));
      expect(await service.invoke()).toEqual([]);
    }
    expect(told(service)).toEqual([url("done"), url("other")]);
    expect(new Set(service.world.announcer.sent.map(({ reply }) => reply))).toEqual(new Set([stored(service)]));
    expect(row(service)?.announced).toEqual([queue("done"), queue("other")]);
    expect(asked(service)).toBe(1);
  });

  test("and is gone meanwhile is not told again", async () => {
    const service = announcing(() => ({ announce: async () => "gone" }));
    service.send(to("done"));
    expect(await service.invoke()).toEqual([]);
    expect(row(service)?.announced).toEqual([queue("done")]);
  });

  test("is told by the next delivery when the first died between the reply and the telling", async () => {
    let calls = 0;
    const never = () => new Promise<never>(() => undefined);
    const service = announcing(
      (world) => ({ announce: (...args) => ((calls += 1) === 1 ? never() : world.announcer.announce(...args)) }),
      { deferAnnouncement: never },
    );
    service.send(to("done"));
    expect(await service.invoke({ timeoutMs: 30_000 })).toHaveLength(1);
    expect(service.world.clock.nowMs() - t0).toBeLessThanOrEqual(29_000);
    expect(stored(service)).toBeDefined();
    await service.drain();
    expect(told(service)).toEqual([url("done")]);
    expect(asked(service)).toBe(1);
  });

  test.each([
    ["cancelled before it came", {}, "cancelled"],
    ["too late", { deadlineAt: t0 + 1 }, "expired"],
    ["refused by its model", { model: "smart" }, "failed"],
  ] as const)("for a job that is %s is told so", async (_says, facts, status) => {
    const script: ScriptText = {
      rules: [{ when: { modelId: "anthropic.claude-haiku-v1:0" }, do: { kind: "fail", error: "invalid" } }],
    };
    const service = aService({ config, script });
    if (status === "cancelled")
      await service.world.jobs.replyUnlessRunning("j-1", {
        nowMs: t0,
        reply: '{"status":"cancelled"}',
        status,
        ttlS: 1,
      });
    service.send({ ...to("done"), ...facts });
    await service.world.clock.advance(1_000);
    expect(await service.invoke()).toEqual([]);
    expect(service.world.announcer.sent.map(({ reply }) => JSON.parse(reply).status)).toEqual([status]);
  });

  test("for a job whose envelope has a fault is told that, once", async () => {
    const service = announcing();
    for (let copies = 0; copies < 2; copies += 1) {
      service.send({ ...to("done"), modle: "fast" });
      await service.world.clock.advance(copies * 1_000); // else one could not tell their replies apart
      expect(await service.invoke()).toEqual([]);
    }
    expect(service.world.announcer.sent.map(({ reply }) => JSON.parse(reply).error.code)).toEqual(["invalid_envelope"]);
  });

  test.each([
    ["is the envelope's only fault", {}],
    ["stands beside another", { modle: "fast" }],
  ])("where the config does not allow it hears nothing, though that %s", async (_says, facts) => {
    const service = announcing();
    service.send({ ...to("elsewhere"), ...facts });
    expect(await service.invoke()).toEqual([]);
    expect(service.reply()).toMatchObject({ error: { code: "invalid_envelope" } });
    expect(told(service)).toEqual([]);
  });

  test("for another job of the same name hears nothing", async () => {
    const service = announcing();
    service.send(to("done"));
    await service.invoke();
    service.send({ ...to("other"), params: { messages: [] } });
    expect(await service.invoke()).toEqual([]);
    expect(told(service)).toEqual([url("done")]);
  });
});

describe("an announcement that fails", () => {
  const failing = () => ({ announce: down });

  test("is left to the sweeper, and the message goes", async () => {
    const service = announcing(failing);
    service.send(to("done"));
    expect(await service.invoke()).toEqual([]);
    expect(row(service)).toMatchObject({
      announced: [],
      unannounced: [queue("done")],
      sweepAtMs: service.world.clock.nowMs() + announceRetryMs,
    });
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("is made by the next delivery, if one comes before the sweeper", async () => {
    let calls = 0;
    const service = announcing((world) => ({
      announce: (...args) => ((calls += 1) === 1 ? down() : world.announcer.announce(...args)),
    }));
    service.send(to("done"));
    service.send(to("done"));
    await service.drain();
    expect(row(service)).toMatchObject({ announced: [queue("done")], unannounced: [] });
    expect(asked(service)).toBe(1);
  });

  test("and cannot even be left to the sweeper brings the message again, which runs nothing", async () => {
    const service = announcing(failing, { deferAnnouncement: down });
    service.send(to("done"));
    expect(await service.invoke()).toHaveLength(1);
    await service.world.clock.advance(60_000);
    expect(await service.invoke()).toHaveLength(1);
    expect(asked(service)).toBe(1);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("to be noted after it was made is one line in the log, and may be made twice", async () => {
    const service = announcing(undefined, { markAnnounced: down });
    service.send(to("done"));
    expect(await service.invoke()).toEqual([]);
    expect(service.world.noted.filter(({ kind }) => kind === "trouble")).toMatchObject([
      { what: "note an announcement", error: "TimeoutError" },
    ]);
    expect(row(service)).toMatchObject({ announced: [], unannounced: [] });
    service.send(to("done"));
    await service.invoke();
    expect(told(service)).toEqual([url("done"), url("done")]);
  });
});

describe("a reply that came by the replies queue", () => {
  const viaOutbox = async (jobs: Partial<World["jobs"]> = {}) => {
    const service = announcing(undefined, { complete: down, ...jobs });
    service.send(to("done"));
    expect(await service.invoke()).toEqual([]);
    expect(told(service)).toEqual([]);
    return service;
  };
  const store = async ({ world }: Service, announcer: Partial<Announcer> = {}) => {
    const { queue: replies } = world.outbox;
    const records = replies.receive();
    const seen = { ...world, queue: replies, announcer: { ...world.announcer, ...announcer } };
    return passing(world.clock, storeReplies({ config, world: seen }, records, world.clock.nowMs() + 30_000));
  };

  test("is announced by the reply-store", async () => {
    const service = await viaOutbox();
    expect(await store(service)).toEqual([]);
    expect(service.world.announcer.sent).toEqual([{ to: queue("done"), reply: stored(service) }]);
    expect(row(service)?.announced).toEqual([queue("done")]);
  });

  test("too late is not: the one that stands is", async () => {
    const service = await viaOutbox();
    await service.world.clock.advance(60_000);
    const nowMs = service.world.clock.nowMs();
    await service.world.jobs.replyUnlessRunning("j-1", {
      nowMs,
      reply: '{"status":"cancelled"}',
      status: "cancelled",
      ttlS: 1,
    });
    expect(await store(service)).toEqual([]);
    expect(service.world.announcer.sent).toEqual([{ to: queue("done"), reply: '{"status":"cancelled"}' }]);
  });

  test("is left to the sweeper when nobody can be told", async () => {
    const service = await viaOutbox();
    expect(await store(service, { announce: down })).toEqual([]);
    expect(row(service)).toMatchObject({ unannounced: [queue("done")], state: "ended" });
  });
});

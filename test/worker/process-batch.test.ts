import { describe, expect, test } from "vitest";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import { deliveryOf } from "../../lib/core/batch.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import type { World } from "../../lib/ports.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import { t0 } from "../a.ts";
import { aService, config, passing } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const failing = (error: string, when: object = {}, more: object = {}): ScriptText =>
  ({ rules: [{ when, do: { kind: "fail", error, ...more } }] }) as ScriptText;
const west = { modelId: "amazon.nova-lite-v1:0", region: "us-west-2" };

const requests = ({ world }: Service) => world.models.play.record().calls;
const kinds = ({ world }: Service) => world.noted.map((it) => it.kind);
const unexpected = ({ world }: Service) =>
  world.noted.flatMap((it) => (it.kind === "trouble" && it.unexpected === true ? [it.error] : []));

async function leasesOut({ leases }: Pick<World, "leases">): Promise<number> {
  const ledgers = ["fast@west", "fast@east", "smart@west"];
  const pages = await Promise.all(ledgers.map((ledger) => leases.readPage({ ledger, page: 0 })));
  return pages.flatMap((page) => Object.keys(page ?? {})).length;
}

/** The world with one verb replaced; the rest is as it was. */
function withJobs(world: MemoryWorld, verbs: Partial<World["jobs"]>): World {
  return { ...world, jobs: { ...world.jobs, ...verbs } };
}

describe("a job that goes well", () => {
  test("is delivered, claimed, waits, takes its lease, makes its attempt, and is replied to", async () => {
    const service = aService();
    service.send();
    expect(await service.invoke()).toEqual([]);
    expect(service.world.noted.map((it) => (it.kind === "stage" ? it.stage : it.kind))).toEqual([
      "delivered",
      "claimed",
      "waiting",
      "lease-taken",
      "attempt=1/4",
      "lease-returned",
      "attempted",
      "succeeded",
      "replied",
      "invoked",
    ]);
    expect(service.reply()).toMatchObject({ ok: true, status: "succeeded", meta: { attempts: 1, target: "west" } });
  });

  test("has its name on each of its lines, and from its attempt's beginning that one's number, target and claim", async () => {
    const service = aService({ script: failing("unavailable", { nth: { to: 2 } }) });
    service.send();
    await service.invoke();
    const lines = service.world.noted.filter(({ kind }) => !["delivered", "invoked"].includes(kind));
    expect(lines.filter(({ jobId, fence }) => jobId !== "j-1" || fence !== 1)).toEqual([]);
    const told = lines.map((it) => [it.kind === "stage" ? it.stage : it.kind, it.attempt, it.target].join(" ").trim());
    expect(told).toEqual([
      "claimed",
      ...[1, 2].flatMap((attempt) => [
        `waiting ${attempt} west`,
        `lease-taken ${attempt} west`,
        `attempt=${attempt}/4 ${attempt} west`,
        `lease-returned ${attempt} west`,
        `attempted ${attempt} west`,
        `backoff ${attempt} west`,
      ]),
      "waiting 3 west",
      "lease-taken 3 west",
      "attempt=3/4 3 west",
      "lease-returned 3 west",
      "attempted 3 west",
      "succeeded 3 west",
      "replied 3 west",
    ]);
  });

  test("begins to count its attempts anew at another target", async () => {
    const service = aService({ script: failing("denied", west) });
    service.send();
    await service.invoke();
    const told = service.world.noted.flatMap((it) =>
      ["fallback", "attempted", "replied"].includes(it.kind) ? [[it.kind, it.attempt, it.target]] : [],
    );
    expect(told).toEqual([
      ["attempted", 1, "west"],
      ["fallback", 1, "east"],
      ["attempted", 1, "east"],
      ["replied", 1, "east"],
    ]);
  });

  test("leaves no lease, no timer and no message behind", async () => {
    const service = aService();
    service.send();
    await service.invoke();
    expect(await leasesOut(service.world)).toBe(0);
    expect(service.world.clock.nextAtMs()).toBeUndefined();
    expect(service.world.queue.depth()).toEqual({ visible: 0, hidden: 0 });
  });

  test("is asked of Bedrock once, however often its message comes", async () => {
    const service = aService();
    for (let copies = 0; copies < 3; copies += 1) service.send();
    await service.drain();
    expect(requests(service)).toHaveLength(1);
    expect(kinds(service).filter((kind) => kind === "replied")).toHaveLength(1);
  });

  test("has its message hidden for as long as it runs", async () => {
    const service = aService({ script: { latency: 100_000 } });
    service.send();
    const invoked = service.invoke();
    const free: boolean[] = [];
    for (let seconds = 5; seconds < 100; seconds += 5)
      service.world.clock.after(seconds * 1_000, () => free.push(service.world.queue.depth().visible > 0));
    await invoked;
    expect(free).toHaveLength(19);
    expect(free).not.toContain(true);
    expect(service.reply()?.status).toBe("succeeded");
  });
});

describe("a job whose target fails", () => {
  test("is answered by the next target when the first is throttled, without a sleep", async () => {
    const service = aService({ script: failing("throttled", west) });
    service.send();
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "east", fallbackUsed: true, sleptMs: 0 } });
  });

  test("is answered by the next model when both targets deny access", async () => {
    const service = aService({ script: failing("denied", { modelId: "amazon.nova-lite-v1:0" }) });
    service.send();
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: true, meta: { model: "smart", attempts: 3 } });
  });

  test("is tried again on the same target after a blip, holding no lease while it sleeps", async () => {
    const out: Promise<number>[] = [];
    const service = aService({
      script: failing("internal", { ...west, nth: 1 }),
      around: (world) => ({
        ...world,
        telemetry: {
          note(event) {
            if (event.kind === "stage" && event.stage === "backoff") out.push(leasesOut(world));
            world.telemetry.note(event);
          },
        },
      }),
    });
    service.send();
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "west", attempts: 2 } });
    expect(await Promise.all(out)).toEqual([0]);
  });

  test("leaves a target that hangs at the attempt's bound, once", async () => {
    const service = aService({ lane: "rt", script: { rules: [{ when: west, do: { kind: "hang" } }] } });
    service.send();
    await service.invoke();
    expect(requests(service).map(({ region }) => region)).toEqual(["us-west-2", "us-east-1"]);
    expect(service.world.clock.nowMs() - t0).toBe(45_000);
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "east" } });
  });

  test("goes back to SQS when all are throttled, and is answered when they are not any more", async () => {
    const service = aService({ script: failing("throttled", { toMs: 20_000 }) });
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(service.world.jobs.rows()[0]).toMatchObject({ state: "queued", givenBack: 1, requeues: 1, attempts: 0 });
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true, meta: { fallbackUsed: false } });
  });

  test("asks no window as small again, once a prompt has outgrown one", async () => {
    const small = { ...config.models["fast"], targets: {} };
    const { west: w, east: e } = config.models["fast"]?.targets ?? {};
    const models = {
      ...config.models,
      fast: { ...small, targets: { west: { ...w, contextWindow: 9_000 }, east: { ...e, contextWindow: 9_000 } } },
    };
    const service = aService({
      config: { ...config, models } as typeof config,
      script: { rules: [{ when: west, do: { kind: "answer", stopReason: "model_context_window_exceeded" } }] },
    });
    service.send();
    await service.invoke();
    expect(requests(service).map(({ modelId }) => modelId)).toEqual([west.modelId, "anthropic.claude-haiku-v1:0"]);
    expect(service.reply()).toMatchObject({ ok: true, meta: { model: "smart" } });
  });

  test("fails at once on a request that no target can take", async () => {
    const service = aService({ script: failing("invalid") });
    service.send();
    await service.invoke();
    expect(requests(service)).toHaveLength(1);
    expect(service.reply()).toMatchObject({
      ok: false,
      error: { code: "provider_error", kind: "fatal", retryable: false },
    });
  });

  test("comes again, with no reply, when the credentials have expired", async () => {
    const service = aService({ script: failing("expired", { nth: { to: 1 } }) });
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(service.reply()).toBeUndefined();
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });
});

describe("a refusal that the config wants another model to better", () => {
  const { fast } = config.models;
  const wary = {
    ...config,
    models: { ...config.models, fast: { ...fast, fallbackOn: ["content_filtered"] } },
  } as typeof config;
  const refused = { when: west, do: { kind: "answer", stopReason: "content_filtered" } } as const;
  const run = async (...others: NonNullable<ScriptText["rules"]>) => {
    const service = aService({ config: wary, script: { rules: [refused, ...others] } });
    service.send({ fallback: "none" });
    const again = await service.invoke();
    return { reply: service.reply(), again };
  };

  test("is bettered by the next target that answers", async () => {
    expect((await run()).reply).toMatchObject({
      ok: true,
      output: { stopReason: "end_turn" },
      meta: { target: "east", attempts: 2 },
    });
  });

  test.each(["denied", "invalid", "throttled", "internal"] as const)(
    "is the answer, with all attempts told, where the next target says %s",
    async (error) => {
      const { reply, again } = await run({ do: { kind: "fail", error } });
      expect(again).toEqual([]);
      expect(reply).toMatchObject({ ok: true, output: { stopReason: "content_filtered" }, meta: { target: "west" } });
      expect(reply?.meta.attempts).toBeGreaterThan(1);
      expect(reply?.meta.steps.map(({ step, outcome }) => `${step} ${outcome}`)).toContain(
        "fast@west content_filtered",
      );
    },
  );

  test("is the answer where what is below the next step fails: it would be paid for twice", async () => {
    const { reply, again } = await run({ do: { kind: "fail", error: "expired" } });
    expect(again).toEqual([]);
    expect(reply).toMatchObject({ ok: true, output: { stopReason: "content_filtered" }, meta: { target: "west" } });
  });

  test("is an answer like any other where the config names no such cause", async () => {
    const service = aService({ script: { rules: [refused] } });
    service.send();
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "west", attempts: 1 } });
  });
});

describe("a plan that is known to be paused", () => {
  const paused = async (lane: "rt" | "bg") => {
    const service = aService({ lane, script: failing("throttled", { toMs: 500 }, { retryAfter: "30" }) });
    service.send();
    await service.invoke();
    service.send({ jobId: "j-2" });
    await service.invoke();
    return service;
  };

  test("is hidden without a claim, and run when the pause is over", async () => {
    const service = await paused("bg");
    expect(service.world.jobs.rows().map(({ jobId }) => jobId)).toEqual(["j-1"]);
    expect(service.world.noted).toContainEqual(
      expect.objectContaining({ kind: "hidden", jobId: "j-2", lane: "bg", why: "paused" }),
    );
    await service.drain();
    expect(service.reply("j-2")).toMatchObject({ ok: true });
  });

  test("is claimed all the same for a job that somebody waits for", async () => {
    const service = await paused("rt");
    expect(service.world.jobs.rows().map(({ jobId }) => jobId)).toEqual(["j-1", "j-2"]);
  });
});

describe("payloads", () => {
  const secret = { messages: [{ role: "user", content: [{ text: "secret" }] }] };
  const logged = async (logPayloads: boolean) => {
    const service = aService({ config: { ...config, logPayloads } });
    service.send({ params: secret });
    await service.invoke();
    return JSON.stringify(service.world.noted);
  };

  test("are never noted unless the config says so", async () => {
    expect(await logged(false)).not.toContain("secret");
    expect(await logged(true)).toContain("secret");
  });
});

describe("a message that is no good job", () => {
  test("is parked when it is no envelope, and never touches its neighbours", async () => {
    const service = aService();
    service.world.queue.send('{"jobId":"torn');
    service.send();
    expect(await service.invoke()).toEqual([]);
    expect(service.world.queue.parked).toMatchObject([{ body: '{"jobId":"torn', reason: "not_an_envelope" }]);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("is answered when its job can be named, with the field", async () => {
    const service = aService();
    service.send({ jobId: "j-bad", modle: "fast" });
    await service.invoke();
    expect(service.reply("j-bad")).toMatchObject({ ok: false, error: { code: "invalid_envelope" } });
    expect(JSON.stringify(service.reply("j-bad"))).toContain("modle");
  });

  test("is counted among the replies by whoever stored it, and not by a copy that finds it there", async () => {
    const service = aService();
    service.send({ jobId: "j-bad", modle: "fast" });
    await service.invoke();
    service.send({ jobId: "j-bad", modle: "fast" });
    await service.world.clock.advance(1);
    await service.invoke();
    expect(service.world.noted.filter(({ kind }) => kind === "replied")).toEqual([
      expect.objectContaining({ jobId: "j-bad", lane: "bg", status: "failed", code: "invalid_envelope" }),
    ]);
    expect(kinds(service).filter((kind) => kind === "refused")).toHaveLength(2);
  });

  test("is acknowledged when it has been answered before: sent twice, or stored with the answer lost", async () => {
    let writes = 0;
    const service = aService({
      around: (world) =>
        withJobs(world, {
          async replyUnclaimed(jobId, ask) {
            const answered = await world.jobs.replyUnclaimed(jobId, ask);
            if ((writes += 1) === 1) throw Object.assign(new Error("lost"), { name: "TimeoutError" });
            return answered;
          },
        }),
    });
    for (let copies = 0; copies < 2; copies += 1) service.send({ jobId: "j-bad", modle: "fast" });
    await service.drain();
    expect(service.world.queue.parked).toEqual([]);
    expect(service.reply("j-bad")).toMatchObject({ error: { code: "invalid_envelope" } });
  });

  test("keeps its reply when the mended one comes under its id, which is parked: it must not be given the other's answer", async () => {
    const service = aService();
    service.send({ modle: "fast" });
    await service.invoke();
    service.send();
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: false, error: { code: "invalid_envelope" } });
    expect(service.world.queue.parked).toMatchObject([{ reason: "job_id_reused" }]);
  });

  test("is parked when it is a damaged copy of a job that has a row", async () => {
    const service = aService();
    service.send();
    await service.invoke();
    service.send({ modle: "fast" });
    await service.invoke();
    expect(service.world.queue.parked).toMatchObject([{ reason: "invalid_envelope" }]);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("is parked when its jobId is another job's", async () => {
    const service = aService();
    service.send();
    await service.invoke();
    service.send({ params: { messages: [] } });
    await service.invoke();
    expect(service.world.queue.parked).toMatchObject([{ reason: "job_id_reused" }]);
    expect(requests(service)).toHaveLength(1);
  });

  test("waits for a worker of another version when its model is unknown, then is answered", async () => {
    const service = aService();
    service.send({ model: "novel" });
    expect(await service.invoke()).toHaveLength(1);
    expect(service.world.jobs.rows()[0]).toMatchObject({ state: "queued", releases: 1 });
    expect(service.reply()).toBeUndefined();
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: false, error: { code: "model_not_configured" } });
    expect(requests(service)).toEqual([]);
  });

  test("is run by the worker that knows its model", async () => {
    const service = aService();
    service.send({ model: "novel" });
    await service.invoke();
    const models = { ...config.models, novel: { targets: { west: { ...config.models["fast"]?.targets["west"] } } } };
    const newer = createMemoryWorker(service.world, { ...config, models } as typeof config, "bg");
    await service.world.clock.advance(20_000);
    await service.invoke({ worker: newer });
    expect(service.reply()).toMatchObject({ ok: true, meta: { model: "novel" } });
  });
});

describe("invocations that share a container", () => {
  test("keep their jobs, their ends and their answers apart", async () => {
    const service = aService({
      lane: "rt",
      script: { rules: [{ when: { jobId: "j-1" }, do: { kind: "hang" } }], latency: 2_000 },
    });
    const endsAtMs = t0 + 30_000;
    service.send({ jobId: "j-1", fallback: "none" });
    const first = service.invoke({ timeoutMs: 30_000 });
    let second: readonly string[] | undefined;
    service.world.clock.after(1_000, () => {
      service.send({ jobId: "j-2" });
      const [record] = service.world.queue.receive(1);
      if (record === undefined) throw new Error("nothing to receive");
      const delivery = deliveryOf(record, "rt", service.world.clock.nowMs());
      void processBatch(service.worker, [delivery], endsAtMs + 60_000).then((again) => {
        second = again;
      });
    });
    expect(await first).toHaveLength(1);
    expect(second).toEqual([]);
    expect(service.reply("j-1")).toBeUndefined();
    expect(service.reply("j-2")).toMatchObject({ ok: true });
  });
});

describe("cancel", () => {
  test("aborts a running request within one heartbeat and answers", async () => {
    const service = aService({ script: { latency: 60_000 } });
    service.send();
    const invoked = service.invoke();
    service.world.clock.after(15_000, () => void service.world.jobs.askCancel("j-1", t0 + 15_000));
    expect(await invoked).toEqual([]);
    expect(service.reply()).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect(service.world.clock.nowMs() - t0).toBeLessThanOrEqual(25_000);
    expect(requests(service)).toMatchObject([{ outcome: "aborted" }]);
    expect(await leasesOut(service.world)).toBe(0);
  });

  test("refuses the give-back of a job that would be requeued: the worker answers", async () => {
    const service = aService({ script: failing("throttled") });
    service.send();
    const around = withJobs(service.world, {
      async giveBack(claim, ask) {
        await service.world.jobs.askCancel(claim.jobId, ask.nowMs);
        return service.world.jobs.giveBack(claim, ask);
      },
    });
    expect(await service.invoke({ worker: createMemoryWorker(around, config, "bg") })).toEqual([]);
    expect(service.reply()).toMatchObject({ status: "cancelled" });
  });
});

describe("the closing bell", () => {
  test("cuts what is still running: lease and claim go back, the message comes again, the attempt counts", async () => {
    const service = aService({ script: { rules: [{ when: { nth: { to: 1 } }, do: { kind: "hang" } }] } });
    service.send();
    expect(await service.invoke({ timeoutMs: 30_000 })).toHaveLength(1);
    expect(service.world.clock.nowMs() - t0).toBe(25_000);
    expect(service.world.jobs.rows()[0]).toMatchObject({ state: "queued", givenBack: 1, attempts: 1, bellCuts: 1 });
    expect(await leasesOut(service.world)).toBe(0);
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("ends a job whose attempts it has cut three times", async () => {
    const service = aService({ script: { rules: [{ do: { kind: "hang" } }] } });
    service.send();
    for (let deliveries = 0; deliveries < 3; deliveries += 1) {
      await service.invoke({ timeoutMs: 30_000 });
      await service.world.clock.advance(10_000);
    }
    expect(service.reply()).toMatchObject({ error: { code: "attempt_timeout" } });
  });

  test("does not wait for a promise that never settles", async () => {
    const service = aService({
      around: (world) => ({ ...world, models: { ...world.models, ask: () => new Promise(() => undefined) } }),
    });
    service.send();
    expect(await service.invoke({ timeoutMs: 60_000 })).toHaveLength(1);
    expect(service.world.clock.nowMs() - t0).toBe(59_000);
  });

  test("lets no attempt begin that the invocation cannot outlive", async () => {
    const service = aService();
    service.send();
    expect(await service.invoke({ timeoutMs: 7_000 })).toHaveLength(1);
    expect(requests(service)).toEqual([]);
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });
});

describe("a deadline", () => {
  test("that has passed when the message comes ends the job without a request", async () => {
    const service = aService();
    service.send({ deadlineAt: t0 + 1_000 });
    await service.world.clock.advance(2_000);
    await service.invoke();
    expect(service.reply()).toMatchObject({ status: "expired", error: { code: "deadline_exceeded" } });
    expect(requests(service)).toEqual([]);
  });

  test("that passes while a request runs aborts it", async () => {
    const service = aService({ script: { latency: 60_000 } });
    service.send({ deadlineAt: t0 + 20_000 });
    await service.invoke();
    expect(service.reply()).toMatchObject({ status: "expired" });
    expect(service.world.clock.nowMs() - t0).toBe(20_000);
  });
});

describe("when what is below fails", () => {
  const down = () => Promise.reject(Object.assign(new Error("down"), { name: "TimeoutError" }));

  test("a claim that cannot be written brings the message again, untouched", async () => {
    let claims = 0;
    const service = aService({
      around: (world) => withJobs(world, { claim: (ask) => ((claims += 1) === 1 ? down() : world.jobs.claim(ask)) }),
    });
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("a claim that fails once costs a job that has come often no more than seconds: its own deadline counts", async () => {
    let claims = 0;
    const service = aService({
      lane: "bulk",
      around: (world) => withJobs(world, { claim: (ask) => ((claims += 1) === 1 ? down() : world.jobs.claim(ask)) }),
    });
    service.send({ deadlineAt: t0 + 600_000 });
    const { clock, queue } = service.world;
    const records = queue.receive(1).map((record) => ({ ...deliveryOf(record, "bulk", clock.nowMs()), receives: 100 }));
    await passing(clock, processBatch(service.worker, records, clock.nowMs() + 90_000));
    expect((queue.nextVisibleAtMs() ?? 0) - clock.nowMs()).toBeLessThanOrEqual(15_000);
  });

  test("a reply that cannot be stored is tried again, and its model is not asked again", async () => {
    let tries = 0;
    const service = aService({
      around: (world) =>
        withJobs(world, {
          complete: (claim, ask) => ((tries += 1) < 5 ? down() : world.jobs.complete(claim, ask)),
        }),
    });
    service.send();
    expect(await service.invoke()).toEqual([]);
    expect(service.reply()).toMatchObject({ ok: true });
    expect(requests(service)).toHaveLength(1);
  });

  test("a message whose reply can be put nowhere is not acknowledged, and is answered when it can be", async () => {
    let isDown = true;
    const service = aService({
      around: (world) =>
        withJobs(
          { ...world, outbox: { ...world.outbox, send: down } },
          { complete: (claim, ask) => (isDown ? down() : world.jobs.complete(claim, ask)) },
        ),
    });
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(service.reply()).toBeUndefined();
    expect(service.world.queue.depth()).toEqual({ visible: 0, hidden: 1 });
    isDown = false;
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("a message that cannot be parked is not acknowledged, and is parked when it can be", async () => {
    let isDown = true;
    const service = aService({
      around: (world) => ({
        ...world,
        queue: { ...world.queue, park: (...message) => (isDown ? down() : world.queue.park(...message)) },
      }),
    });
    service.world.queue.send("no envelope");
    expect(await service.invoke()).toHaveLength(1);
    expect(service.world.queue.parked).toEqual([]);
    isDown = false;
    await service.drain();
    expect(service.world.queue.parked).toMatchObject([{ body: "no envelope" }]);
  });

  test("whoever stores a reply holds no lease", async () => {
    const out: number[] = [];
    const service = aService({
      around: (world) =>
        withJobs(world, {
          complete: async (claim, ask) => {
            out.push(await leasesOut(world));
            return world.jobs.complete(claim, ask);
          },
        }),
    });
    service.send();
    await service.invoke();
    expect(out).toEqual([0]);
  });

  test("a claim that cannot be extended is given up before another may take it: nothing is written, the message comes again", async () => {
    const service = aService({ script: { latency: 100_000 }, around: (world) => withJobs(world, { extend: down }) });
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(service.reply()).toBeUndefined();
    expect(kinds(service)).toContain("claim-lost");
    expect(await leasesOut(service.world)).toBe(0);
  });

  test("a bug of ours comes again twice and ends the third time, with no more than its class in the reply", async () => {
    const bug = () => {
      throw new TypeError("the prompt was: secret");
    };
    const service = aService({ around: (world) => ({ ...world, models: { ...world.models, ask: bug } }) });
    service.send();
    await service.drain();
    expect(service.world.jobs.rows()[0]).toMatchObject({ bugs: 3 });
    expect(service.reply()).toMatchObject({ error: { code: "internal_error" } });
    expect(JSON.stringify([service.reply(), service.world.noted])).not.toContain("secret");
    expect(unexpected(service)).toEqual(["TypeError", "TypeError", "TypeError"]);
  });

  test("a bug before the claim is told as one, and what failed below us is not", async () => {
    const refusing = (name: string) => (world: MemoryWorld) => ({
      ...world,
      jobs: { ...world.jobs, claim: () => Promise.reject(Object.assign(new Error(name), { name })) },
    });
    for (const [name, told] of [
      ["TypeError", ["TypeError"]],
      ["TimeoutError", []],
    ] as const) {
      const service = aService({ around: refusing(name) });
      service.send();
      expect(await service.invoke()).toHaveLength(1);
      expect(unexpected(service)).toEqual(told);
    }
  });

  test("a hiding that fails for one message of three is tried again by the next beat, for its message alone", async () => {
    const hidden: string[][] = [];
    const service = aService({
      script: { latency: 15_000 },
      around: (world) => ({
        ...world,
        queue: {
          ...world.queue,
          hide: async (entries) => {
            hidden.push(entries.map(({ messageId }) => messageId));
            const done = await world.queue.hide(entries.slice(1));
            const [first] = entries;
            return first === undefined ? done : [{ kind: "failed", messageId: first.messageId, name: "Down" }, ...done];
          },
        },
      }),
    });
    for (const jobId of ["j-1", "j-2", "j-3"]) service.send({ jobId });
    expect(await service.invoke()).toEqual([]);
    expect(hidden.map((entries) => entries.length)).toEqual([3, 3]);
    expect(["j-1", "j-2", "j-3"].map((jobId) => service.reply(jobId)?.status)).toEqual(Array(3).fill("succeeded"));
  });

  test("SQS in trouble changes no job's end", async () => {
    const service = aService({ around: (world) => ({ ...world, queue: { ...world.queue, hide: down } }) });
    service.send();
    expect(await service.invoke()).toEqual([]);
    expect(service.reply()).toMatchObject({ ok: true });
  });
});

describe("a job whose workers died", () => {
  const crash = async (service: Service, times: number) => {
    for (let crashes = 0; crashes < times; crashes += 1) {
      const nowMs = service.world.clock.nowMs();
      const { jobId = "", contentHash = "" } = service.world.jobs.rows().find((row) => row.jobId === "j-1") ?? {};
      const dead = { jobId, contentHash, holder: `dead-${crashes}`, lane: "bg", worker: "w" } as const;
      await service.world.jobs.claim({
        ...dead,
        nowMs,
        heldUntilMs: nowMs + 30_000,
        deadlineAtMs: t0 + 3_600_000,
        enqueuedAtMs: t0,
      });
      await service.world.clock.advance(40_000);
    }
  };
  /** A job that has a row, hence a content hash that a later claim must match. */
  const started = async () => {
    const service = aService({ script: { latency: 100, ...failing("throttled", { toMs: 1_000 }) } });
    service.send();
    await service.invoke();
    await service.world.clock.advance(60_000);
    return service;
  };

  test("runs after the fresh ones when it crashed once", async () => {
    const service = await started();
    await crash(service, 1);
    service.send({ jobId: "j-2" });
    await service.invoke();
    expect(
      requests(service)
        .slice(-2)
        .map(({ jobId }) => jobId),
    ).toEqual(["j-2", "j-1"]);
  });

  test.each([
    ["its cancel", {}, "cancelled", 10_000],
    ["its deadline", { deadlineAt: t0 + 30_000 }, "expired", 30_000],
  ])("hears of %s while it waits for the fresh ones to settle", async (_what, job, status, afterMs) => {
    const service = aService({ lane: "bulk", script: { latency: 200_000 } });
    const { clock, jobs } = service.world;
    // Without a content hash any content is its own.
    jobs.put({ jobId: "j-1", format: 1, state: "running", holder: "dead", fence: 1, heldUntilMs: t0 - 60_000 });
    service.send({ jobId: "j-2" });
    service.send(job);
    if (status === "cancelled") clock.after(5_000, () => void jobs.askCancel("j-1", clock.nowMs()));
    await service.invoke();
    expect(service.reply()).toMatchObject({ status });
    expect(((await jobs.read("j-1"))?.stageAtMs ?? 0) - t0).toBe(afterMs);
    expect(requests(service)).toHaveLength(1);
  });

  test("hears of its deadline too while it waits to run alone", async () => {
    const service = aService({ lane: "bulk", script: { latency: 200_000 } });
    const { jobs } = service.world;
    jobs.put({ jobId: "j-1", format: 1, state: "running", holder: "dead", fence: 2, heldUntilMs: t0 - 60_000 });
    service.send({ jobId: "j-2" });
    service.send({ deadlineAt: t0 + 30_000 });
    await service.invoke();
    expect(service.reply()).toMatchObject({ status: "expired" });
    expect(((await jobs.read("j-1"))?.stageAtMs ?? 0) - t0).toBe(30_000);
  });

  test("steps aside and runs alone when it crashed twice", async () => {
    const service = await started();
    await crash(service, 2);
    service.send({ jobId: "j-2" });
    expect(await service.invoke()).toEqual([]);
    expect(
      requests(service)
        .slice(-2)
        .map(({ jobId }) => jobId),
    ).toEqual(["j-2", "j-1"]);
    expect(service.world.jobs.rows().find(({ jobId }) => jobId === "j-1")).toMatchObject({ fence: 5, givenBack: 2 });
  });

  test("is answered at once when somebody cancels it before it has stepped aside", async () => {
    const service = await started();
    await crash(service, 2);
    const around = withJobs(service.world, {
      async giveBack(claim, ask) {
        await service.world.jobs.askCancel(claim.jobId, ask.nowMs);
        return service.world.jobs.giveBack(claim, ask);
      },
    });
    expect(await service.invoke({ worker: createMemoryWorker(around, config, "bg") })).toEqual([]);
    expect(service.reply()).toMatchObject({ status: "cancelled" });
  });

  test("is ended after five crashes, with what was in flight", async () => {
    const service = await started();
    await crash(service, 5);
    await service.invoke();
    expect(service.reply()).toMatchObject({ error: { code: "worker_crashed", retryable: false } });
  });
});

/** What a job sees of the limits and quotas that its config sets, from the message to the reply. */
import { describe, expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import type { ConfigInput } from "../../lib/config.ts";
import type { TargetConfig } from "../../lib/core/config.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { ModelAnswer, World } from "../../lib/ports.ts";
import { aService, unconnected } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const target = (facts: Partial<TargetConfig> = {}): TargetConfig => ({
  modelId: "amazon.nova-lite-v1:0",
  region: "us-west-2",
  limit: { start: 10, max: 10 },
  maxTokens: 1_000,
  typicalMs: 1_000,
  ...facts,
});
const config = (west: Partial<TargetConfig>, more: Partial<ConfigInput> = {}, east?: Partial<TargetConfig>) =>
  checkConfig({
    models: {
      fast: { targets: { west: target(west), ...(east && { east: target({ region: "us-east-1", ...east }) }) } },
    },
    lanes: { bg: { share: 1 }, bulk: { share: 1 } },
    ...more,
  });

const params = (maxTokens: number) => ({
  messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }],
  inferenceConfig: { maxTokens },
});
const answering = (inputTokens: number, outputTokens: number): ScriptText => ({
  rules: [{ do: { kind: "answer", inputTokens, outputTokens } }],
});
const inStream = (error: "throttled" | "too-long" | "invalid"): ScriptText => ({
  rules: [{ do: { kind: "stream-error", error, afterEvents: 0 } }],
});
const asked = ({ world }: Service) => world.models.play.record().calls.length;
const aheadMs = async ({ world }: Service, ledger = "fast@west") =>
  ((await world.leases.readClocks(ledger)).tokensAtMs ?? 0) - world.clock.nowMs();
const out = async ({ world }: Service, ledgers: readonly string[]) =>
  await Promise.all(
    ledgers.map(async (ledger) => Object.keys((await world.leases.readPage({ ledger, page: 0 })) ?? {}).length),
  );

describe("a quota of tokens a minute", () => {
  test("is charged before the request, and gets back what the answer did not use", async () => {
    const service = aService({ config: config({ tokensPerMinute: 6_000 }), script: answering(20, 80) });
    service.send({ params: params(1_000) });
    const startedAtMs = service.world.clock.nowMs();
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: true });
    const { tokensAtMs = 0 } = await service.world.leases.readClocks("fast@west");
    expect(tokensAtMs - startedAtMs).toBeCloseTo(100 * 11, 6);
  });

  test.each<[says: string, script: ScriptText, answer: ModelAnswer | undefined]>([
    ["throttled inside its stream", inStream("throttled"), undefined],
    ["found too long there", inStream("too-long"), undefined],
    ["refused there", inStream("invalid"), undefined],
    ["not sent, for want of a connection", {}, unconnected],
  ])("gets all back of a request that was %s", async (_says, script, answer) => {
    const around = (world: MemoryWorld): World =>
      answer === undefined ? world : { ...world, models: { ...world.models, ask: async () => answer } };
    const service = aService({ config: config({ tokensPerMinute: 6_000 }), script, around });
    service.send({ op: "converse_stream", params: params(1_000) });
    await service.invoke();
    expect(service.world.noted.filter(({ kind }) => kind === "attempted")).not.toEqual([]);
    expect(await aheadMs(service)).toBeLessThanOrEqual(0);
  });

  test("counts an output token as often as its burndown says", async () => {
    const service = aService({ config: config({ tokensPerMinute: 6_000, burndown: 5 }), script: answering(20, 80) });
    service.send({ params: params(1_000) });
    const startedAtMs = service.world.clock.nowMs();
    await service.invoke();
    const { tokensAtMs = 0 } = await service.world.leases.readClocks("fast@west");
    expect(tokensAtMs - startedAtMs).toBeCloseTo((20 + 5 * 80) * 11, 6);
  });

  test.each([
    ["the target was full", "throttled"],
    ["the credentials have expired", "expired"],
  ] as const)("gets all of it back when %s", async (_why, error) => {
    const script: ScriptText = { rules: [{ when: {}, do: { kind: "fail", error } }] };
    const service = aService({ config: config({ tokensPerMinute: 6_000 }), script });
    service.send({ params: params(1_000) });
    await service.invoke();
    expect(asked(service)).toBeGreaterThan(0);
    expect(await aheadMs(service)).toBeLessThanOrEqual(0);
  });

  test.each([
    ["the only page", 32],
    ["the head", 33],
  ])("gets all of it back on %s when the job is over before its request went out", async (_where, max) => {
    const around = (world: MemoryWorld): World => {
      const slowly =
        <Ask extends unknown[], Answer>(act: (...ask: Ask) => Promise<Answer>) =>
        async (...ask: Ask) => {
          await world.clock.sleep(20_000);
          return await act(...ask);
        };
      const [take, charge] = [
        slowly((...ask: Parameters<World["leases"]["take"]>) => world.leases.take(...ask)),
        slowly((...ask: Parameters<World["leases"]["charge"]>) => world.leases.charge(...ask)),
      ];
      return { ...world, leases: { ...world.leases, ...(max > 32 ? { charge } : { take }) } };
    };
    const limit = { start: max, max };
    const service = aService({ config: config({ tokensPerMinute: 6_000, limit }), around });
    const { clock } = service.world;
    const startedAtMs = clock.nowMs();
    await service.world.leases.createPage({ ledger: "fast@west", page: 0 });
    service.send({ params: params(1_000), deadlineAt: startedAtMs + 15_000 });
    await service.invoke();
    expect(service.reply()).toMatchObject({ status: "expired" });
    expect(asked(service)).toBe(0);
    expect((await service.world.leases.readClocks("fast@west")).tokensAtMs).toBe(startedAtMs);
  });

  test("that is smaller than the prompt ends the job at once, with what to do", async () => {
    const service = aService({ config: config({ tokensPerMinute: 500 }) });
    service.send({ params: params(1_000) });
    const atMs = service.world.clock.nowMs();
    expect(await service.invoke()).toEqual([]);
    expect(service.world.clock.nowMs()).toBe(atMs);
    expect(asked(service)).toBe(0);
    const reply = service.reply();
    expect(reply).toMatchObject({ ok: false, error: { code: "no_capacity", retryable: false } });
    expect(reply?.ok === false && reply.error.message).toMatch(
      /fast@west takes 500 tokensPerMinute.*raise tokensPerMinute/,
    );
  });

  test("that is smaller than the prompt is passed over for a target with a larger one", async () => {
    const service = aService({ config: config({ tokensPerMinute: 500 }, {}, { tokensPerMinute: 9_000 }) });
    service.send({ params: params(1_000) });
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "east" } });
  });

  test("that is spent sends the job to the next target", async () => {
    const service = aService({ config: config({ tokensPerMinute: 1_100 }, {}, {}), script: answering(100, 1_000) });
    for (const jobId of ["one", "two"]) {
      service.send({ jobId, params: params(1_000) });
      await service.invoke();
    }
    expect([service.reply("one")?.meta.target, service.reply("two")?.meta.target]).toEqual(["west", "east"]);
  });

  test.each(["bg", "bulk"] as const)(
    "that is spent sends a %s job back until it is not, without a lease",
    async (lane) => {
      const service = aService({ lane, config: config({ tokensPerMinute: 1_100 }), script: answering(100, 1_000) });
      service.send({ jobId: "one", params: params(1_000) });
      await service.invoke();
      service.send({ jobId: "two", params: params(1_000) });
      expect(await service.invoke()).toHaveLength(1);
      expect(await out(service, ["fast@west"])).toEqual([0]);
      const requeued = service.world.noted.findLast(({ kind }) => kind === "requeued");
      const waitS = ((await aheadMs(service)) - 5_000) / 1_000;
      expect(requeued).toMatchObject({ cause: "quota" });
      expect(requeued?.kind === "requeued" && requeued.delayS).toBeGreaterThanOrEqual(waitS);
      expect(requeued?.kind === "requeued" && requeued.delayS).toBeLessThanOrEqual(2 * waitS + 1);
      await service.drain();
      expect(service.reply("two")).toMatchObject({ ok: true, meta: { attempts: 1 } });
    },
  );

  test("that is spent for moments is waited for by a job that somebody waits for", async () => {
    const service = aService({ lane: "rt", config: config({ tokensPerMinute: 30_000 }), script: answering(3_000, 0) });
    for (const jobId of ["one", "two", "three", "four"]) {
      service.send({ jobId, params: params(1_000) });
      expect(await service.invoke()).toEqual([]);
    }
    const last = service.reply("four");
    expect(last).toMatchObject({ ok: true, meta: { deliveries: 1 } });
    expect(last?.meta.sleptMs).toBeGreaterThan(0);
  });
});

describe("limits over several targets", () => {
  const limits = { operations: { summarise: { limitMax: 1 } }, quotaGroups: { nova: { limitMax: 2 } } };
  const service = (script: ScriptText = { latency: 1_000 }) =>
    aService({ lane: "bulk", config: config({ quotaGroup: "nova" }, limits), script });
  const ledgers = ["operation:summarise", "group:nova", "fast@west"];

  test("hold while their jobs run, and are free afterwards", async () => {
    const it = service();
    for (let jobs = 0; jobs < 8; jobs += 1)
      it.send({ jobId: `job-${jobs}`, operation: jobs < 4 ? "summarise" : "other" });
    const seen: (readonly number[])[] = [];
    for (let ms = 100; ms < 60_000; ms += 100)
      it.world.clock.after(ms, () => void out(it, ledgers).then((counts) => seen.push(counts)));
    await it.drain();
    await it.world.clock.advance(60_000);
    expect(ledgers.map((_ledger, place) => Math.max(...seen.map((counts) => counts[place] ?? 0)))).toEqual([1, 2, 2]);
    expect(await out(it, ledgers)).toEqual([0, 0, 0]);
    for (let jobs = 0; jobs < 8; jobs += 1) expect(it.reply(`job-${jobs}`)).toMatchObject({ ok: true });
  });

  test.each([
    ["bg", 1_000],
    ["rt", 6_000],
  ] as const)(
    "that are full send no %s job to another target, for it would be refused there as well",
    async (lane, waitMs) => {
      const it = aService({ lane, config: config({}, limits, {}) });
      const { leases, clock } = it.world;
      await leases.createPage({ ledger: "operation:summarise", page: 0 });
      await leases.take({ ledger: "operation:summarise", page: 0 }, ["another"], 1, clock.nowMs() + 600_000);
      it.send({ operation: "summarise" });
      await it.invoke();
      const refusals = it.world.noted.filter(({ kind }) => kind === "lease-refused");
      expect(new Set(refusals.map((refusal) => refusal.target))).toEqual(new Set(["west"]));
      const waitedMs = refusals.reduce((sum, event) => sum + ("waitMs" in event ? event.waitMs : 0), 0);
      expect(waitedMs).toBe(waitMs);
    },
  );

  test("that stay full are told in the reply of a job that somebody waited for", async () => {
    const it = aService({ lane: "rt", config: config({}, limits) });
    const { leases, clock } = it.world;
    await leases.createPage({ ledger: "operation:summarise", page: 0 });
    await leases.take({ ledger: "operation:summarise", page: 0 }, ["another"], 1, clock.nowMs() + 600_000);
    it.send({ operation: "summarise" });
    await it.invoke();
    const reply = it.reply();
    expect(reply?.meta.steps).toContainEqual(
      expect.objectContaining({ outcome: "no-lease", ledger: "operation:summarise" }),
    );
    expect(reply?.ok === false && reply.error.message).toContain("fast@west limit of operation:summarise full");
    expect(it.world.noted.find(({ kind }) => kind === "lease-refused")).toMatchObject({ reason: "operation" });
  });
});

describe("a step that requires headroom", () => {
  const dear = target({ modelId: "anthropic.claude-haiku-v1:0", limit: { start: 1, max: 1 } });
  const wary = checkConfig({
    models: {
      fast: { targets: { west: target() }, fallback: [{ step: "dear@west", requireHeadroom: true }] },
      dear: { targets: { west: dear } },
    },
  });
  const run = async (freeAfterMs: number) => {
    const it = aService({
      lane: "rt",
      config: wary,
      script: {
        rules: [{ when: { modelId: "amazon.*" }, do: { kind: "fail", error: "throttled", retryAfter: "50" } }],
      },
    });
    const { leases, clock } = it.world;
    const ref = { ledger: "dear@west", page: 0 };
    await leases.createPage(ref);
    await leases.take(ref, ["another"], 1, clock.nowMs() + 600_000);
    clock.after(freeAfterMs, () => void leases.giveBack(ref, ["another"]));
    it.send();
    await it.invoke();
    return it;
  };

  test("is skipped while there is none, for nobody waits there", async () => {
    const it = await run(600_000);
    expect(it.world.noted).toContainEqual(
      expect.objectContaining({ kind: "step-skipped", target: "west", model: "dear", reason: "no-headroom" }),
    );
    expect(it.reply()?.meta.leaseWaitMs).toBe(0);
  });

  test("is tried again when there may be some", async () => {
    const it = await run(1_000);
    expect(it.reply()).toMatchObject({ ok: true, meta: { model: "dear" } });
  });
});

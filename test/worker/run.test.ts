import { describe, expect, test } from "vitest";
import { noUsage } from "../../lib/core/attempt.ts";
import { estimateTokens } from "../../lib/core/estimate.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { Clock, World } from "../../lib/ports.ts";
import { t0 } from "../a.ts";
import { aService, unconnected } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const requests = ({ world }: Service) => world.models.play.record().calls;
const never = () => new Promise<never>(() => undefined);

/** The clock of a sandbox that is frozen until `thawMs`: timers that fell due meanwhile fire late, after all answers. */
function frozen(clock: Clock, thawMs: number): Clock {
  const late = (ms: number) => (clock.nowMs() + ms < thawMs ? thawMs + 1 - clock.nowMs() : ms);
  return {
    ...clock,
    after: (ms, fire) => clock.after(ms === 0 ? 0 : late(ms), fire),
    sleep: (ms, signal) => clock.sleep(ms === 0 ? 0 : late(ms), signal),
  };
}

/** The world with a first lease that comes only after so long. */
function lateLease(world: MemoryWorld, ms: number): World {
  return {
    ...world,
    leases: {
      ...world.leases,
      async createPage(ref) {
        await world.clock.sleep(ms);
        await world.leases.createPage(ref);
      },
    },
  };
}

describe("a request goes out only for a job that is still ours and not over", () => {
  test("not when the sandbox froze while it waited for a lease, and the claim has lapsed", async () => {
    const service = aService({
      around: (world) => ({ ...lateLease(world, 40_000), clock: frozen(world.clock, t0 + 40_000) }),
    });
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(requests(service)).toEqual([]);
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("not when the wait for a lease outlasted the deadline", async () => {
    const service = aService({ around: (world) => lateLease(world, 3_000) });
    service.send({ deadlineAt: t0 + 2_000 });
    await service.invoke();
    expect(requests(service)).toEqual([]);
    expect(service.reply()).toMatchObject({ status: "expired", meta: { attempts: 0 } });
  });

  test("not when the bell has rung while the sandbox was frozen", async () => {
    const service = aService({
      around: (world) => ({ ...lateLease(world, 20_000), clock: frozen(world.clock, t0 + 20_000) }),
    });
    service.send();
    expect(await service.invoke({ timeoutMs: 24_000 })).toHaveLength(1);
    expect(requests(service)).toEqual([]);
  });
});

test("a request is cut when its claim ends, though the table never answers the heartbeat", async () => {
  const service = aService({
    script: { latency: 100_000 },
    around: (world) => ({ ...world, jobs: { ...world.jobs, extend: never } }),
  });
  service.send();
  expect(await service.invoke()).toHaveLength(1);
  expect(requests(service)).toMatchObject([{ outcome: "aborted", endedAtMs: t0 + 30_000 }]);
  expect(service.reply()).toBeUndefined();
});

describe("what an attempt may have cost for nothing", () => {
  const prompt = estimateTokens({ messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] });
  const first = { nth: 1 } as const;
  const broken = (effect: object, latency = 0): ScriptText =>
    ({ rules: [{ when: first, do: effect, latency }] }) as ScriptText;
  const inStream = (error: string) => broken({ kind: "stream-error", error, afterEvents: 0 }, 1_000);
  const streamed = { op: "converse_stream" };
  const rows: [says: string, script: ScriptText, job: JsonObject, tokens: number][] = [
    ["is its prompt and all that was allowed, when it ran its time", broken({ kind: "hang" }), {}, prompt + 1_000],
    [
      "is no more than could be written until its deadline cut it",
      broken({ kind: "hang" }),
      { deadlineAt: t0 + 1_500 },
      prompt + 750,
    ],
    ["is the same where its connection broke", broken({ kind: "reset" }, 1_000), {}, prompt + 500],
    [
      "is no more than its caller allowed",
      broken({ kind: "reset" }, 1_000),
      { params: { messages: [], inferenceConfig: { maxTokens: 64 } } },
      estimateTokens({ messages: [], inferenceConfig: { maxTokens: 64 } }) + 64,
    ],
    ["is nothing where Bedrock failed with an answer", broken({ kind: "fail", error: "internal" }, 9_000), {}, 0],
    ["nor where it was throttled", broken({ kind: "fail", error: "throttled" }, 9_000), {}, 0],
    ["nor where its stream said that it was", inStream("throttled"), streamed, 0],
    ["nor where its stream said that it was too long", inStream("too-long"), streamed, 0],
    ["nor where its stream said that it was bad", inStream("invalid"), streamed, 0],
    ["is its prompt and more where its stream broke", inStream("internal"), streamed, prompt + 500],
  ];
  test.each(rows)("%s", async (_says, script, job, tokens) => {
    const service = aService({ script });
    service.send(job);
    await service.invoke();
    const [attempt] = service.world.noted.flatMap((it) => (it.kind === "attempted" ? [it.usage] : []));
    expect(attempt?.possiblyBilledTokens).toBe(tokens);
  });

  test("is nothing where no connection came about", async () => {
    const service = aService({
      around: (world) => ({ ...world, models: { ...world.models, ask: async () => unconnected } }),
    });
    service.send();
    await service.invoke();
    const usages = service.world.noted.flatMap((it) => (it.kind === "attempted" ? [it.usage] : []));
    expect(new Set(usages)).toEqual(new Set([noUsage]));
  });
});

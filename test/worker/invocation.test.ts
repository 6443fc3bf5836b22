import { describe, expect, test } from "vitest";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { World } from "../../lib/ports.ts";
import { t0 } from "../a.ts";
import { deliveryOf } from "../../lib/core/batch.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import { aService, config, passing } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const never = () => new Promise<never>(() => undefined);
const down = () => Promise.reject(Object.assign(new Error("down"), { name: "TimeoutError" }));
const hangs: ScriptText = { rules: [{ do: { kind: "hang" } }] };

const rowOf = ({ world }: Service) => world.jobs.rows()[0];

/** The world with some verbs of one port replaced. */
function withVerbs(port: "jobs" | "leases" | "objects" | "models", verbs: (world: MemoryWorld) => object) {
  return (world: MemoryWorld): World => ({ ...world, [port]: { ...world[port], ...verbs(world) } });
}

describe("nothing outlives an invocation", () => {
  test("not the heads' read that went out beside a claim which failed", async () => {
    const service = aService({
      around: (world) => ({
        ...world,
        jobs: { ...world.jobs, claim: down },
        leases: {
          ...world.leases,
          async readBoard(names) {
            await world.clock.sleep(2_000);
            return world.leases.readBoard(names);
          },
        },
      }),
    });
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(service.world.clock.nextAtMs()).toBeUndefined();
  });

  test("not a give-back that is late after the bell, while there is time to wait for it", async () => {
    const service = aService({
      script: hangs,
      around: withVerbs("jobs", ({ clock, jobs }) => ({
        async giveBack(...ask: Parameters<typeof jobs.giveBack>) {
          await clock.sleep(2_000);
          return jobs.giveBack(...ask);
        },
      })),
    });
    service.send();
    expect(await service.invoke({ timeoutMs: 30_000 })).toHaveLength(1);
    expect(service.world.clock.nextAtMs()).toBeUndefined();
    expect(rowOf(service)).toMatchObject({ state: "queued", givenBack: 1 });
  });
});

test("no timer outlives an invocation whose SQS hangs over the bell", async () => {
  const service = aService({
    script: hangs,
    around: (world) => ({ ...world, queue: { ...world.queue, hide: never } }),
  });
  service.send();
  expect(await service.invoke({ timeoutMs: 30_000 })).toHaveLength(1);
  expect(service.world.clock.nextAtMs()).toBeUndefined();
});

test("an invocation does not last as long as its neighbours in the container wait for leases", async () => {
  const full = { limit: { start: 1, max: 1 } };
  const one = { ...config.models["fast"]?.targets["west"], ...full };
  const service = aService({
    script: { latency: 20_000 },
    config: { ...config, models: { fast: { targets: { west: one } } } } as typeof config,
  });
  const { clock, queue } = service.world;
  const endedAfterMs: number[] = [];
  for (const jobId of ["j-1", "j-2", "j-3", "j-4", "j-5"]) {
    service.send({ jobId });
    const beganAtMs = clock.nowMs();
    const records = queue.receive().map((record) => deliveryOf(record, "bg", beganAtMs));
    const invoked = processBatch(service.worker, records, t0 + 300_000);
    void invoked.then(() => endedAfterMs.push(clock.nowMs() - beganAtMs));
    await clock.advance(900);
  }
  await clock.advance(4_000);
  expect(endedAfterMs).toEqual([1_000, 1_000, 1_000, 1_000]);
});

describe("what hangs when the bell rings", () => {
  test.each<[string, (world: MemoryWorld) => World]>([
    ["S3", withVerbs("objects", () => ({ get: never }))],
    ["the heads", withVerbs("leases", () => ({ readBoard: never }))],
    ["the lease's return", withVerbs("leases", () => ({ giveBack: never }))],
    ["Bedrock's client", withVerbs("models", () => ({ ask: never }))],
  ])("keeps no claim from being given back: %s", async (_what, around) => {
    const service = aService({ script: hangs, around });
    service.send({ params: undefined, paramsRef: "s3://prompts/one" });
    service.world.objects.put("prompts", "one", '{"messages":[]}');
    expect(await service.invoke({ timeoutMs: 30_000 })).toHaveLength(1);
    expect(rowOf(service)).toMatchObject({ state: "queued", givenBack: 1 });
  });

  test("keeps no answer from being stored: the lease's return", async () => {
    const service = aService({ script: { latency: 24_000 }, around: withVerbs("leases", () => ({ giveBack: never })) });
    service.send();
    expect(await service.invoke({ timeoutMs: 30_000 })).toEqual([]);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("keeps no answer from being stored: the first write of the reply", async () => {
    let writes = 0;
    const service = aService({
      script: { latency: 16_000 },
      around: withVerbs("jobs", ({ jobs }) => ({
        complete: (...ask: Parameters<typeof jobs.complete>) => ((writes += 1) === 1 ? never() : jobs.complete(...ask)),
      })),
    });
    service.send();
    expect(await service.invoke({ timeoutMs: 30_000 })).toEqual([]);
    expect(service.reply()).toMatchObject({ ok: true });
  });
});

test("a give-back that fails is tried again, so that no crash is counted where there was none", async () => {
  let writes = 0;
  const service = aService({
    script: { rules: [{ do: { kind: "fail", error: "throttled" } }] },
    around: withVerbs("jobs", ({ jobs }) => ({
      giveBack: (...ask: Parameters<typeof jobs.giveBack>) => ((writes += 1) < 3 ? down() : jobs.giveBack(...ask)),
    })),
  });
  service.send();
  expect(await service.invoke()).toHaveLength(1);
  expect(service.world.clock.nowMs() - t0).toBe(1_000);
  expect(rowOf(service)).toMatchObject({ state: "queued", givenBack: 1 });
});

test("records that were not begun before the bell come again at once", async () => {
  const service = aService({ lane: "bulk", script: hangs });
  for (let jobs = 0; jobs < 12; jobs += 1) service.send({ jobId: `j-${jobs}` });
  const { clock, queue, noted } = service.world;
  const received = [...queue.receive(10), ...queue.receive(10)];
  const records = received.map((record) => deliveryOf(record, "bulk", clock.nowMs()));
  const again = await passing(clock, processBatch(service.worker, records, clock.nowMs() + 60_000));
  expect(again).toHaveLength(12);
  const turned = noted.flatMap((event) => (event.kind === "hidden" && event.why === "turn" ? [event.delayS] : []));
  expect(turned).toHaveLength(2);
  expect(Math.max(...turned)).toBeLessThanOrEqual(2);
  expect(service.world.jobs.rows()).toHaveLength(10);
});

test("a job whose target always fails is asked for behind the breaker, ends by its deadline, and is nowhere given up", async () => {
  const service = aService({ script: { rules: [{ do: { kind: "fail", error: "internal" } }] } });
  service.send({ model: "smart", fallback: "none", deadlineAt: t0 + 600_000 });
  await service.drain();
  expect(service.reply()).toMatchObject({ ok: false });
  // Five that open it, and a probe a minute.
  expect(service.world.models.play.record().calls.length).toBeLessThanOrEqual(5 + 10);
  expect([...service.world.queue.parked, ...service.world.queue.deadLetters]).toEqual([]);
});

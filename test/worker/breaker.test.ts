import { describe, expect, test } from "vitest";
import type { Breaker } from "../../lib/core/breaker.ts";
import { deliveryOf } from "../../lib/core/batch.ts";
import { laneLimits, leaseGraceMs } from "../../lib/core/limits.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { LeaseTable, World } from "../../lib/ports.ts";
import type { Worker } from "../../lib/worker/invocation.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import { t0 } from "../a.ts";
import { aService, config } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const target = "fast@west";
type Rule = NonNullable<ScriptText["rules"]>[number];
type Effect = Rule["do"];
const west = (effect: Effect, when: Rule["when"] = {}): Rule => ({
  when: { modelId: "amazon.nova-lite-v1:0", region: "us-west-2", ...when },
  do: effect,
});
const internal: Effect = { kind: "fail", error: "internal" };

/** A service whose `fast@west` behaves so; east and `smart` answer. */
const whereWest = (effect: Effect | undefined, facts: Parameters<typeof aService>[0] = {}, when: Rule["when"] = {}) =>
  aService({ ...facts, script: { rules: effect === undefined ? [] : [west(effect, when)] } });

const another = ({ world }: Service): Worker => createMemoryWorker(world, config, "bg");
const regions = ({ world }: Service) =>
  world.models.play
    .record()
    .calls.map(({ region }) => (region === "us-west-2" ? "west" : "east"))
    .join(" ");
const kinds = ({ world }: Service, kind: string) => world.noted.filter((it) => it.kind === kind);
const breakerOf = async ({ leases }: Pick<World, "leases">): Promise<Breaker | undefined> =>
  (await leases.readBoard({ ledgers: [], targets: [target], lanes: [], models: [] })).breakers.get(target);
const set = (service: Service, breaker: Breaker) => service.world.leases.writeBreaker(target, undefined, breaker);
const open = (ms: number): Breaker => ({ kind: "open", openUntilMs: t0 + ms });

/** One invocation of each worker at the same time, with a message each. */
async function together({ world }: Service, workers: readonly Worker[]): Promise<void> {
  const { clock, queue } = world;
  let running = workers.length;
  for (const worker of workers) {
    const received = queue.receive(1);
    const records = received.map((record) => deliveryOf(record, "bg", clock.nowMs()));
    void processBatch(worker, records, clock.nowMs() + 300_000).then((again) => {
      for (const { messageId, receiptHandle } of received) if (!again.includes(messageId)) queue.delete(receiptHandle);
      running -= 1;
    });
  }
  await clock.runUntil(() => running === 0);
}

describe("a target that fails five times in a row", () => {
  test("is left alone by all workers", async () => {
    const service = whereWest(internal);
    for (const jobId of ["one", "two"]) {
      service.send({ jobId });
      await service.invoke();
    }
    service.send({ jobId: "three" });
    await service.invoke({ worker: another(service) });
    expect(regions(service)).toBe("west west west west east west east east");
    expect(service.reply("three")?.meta.steps.map(({ outcome }) => outcome)).toEqual(["breaker-open", "answered"]);
  });

  test("is told once, for half a minute, and nobody sleeps before it goes on to the next step", async () => {
    const service = whereWest(internal);
    await set(service, { kind: "closed", failures: 4 });
    service.send();
    await service.invoke();
    expect(await breakerOf(service.world)).toEqual(open(30_000));
    expect(kinds(service, "breaker-opened")).toMatchObject([
      { model: "fast", target: "west", jobId: "j-1", untilMs: t0 + 30_000 },
    ]);
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "east", sleptMs: 0 } });
  });

  test("costs five writes, also when ten jobs of a batch fail together", async () => {
    let writes = 0;
    const around = (world: MemoryWorld): World => ({
      ...world,
      leases: {
        ...world.leases,
        writeBreaker: async (...write) => {
          writes += 1;
          await world.clock.sleep(4);
          return await world.leases.writeBreaker(...write);
        },
      },
    });
    const service = whereWest(internal, { lane: "bulk", around });
    for (let job = 0; job < 10; job += 1) service.send({ jobId: `job-${job}` });
    await service.invoke();
    expect([writes, (await breakerOf(service.world))?.kind]).toEqual([5, "open"]);
    expect(regions(service).match(/west/g)).toHaveLength(10);
  });

  test("is counted anew after a success, which is the only one that is written", async () => {
    const service = whereWest(internal, {}, { nth: { to: 4 } });
    for (let job = 0; job < 3; job += 1) {
      service.send({ jobId: `job-${job}`, model: target, fallback: "none" });
      await service.drain();
    }
    expect(await breakerOf(service.world)).toBeUndefined();
    expect(kinds(service, "breaker-opened")).toEqual([]);
    expect(kinds(service, "breaker-closed")).toEqual([]);
  });

  test.each(["throttled", "denied", "invalid"] as const)("is not one that says %s", async (error) => {
    const service = whereWest({ kind: "fail", error });
    for (let job = 0; job < 6; job += 1) {
      service.send({ jobId: `job-${job}` });
      await service.invoke();
      await service.world.clock.advance(2_000);
    }
    expect(await breakerOf(service.world)).toBeUndefined();
  });

  test("sends its jobs back until it may be probed where there is no other", async () => {
    const service = whereWest(internal, {}, { toMs: 20_000 });
    await set(service, open(30_000));
    service.send({ model: target, fallback: "none" });
    expect(await service.invoke()).toHaveLength(1);
    expect(service.world.noted).toContainEqual(expect.objectContaining({ kind: "requeued", cause: "circuit_open" }));
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "west", attempts: 1 } });
  });

  test("is none to go on to: one that hung is asked again where all after it are shut", async () => {
    const service = whereWest({ kind: "hang" }, {}, { nth: 1 });
    for (const name of ["fast@east", "smart@west"])
      await service.world.leases.writeBreaker(name, undefined, open(3_600_000));
    service.send();
    await service.invoke();
    expect(regions(service)).toBe("west west");
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("fails the job of somebody who waits, with the time of the next probe", async () => {
    const service = whereWest(internal, { lane: "rt" });
    await set(service, open(30_000));
    service.send({ model: target, fallback: "none" });
    await service.invoke();
    expect(service.reply()).toMatchObject({
      error: { code: "circuit_open", retryable: true, retryAfterMs: 30_000 },
    });
  });
});

describe("when a breaker has been open long enough", () => {
  const eight = async (service: Service) => {
    await set(service, open(30_000));
    const workers = Array.from({ length: 8 }, () => another(service));
    for (let job = 0; job < 8; job += 1) service.send({ jobId: `job-${job}` });
    await service.world.clock.advance(30_000);
    await together(service, workers);
    return workers;
  };

  test("one attempt of many workers goes, and where it succeeds all go again", async () => {
    const service = whereWest(undefined);
    const workers = await eight(service);
    expect(regions(service).split(" ").toSorted().join(" ")).toBe("east east east east east east east west");
    expect(kinds(service, "breaker-probe")).toHaveLength(1);
    expect(kinds(service, "breaker-closed")).toMatchObject([{ target: "west" }]);

    for (let job = 0; job < 8; job += 1) service.send({ jobId: `later-${job}` });
    await service.world.clock.advance(1_000);
    await together(service, workers);
    expect(regions(service).match(/west/g)).toHaveLength(9);
  });

  test("one attempt goes, and where it fails nobody does for a minute", async () => {
    const service = whereWest(internal);
    await eight(service);
    expect(await breakerOf(service.world)).toEqual({ kind: "open", openUntilMs: service.world.clock.nowMs() + 60_000 });
    expect(regions(service).match(/west/g)).toHaveLength(1);
    expect(kinds(service, "replied")).toHaveLength(8);
  });

  test("a probe that failed is not taken off its job's life", async () => {
    const service = whereWest(internal);
    await set(service, open(0));
    service.send();
    await service.invoke();
    expect(service.world.jobs.rows()[0]).toMatchObject({ attempts: 1, requests: 2 });
    expect(service.reply()?.meta.steps).toMatchObject([{ outcome: "breaker-open" }, { outcome: "answered" }]);
  });

  test("others are sent on, or back for some seconds, while the probe runs", async () => {
    const service = whereWest({ kind: "hang" });
    await set(service, open(0));
    service.send();
    const probing = service.invoke();
    let seen: Breaker | undefined;
    service.world.clock.after(2_000, () => void breakerOf(service.world).then((it) => (seen = it)));
    service.world.clock.after(2_500, () => {
      service.send({ jobId: "other", model: target, fallback: "none" });
      const records = service.world.queue.receive(1).map((it) => deliveryOf(it, "bg", t0 + 2_500));
      void processBatch(another(service), records, t0 + 200_000);
    });
    await probing;
    const longestMs = laneLimits.bg.leaseWaitMsMax + laneLimits.bg.attemptMsMax + leaseGraceMs;
    expect(seen).toMatchObject({ kind: "half-open", probe: { expiresAtMs: t0 + longestMs } });
    const [back] = kinds(service, "requeued");
    expect(back).toMatchObject({ jobId: "other", cause: "circuit_open" });
    expect(back?.kind === "requeued" && back.delayS).toBeLessThanOrEqual(6);
  });
});

describe("a probe is free again", () => {
  const held = (world: MemoryWorld) => ({
    ...world.jobs,
    extend: async () => ({ kind: "lost", row: undefined }) as const,
  });
  const full = async ({ leases }: MemoryWorld) => {
    await leases.createPage({ ledger: target, page: 0 });
    const ids = Array.from({ length: 10 }, (_, index) => `theirs-${index}`);
    await leases.take({ ledger: target, page: 0 }, ids, 10, t0 + 3_600_000);
  };
  type Way = {
    readonly west: Effect;
    readonly before?: (world: MemoryWorld) => unknown;
    readonly around?: (world: MemoryWorld) => World;
    readonly timeoutMs?: number;
  };

  test.each<[says: string, way: Way]>([
    ["after no lease was got", { west: internal, before: full }],
    [
      "after the lease table has failed",
      {
        west: internal,
        around: (world) => ({ ...world, leases: { ...world.leases, take: () => Promise.reject(new Error("down")) } }),
      },
    ],
    ["after a throttle, which says nothing", { west: { kind: "fail", error: "throttled" } }],
    ["after a refusal of the request", { west: { kind: "fail", error: "invalid" } }],
    ["after the credentials have expired", { west: { kind: "fail", error: "expired" } }],
    [
      "after a bug of ours",
      {
        west: internal,
        around: (world) => ({ ...world, models: { ...world.models, ask: () => Promise.reject(new TypeError("x")) } }),
      },
    ],
    ["after the closing bell", { west: { kind: "hang" }, timeoutMs: 30_000 }],
    [
      "after a cancel",
      { west: { kind: "hang" }, before: ({ clock, jobs }) => clock.after(5_000, () => void jobs.askCancel("j-1", t0)) },
    ],
    ["after its claim was lost", { west: { kind: "hang" }, around: (world) => ({ ...world, jobs: held(world) }) }],
    [
      "after its lease was lost",
      {
        west: { kind: "hang" },
        around: (world) => ({
          ...world,
          leases: { ...world.leases, renew: async () => ({ kind: "refused", page: {} }) as const },
        }),
        timeoutMs: 20_000,
      },
    ],
  ])("%s", async (_says, { west: effect, before, around, timeoutMs }) => {
    const service = whereWest(effect, around === undefined ? {} : { around });
    await set(service, open(0));
    await before?.(service.world);
    service.send();
    await service.invoke(timeoutMs === undefined ? {} : { timeoutMs });
    expect(kinds(service, "breaker-probe").length).toBeGreaterThan(0);
    expect(await breakerOf(service.world)).toEqual({ kind: "half-open" });
  });

  test("and the next attempt takes it", async () => {
    const service = whereWest(undefined);
    await set(service, { kind: "half-open" });
    service.send();
    await service.invoke();
    expect([regions(service), await breakerOf(service.world)]).toEqual(["west", undefined]);
  });

  test("once it has lapsed, for its worker has died", async () => {
    const service = whereWest(undefined);
    await set(service, { kind: "half-open", probe: { id: "dead", expiresAtMs: t0 + 60_000 } });
    for (const jobId of ["before", "after"]) {
      service.send({ jobId });
      await service.invoke();
      await service.world.clock.advance(60_000);
    }
    expect([regions(service), await breakerOf(service.world)]).toEqual(["east west", undefined]);
  });
});

describe("a breaker decides no job's fate", () => {
  const timeout = () => Promise.reject(Object.assign(new Error("down"), { name: "TimeoutError" }));
  /** Each write is done; of the first nobody hears. */
  const firstAnswerLost = ({ leases }: MemoryWorld): LeaseTable["writeBreaker"] => {
    let lost = 1;
    return async (...ask) => {
      const written = await leases.writeBreaker(...ask);
      return lost-- > 0 ? timeout() : written;
    };
  };
  const without = (...verbs: ("writeBreaker" | "readBoard")[]) => ({
    around: (world: MemoryWorld): World => ({
      ...world,
      leases: { ...world.leases, ...Object.fromEntries(verbs.map((verb) => [verb, timeout])) },
    }),
  });

  test("that cannot be read lets everybody through", async () => {
    const service = whereWest(undefined, without("readBoard"));
    await set(service, open(30_000));
    service.send();
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "west" } });
  });

  test("that cannot be written keeps nobody from the target, nor from an answer", async () => {
    const service = whereWest(internal, without("writeBreaker"));
    await set(service, open(0));
    service.send();
    await service.invoke();
    expect(regions(service)).toBe("west west west west east");
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "east" } });
  });

  test("whose probe was taken without an answer hears of the attempt all the same", async () => {
    const service = whereWest(undefined, {
      around: (world) => ({
        ...world,
        leases: {
          ...world.leases,
          writeBreaker: firstAnswerLost(world),
        },
      }),
    });
    await set(service, open(0));
    service.send();
    await service.invoke();
    expect(await breakerOf(service.world)).toBeUndefined();
  });

  test.each<[says: string, effect: Effect | undefined, after: Breaker | undefined]>([
    ["an answer", undefined, undefined],
    ["a throttle", { kind: "fail", error: "throttled" }, { kind: "half-open" }],
  ])("whose probe no read has shown yet hears of %s all the same", async (_says, effect, after) => {
    const service = whereWest(effect, {
      around: (world) => ({
        ...world,
        leases: {
          ...world.leases,
          writeBreaker: firstAnswerLost(world),
          readBoard: async (names) => ({
            ...(await world.leases.readBoard(names)),
            breakers: new Map([[target, open(0)]]),
          }),
        },
      }),
    });
    await set(service, open(0));
    service.send();
    await service.invoke();
    expect(await breakerOf(service.world)).toEqual(after);
  });
});

test("a failure costs one write more, and so does the success after it", async () => {
  const verbs: string[] = [];
  const service = whereWest(
    internal,
    {
      around: (world) => ({
        ...world,
        leases: new Proxy(world.leases, {
          get(table, verb: keyof World["leases"]) {
            verbs.push(verb);
            return table[verb];
          },
        }),
      }),
    },
    { nth: 1 },
  );
  service.send();
  await service.invoke();
  const writes = verbs.filter((verb) => verb !== "readBoard" && verb !== "createPage");
  expect(writes.slice(1)).toEqual(["take", "giveBack", "writeBreaker", "take", "giveBack", "writeBreaker"]);
});

test("with a target down for ten minutes the others' answers keep coming, and it is back within 65 s by one attempt", async () => {
  const minuteMs = 60_000;
  const [downFromMs, downToMs, endMs] = [minuteMs, 11 * minuteMs, 13 * minuteMs];
  const service = whereWest(internal, {}, { fromMs: downFromMs, toMs: downToMs });
  const workers = Array.from({ length: 3 }, () => another(service));
  for (let second = 0; service.world.clock.nowMs() < t0 + endMs; second += 1) {
    service.send({ jobId: `job-${second}` });
    await service.invoke({ worker: workers[second % 3] ?? service.worker });
    await service.world.clock.advance(1_000);
  }
  const calls = service.world.models.play
    .record()
    .calls.map(({ region, startedAtMs }) => ({ region, atMs: startedAtMs - t0 }));
  const [opened] = service.world.noted.flatMap((it) =>
    it.kind === "breaker-opened" ? [it.untilMs - 30_000 - t0] : [],
  );
  const during = calls.filter(({ atMs }) => atMs > (opened ?? 0) && atMs < downToMs);
  expect(during.filter(({ region }) => region === "us-east-1").length / during.length).toBeGreaterThanOrEqual(0.95);

  const after = calls.filter(({ atMs }) => atMs >= downToMs);
  const back = after.findIndex(({ region }) => region === "us-west-2");
  expect((after[back]?.atMs ?? Infinity) - downToMs).toBeLessThanOrEqual(65_000);
  expect(new Set(after.slice(back).map(({ region }) => region))).toEqual(new Set(["us-west-2"]));
  expect(service.world.jobs.rows().every(({ reply }) => reply?.includes('"ok":true'))).toBe(true);
});

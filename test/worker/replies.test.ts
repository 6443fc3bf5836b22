/** What becomes of an answer that was paid for when DynamoDB, SQS or S3 fail while it is in hand. */
import { describe, expect, test } from "vitest";
import {
  attemptsPerLifeMax,
  claimGraceMs,
  keptReplyBytesMax,
  rowReplyBytesMax,
  sqsMessageBytesMax,
} from "../../lib/core/limits.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { World } from "../../lib/ports.ts";
import { KeptReplies } from "../../lib/worker/kept-replies.ts";
import { storeReplies } from "../../lib/worker/store-replies.ts";
import { a, t0 } from "../a.ts";
import { aService, config, frail, passing } from "./a-service.ts";
import type { Service } from "./a-service.ts";

/** A port, or one verb of one. */
type Below = "jobs" | "leases" | "outbox" | "objects" | "announcer" | "complete";

/** A service whose ports fail as long as they are told to. */
function aFrailService(facts: Omit<NonNullable<Parameters<typeof aService>[0]>, "around"> = {}) {
  const down = new Set<Below>();
  const service = aService({ ...facts, around: (world) => failing(world, down) });
  return { service, down, around: failing(service.world, down) };
}

function failing(world: MemoryWorld, down: ReadonlySet<Below>): World {
  const isDown = (name: string) => [...down].some((below) => below === name);
  const guard = <Port extends object>(name: Below, port: Port) => frail(port, (verb) => isDown(name) || isDown(verb));
  return {
    ...world,
    jobs: guard("jobs", world.jobs),
    leases: guard("leases", world.leases),
    outbox: guard("outbox", world.outbox),
    objects: guard("objects", world.objects),
    announcer: guard("announcer", world.announcer),
  };
}

/** Feeds the reply-store until the replies queue is empty; answers how often it was invoked. */
async function store({ world }: Service, seen: World = world, invocationsMax = 50): Promise<number> {
  const { queue } = world.outbox;
  for (let invocations = 0; ; invocations += 1) {
    const nextMs = queue.nextVisibleAtMs();
    if (queue.depth().visible === 0) {
      if (nextMs === undefined) return invocations;
      await world.clock.advance(nextMs - world.clock.nowMs());
    }
    if (invocations === invocationsMax) throw new Error(`not empty after ${invocations} invocations`);
    const received = queue.receive();
    const replyStore = { config, world: { ...seen, queue } };
    const again = await passing(world.clock, storeReplies(replyStore, received, world.clock.nowMs() + 30_000));
    for (const { messageId, receiptHandle } of received) if (!again.includes(messageId)) queue.delete(receiptHandle);
  }
}

const asked = ({ world }: Service, jobId = "j-1") =>
  world.models.play.record().calls.filter((call) => call.jobId === jobId).length;
const kinds = ({ world }: Service) => world.noted.map(({ kind }) => kind);
const noted = ({ world }: Service, kind: string) => world.noted.filter((event) => event.kind === kind);
const long = (bytes: number): ScriptText => ({
  latency: 2_000,
  rules: [{ do: { kind: "answer", content: [{ text: "a".repeat(bytes) }] } }],
});

describe("an answer that the job table cannot take", () => {
  test("is in the replies queue before its message goes, and is stored when the table is back", async () => {
    const { service, down } = aFrailService({ script: { latency: 2_000 } });
    service.send();
    service.world.clock.after(1_000, () => down.add("jobs"));
    expect(await service.invoke()).toEqual([]);
    expect(service.reply()).toBeUndefined();
    expect(service.world.outbox.queue.depth().visible).toBe(1);
    expect(noted(service, "reply-store-failed")).toHaveLength(11);
    expect(kinds(service)).not.toContain("replied");
    await store(service);
    expect(service.reply()).toMatchObject({ ok: true, meta: { attempts: 1 } });
    expect(service.world.jobs.rows()[0]).toMatchObject({ state: "ended", stage: "succeeded", attempts: 1 });
    expect(noted(service, "replied")).toMatchObject([{ jobId: "j-1", lane: "bg", status: "succeeded" }]);
  });

  test("is tried every 5 s for as long as the table is away", async () => {
    const { service, down, around } = aFrailService({ script: { latency: 2_000 } });
    service.send();
    service.world.clock.after(1_000, () => down.add("jobs"));
    await service.invoke();
    service.world.clock.after(60_000, () => down.delete("jobs"));
    expect(await store(service, around)).toBe(13);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("is never asked for again over a minute without DynamoDB, whichever moment of the attempts it begins at", async () => {
    for (let downAtMs = 500; downAtMs < 16_000; downAtMs += 1_500) {
      const { service, down } = aFrailService({ lane: "bulk", script: { latency: 15_000 } });
      for (let jobs = 1; jobs <= 10; jobs += 1) service.send({ jobId: `j-${jobs}` });
      service.world.clock.after(downAtMs, () => down.add("jobs").add("leases"));
      service.world.clock.after(downAtMs + 60_000, () => down.clear());
      await service.invoke();
      const answered = noted(service, "attempted").length;
      expect(answered).toBe(10);
      await service.world.clock.advance(120_000);
      await store(service);
      await service.drain();
      for (let jobs = 1; jobs <= 10; jobs += 1) {
        expect(service.reply(`j-${jobs}`)).toMatchObject({ ok: true });
        expect(asked(service, `j-${jobs}`)).toBe(1);
      }
    }
  });

  test("is safe before the invocation ends that the bell catches with it in hand", async () => {
    const { service, down } = aFrailService({ script: { latency: 24_000 } });
    service.send();
    service.world.clock.after(23_000, () => down.add("jobs"));
    expect(await service.invoke({ timeoutMs: 30_000 })).toEqual([]);
    expect(service.world.clock.nowMs() - t0).toBeLessThanOrEqual(29_000);
    expect(kinds(service)).toContain("bell");
    await store(service);
    expect(service.reply()).toMatchObject({ ok: true });
    expect(asked(service)).toBe(1);
  });

  test("and that no row can hold waits in the replies queue for S3", async () => {
    const tooBig = 400_000;
    const { service, down, around } = aFrailService({ script: long(tooBig) });
    const { jobs } = around;
    const strict: World = {
      ...around,
      jobs: {
        ...jobs,
        complete: (claim, ask) => refuseOver(tooBig, ask.reply) ?? jobs.complete(claim, ask),
        storeReply: (jobId, ask) => refuseOver(tooBig, ask.reply) ?? jobs.storeReply(jobId, ask),
      },
    };
    down.add("objects");
    service.send();
    expect(await service.invoke({ worker: createMemoryWorker(strict, config, "bg") })).toEqual([]);
    service.world.clock.after(20_000, () => down.delete("objects"));
    await store(service, strict);
    expect(service.reply()).toMatchObject({ ok: true, outputRef: expect.stringContaining("s3://outputs/") });
    expect(asked(service)).toBe(1);
  });
});

function never(): Promise<never> {
  return new Promise(() => undefined);
}

function refuseOver(bytes: number, reply: string): Promise<never> | undefined {
  if (reply.length < bytes) return undefined;
  return Promise.reject(Object.assign(new Error("Item size"), { name: "ValidationException" }));
}

describe("an answer that SQS cannot take either", () => {
  const paid = async (script: ScriptText = { latency: 2_000 }) => {
    const it = aFrailService({ script });
    it.service.send();
    it.service.world.clock.after(1_000, () => it.down.add("jobs").add("outbox"));
    expect(await it.service.invoke()).toHaveLength(1);
    expect(kinds(it.service)).toContain("reply-kept");
    return it;
  };

  test("is the answer of the next delivery to this container, which asks no model", async () => {
    const { service, down } = await paid();
    down.delete("jobs");
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true, meta: { deliveries: 1, attempts: 1 } });
    expect(service.world.jobs.rows()[0]).toMatchObject({ attempts: 1 });
    expect(asked(service)).toBe(1);
    expect(service.worker.kept.unqueued).toEqual([]);
  });

  test("stays here, safe in the replies queue, for a copy of its message that comes before the table has it", async () => {
    const { service, down } = await paid();
    const hash = service.world.jobs.rows()[0]?.contentHash ?? "";
    expect(service.worker.kept.of("j-1", hash)).toBeDefined();
    down.clear();
    down.add("complete");
    await service.drain();
    expect(service.reply()).toBeUndefined();
    expect(service.world.queue.depth()).toEqual({ visible: 0, hidden: 0 });
    expect(service.worker.kept.of("j-1", hash)).toBeDefined();
    expect(service.worker.kept.unqueued).toEqual([]);
    service.send();
    down.clear();
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
    expect(asked(service)).toBe(1);
    expect(service.worker.kept.of("j-1", hash)).toBeUndefined();
  });

  /** Neither S3 nor SQS takes an answer of this size, and no row holds it. */
  const unholdable = (facts: Parameters<typeof aService>[0] = {}) =>
    aService({
      script: long(sqsMessageBytesMax),
      ...facts,
      around: (world) => ({
        ...world,
        objects: { ...world.objects, putOutput: () => Promise.reject(new Error("denied")) },
        jobs: {
          ...world.jobs,
          complete: (claim, ask) =>
            ask.reply.length > rowReplyBytesMax
              ? Promise.reject(new Error("too big"))
              : world.jobs.complete(claim, ask),
        },
      }),
    });
  /** The message comes to one container after another until its job has a reply; answers how often. */
  const comeToAll = async (service: Service, next: () => Service["worker"]) => {
    const { clock, queue } = service.world;
    let rounds = 0;
    for (; rounds < 40 && service.reply() === undefined; rounds += 1) {
      await clock.advance(Math.max(0, (queue.nextVisibleAtMs() ?? 0) - clock.nowMs()));
      await service.invoke({ worker: next() });
    }
    expect(service.reply()).toMatchObject({ ok: false, error: { code: "internal_error", retryable: true } });
    expect(queue.depth()).toEqual({ visible: 0, hidden: 0 });
    return rounds;
  };

  test("ends with an error when its job's life is over and nothing can hold it, and is not paid for by every container", async () => {
    const service = unholdable();
    service.send();
    await comeToAll(service, () => createMemoryWorker(service.worker.world, config, "bg"));
    expect(asked(service)).toBe(attemptsPerLifeMax);
  });

  test("ends so by the deadline where one container alone has it, which looks ever later", async () => {
    const service = unholdable();
    service.send({ deadlineAt: t0 + 600_000 });
    const rounds = await comeToAll(service, () => service.worker);
    expect(asked(service)).toBe(1);
    expect(service.world.jobs.rows()[0]).toMatchObject({ requeues: rounds - 1 });
    expect(service.world.clock.nowMs() - t0).toBeLessThan(700_000);
  });

  test("is no error near the deadline either where a row can hold it: the table may be back", async () => {
    let tries = 0;
    const service = aService({
      script: { latency: 2_000 },
      around: (world) => ({
        ...world,
        outbox: { send: () => Promise.reject(new Error("down")) },
        jobs: {
          ...world.jobs,
          complete: (claim, ask) =>
            (tries += 1) <= 11 ? Promise.reject(new Error("down")) : world.jobs.complete(claim, ask),
        },
      }),
    });
    service.send({ deadlineAt: t0 + 12_000 });
    expect(await service.invoke()).toHaveLength(1);
    expect(tries).toBe(11);
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("gives its claim back where the table takes that, so that no container counts as dead, however many hold it", async () => {
    const { service, down, around } = aFrailService({ script: { latency: 2_000 } });
    const containers = Array.from({ length: 6 }, () => createMemoryWorker(around, config, "bg"));
    service.send();
    down.add("complete").add("outbox");
    for (const worker of containers) {
      await service.invoke({ worker });
      const { clock, jobs, queue } = service.world;
      // No sooner than the claim would have lapsed: its answer was received.
      const { notBeforeMs, heldUntilMs = Infinity } = jobs.rows()[0] ?? {};
      expect(notBeforeMs).toBeGreaterThanOrEqual(heldUntilMs + claimGraceMs);
      await clock.advance(Math.max(0, (queue.nextVisibleAtMs() ?? 0) - clock.nowMs()));
    }
    const [row] = service.world.jobs.rows();
    expect(row).toMatchObject({ state: "queued", fence: 6, givenBack: 6 });
    down.clear();
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("stays that over deliveries in which nothing works", async () => {
    const { service, down } = await paid();
    down.delete("jobs");
    down.add("complete");
    for (let deliveries = 0; deliveries < 3; deliveries += 1) {
      await service.world.clock.advance(60_000);
      expect(await service.invoke()).toHaveLength(1);
    }
    down.clear();
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
    expect(asked(service)).toBe(1);
  });

  test("is not asked for again while the replies queue has it and the table does not", async () => {
    const { service, down } = await paid();
    down.clear();
    await service.drain();
    expect(asked(service)).toBe(1);
    const before = service.world.jobs.rows();
    await store(service);
    expect(service.reply()).toMatchObject({ ok: true });
    expect(service.world.jobs.rows()).toEqual(before);
  });

  test("goes to the replies queue beside whatever this container does next", async () => {
    const { service, down } = await paid();
    down.clear();
    await service.world.clock.advance(1_000);
    service.send({ jobId: "j-2" });
    await service.invoke();
    expect(service.worker.kept.unqueued).toEqual([]);
    await store(service);
    expect(service.reply()).toMatchObject({ ok: true });
    expect(service.reply("j-2")).toMatchObject({ ok: true });
    await service.drain();
    expect(asked(service)).toBe(1);
  });

  test("is asked for again where another container gets the message, after the claim has lapsed", async () => {
    const { service, down } = await paid();
    down.clear();
    await service.world.clock.advance(60_000);
    await service.invoke({ worker: createMemoryWorker(service.world, config, "bg") });
    expect(service.reply()).toMatchObject({ ok: true });
    expect(asked(service)).toBe(2);
  });

  test("keeps no handler waiting beyond its last call, though the replies queue never answers", async () => {
    const { service, down, around } = await paid();
    down.clear();
    const hung: World = { ...around, outbox: { send: () => new Promise(() => undefined) } };
    const worker = { ...createMemoryWorker(hung, config, "bg"), kept: service.worker.kept };
    service.send({ jobId: "j-2" });
    const atMs = service.world.clock.nowMs();
    expect(await service.invoke({ worker, timeoutMs: 20_000 })).toEqual([]);
    expect(service.world.clock.nowMs() - atMs).toBe(19_000);
    expect(service.reply("j-2")).toMatchObject({ ok: true });
  });

  test("is the answer although the job's time has run out meanwhile", async () => {
    const { service, down } = aFrailService({ script: { latency: 2_000 } });
    service.send({ deadlineAt: t0 + 20_000 });
    service.world.clock.after(1_000, () => down.add("jobs").add("outbox"));
    await service.invoke();
    down.delete("jobs");
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("is sent to the replies queue until the bell, and no longer", async () => {
    const { service, around } = aFrailService();
    const begun: number[] = [];
    const slow: World["outbox"] = {
      async send(message) {
        begun.push(service.world.clock.nowMs() - t0);
        await service.world.clock.sleep(4_000);
        return around.outbox.send(message);
      },
    };
    const worker = createMemoryWorker({ ...around, outbox: slow }, config, "bg");
    for (const jobId of ["1", "2", "3", "4", "5"]) worker.kept.keep(aReply(jobId, 9));
    service.send();
    expect(await service.invoke({ worker, timeoutMs: 15_000 })).toEqual([]);
    expect(begun).toEqual([0, 4_000, 8_000]);
    expect(service.world.clock.nowMs() - t0).toBe(12_000);
    expect(worker.kept.unqueued.map(({ jobId }) => jobId)).toEqual(["4", "5"]);
  });

  test.each<[says: string, hung: Partial<World>]>([
    ["SQS never says that it cannot take it", { outbox: { send: never } }],
    ["S3 never says so of its output", { objects: { get: never, putOutput: never } }],
  ])("is kept although %s", async (_says, ports) => {
    const { service, around, down } = aFrailService({ script: long(sqsMessageBytesMax) });
    const hung: World = { ...around, ...ports };
    const worker = createMemoryWorker(hung, config, "bg");
    service.send();
    service.world.clock.after(1_000, () => down.add("complete"));
    expect(await service.invoke({ worker, timeoutMs: 30_000 })).toHaveLength(1);
    expect(worker.kept.unqueued).toMatchObject([{ jobId: "j-1" }]);
  });

  test("loses to a cancel that came before it could be stored", async () => {
    const { service, down } = await paid();
    await service.world.jobs.askCancel("j-1", t0);
    down.delete("jobs");
    await service.drain();
    expect(service.reply()).toMatchObject({ status: "cancelled" });
    expect(asked(service)).toBe(1);
  });

  test("and that is too big for a message waits for S3, and no other waits for it", async () => {
    const { service, down } = aFrailService();
    const { kept } = service.worker;
    for (const [jobId, bytes] of [
      ["big", sqsMessageBytesMax],
      ["small", 9],
    ] as const)
      kept.keep({ ...aReply(jobId, 0), reply: JSON.stringify({ jobId, output: { text: "ü".repeat(bytes / 2) } }) });
    down.add("objects");
    service.send();
    await service.invoke();
    expect(kept.unqueued.map(({ jobId }) => jobId)).toEqual(["big"]);
    down.clear();
    service.send();
    await service.invoke();
    expect(kept.unqueued).toEqual([]);
    const sent = service.world.outbox.queue.receive().map(({ body }) => JSON.parse(body).reply);
    expect(sent).toMatchObject([
      { jobId: "small", output: {} },
      { jobId: "big", outputRef: expect.any(String) },
    ]);
  });
});

const aReply = (jobId: string, bytes: number) =>
  ({ jobId, contentHash: "h-1", status: "succeeded", reply: "a".repeat(bytes), progress: a.row() }) as const;

describe("a container's memory of replies", () => {
  const reply = aReply;
  const ids = (kept: KeptReplies) => kept.unqueued.map(({ jobId }) => jobId);

  test("holds 8 MB; the oldest go first, and are named", () => {
    const kept = new KeptReplies();
    for (const jobId of ["1", "2", "3", "4"]) expect(kept.keep(reply(jobId, keptReplyBytesMax / 4))).toEqual([]);
    expect(kept.keep(reply("5", 1)).map(({ jobId }) => jobId)).toEqual(["1"]);
    expect(kept.keep(reply("6", keptReplyBytesMax / 2)).map(({ jobId }) => jobId)).toEqual(["2", "3"]);
    expect(ids(kept)).toEqual(["4", "5", "6"]);
  });

  test("gives first what the replies queue has too, which is no loss", () => {
    const kept = new KeptReplies();
    const [old, safe] = [reply("old", keptReplyBytesMax / 2), reply("safe", keptReplyBytesMax / 2)];
    for (const each of [old, safe]) kept.keep(each);
    kept.queued(safe);
    expect(kept.keep(reply("new", keptReplyBytesMax / 2))).toEqual([]);
    expect(ids(kept)).toEqual(["old", "new"]);
    expect(kept.of("safe", "h-1")).toBeUndefined();
  });

  test("gives nothing that it alone has for what is safe", () => {
    const kept = new KeptReplies();
    kept.keep(reply("alone", keptReplyBytesMax));
    expect(kept.keep(reply("safe", 9), true)).toEqual([]);
    expect(ids(kept)).toEqual(["alone"]);
    expect(kept.unqueued).toHaveLength(1);
  });

  test("counts bytes, not letters", () => {
    const kept = new KeptReplies();
    const wide = { ...reply("wide", 0), reply: "ü".repeat(keptReplyBytesMax / 2) };
    expect(kept.keep(wide)).toEqual([]);
    expect(kept.keep(reply("1", 1))).toEqual([wide]);
  });

  test("takes only the newest of a job for safe, if that is what the replies queue has", () => {
    const kept = new KeptReplies();
    const old = reply("1", 1);
    kept.keep(old);
    kept.keep(reply("1", 2));
    kept.queued(old);
    expect(ids(kept)).toEqual(["1"]);
  });

  test("holds the newest, however big", () => {
    const kept = new KeptReplies();
    kept.keep(reply("1", 1));
    expect(kept.keep(reply("2", keptReplyBytesMax + 1)).map(({ jobId }) => jobId)).toEqual(["1"]);
    expect(ids(kept)).toEqual(["2"]);
  });

  test("makes room again when one is safe, and counts one that is kept twice once", () => {
    const kept = new KeptReplies();
    for (const jobId of ["1", "2", "2", "2"]) expect(kept.keep(reply(jobId, keptReplyBytesMax / 2))).toEqual([]);
    kept.forget("1");
    kept.forget("1");
    expect(kept.keep(reply("3", keptReplyBytesMax / 2))).toEqual([]);
    expect(ids(kept)).toEqual(["2", "3"]);
  });

  test("is of a content, not of a name alone", () => {
    const kept = new KeptReplies();
    kept.keep(reply("1", 1));
    expect(kept.of("1", "h-1")).toBeDefined();
    expect(kept.of("1", "h-2")).toBeUndefined();
  });

  test("tells whose reply had to go", async () => {
    const { service, down } = aFrailService({ script: { latency: 2_000 } });
    service.worker.kept.keep({ ...aReply("another", keptReplyBytesMax) });
    down.add("outbox");
    service.send();
    service.world.clock.after(1_000, () => down.add("jobs"));
    await service.invoke();
    expect(noted(service, "reply-dropped")).toEqual([{ kind: "reply-dropped", jobId: "another" }]);
  });

  test("that has lost a reply asks for it again", async () => {
    const { service, down } = aFrailService({ script: { latency: 2_000 } });
    service.send();
    service.world.clock.after(1_000, () => down.add("jobs").add("outbox"));
    await service.invoke();
    service.worker.kept.keep(reply("another", keptReplyBytesMax));
    down.delete("jobs");
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
    expect(asked(service)).toBe(2);
  });
});

import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { budgetName } from "../../lib/core/budget.ts";
import type { Config } from "../../lib/core/config.ts";
import type { Json } from "../../lib/core/json.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { budgetWriteMs } from "../../lib/core/limits.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { World } from "../../lib/ports.ts";
import { a, t0 } from "../a.ts";
import { aService, config as plain, frail, passing } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const day = "2026-11-29";
const midnightMs = Date.UTC(2026, 10, 30);
const usd = 1e9;

/** A thousand tokens an answer, a USD each. */
const price = { inputPerMTok: 0, outputPerMTok: 1_000 };
const answers = { when: {}, do: { kind: "answer", inputTokens: 10, outputTokens: 1_000 } } as const;
const script = { latency: 800, rules: [answers] };
const budgeted = (budgets: Partial<Record<Lane, number>>): Config => ({
  ...plain,
  models: Object.fromEntries(
    Object.entries(plain.models).map(([name, model]) => [
      name,
      {
        ...model,
        targets: Object.fromEntries(Object.entries(model.targets).map(([at, it]) => [at, { ...it, price }])),
      },
    ]),
  ),
  lanes: {
    rt: { ...plain.lanes.rt, ...(budgets.rt === undefined ? {} : { dailyBudgetUsd: budgets.rt }) },
    bg: { ...plain.lanes.bg, ...(budgets.bg === undefined ? {} : { dailyBudgetUsd: budgets.bg }) },
    bulk: { ...plain.lanes.bulk, ...(budgets.bulk === undefined ? {} : { dailyBudgetUsd: budgets.bulk }) },
  },
});

type Facts = Parameters<typeof aService>[0];
const aBudget = (budgets: Partial<Record<Lane, number>>, facts: Facts = {}) =>
  aService({ config: budgeted(budgets), script, ...facts });
const asked = ({ world }: Service) => world.models.play.record().calls.length;
const kinds = ({ world }: Service, kind: string) => world.noted.filter((it) => it.kind === kind);

async function spentOf({ world }: Pick<Service, "world">, lane: Lane, on = day): Promise<Json | undefined> {
  const of = { lane, day: on };
  const { spent } = await world.leases.readBoard({ ledgers: [], targets: [], lanes: [], models: [], budgets: [of] });
  return spent.get(budgetName(of));
}

/** Others have spent so much, and a second has passed in which that is heard. */
async function spend({ world }: Service, lane: Lane, nanoUsd: number): Promise<void> {
  await world.leases.addSpent({ lane, day }, a.addition(nanoUsd), 0);
  await world.clock.advance(1_000);
}

/** A worker that has heard of it. */
async function aSpentLane(lane: Lane, facts: Facts = {}): Promise<Service> {
  const service = aBudget({ [lane]: 5 }, { lane, ...facts });
  await spend(service, lane, 5 * usd);
  await service.worker.board.read();
  return service;
}

/** The same world, with a lease table of which some verbs are otherwise. */
const withLeases = (change: (world: MemoryWorld) => Partial<World["leases"]>) => (world: MemoryWorld) => ({
  ...world,
  leases: { ...world.leases, ...change(world) },
});

describe("what a lane's jobs cost", () => {
  test("is in the table when their invocation is over", async () => {
    const service = aBudget({ bg: 50 });
    for (const jobId of ["one", "two", "three"]) service.send({ jobId });
    await service.invoke();
    expect(await spentOf(service, "bg")).toBe(3 * usd);
    expect(kinds(service, "spent")).toEqual([
      { kind: "spent", lane: "bg", spentUsd: 3, budgetUsd: 50, usedPercent: 6 },
    ]);
  });

  test("is written once for those that end together, and at most once a second", async () => {
    const writes: string[] = [];
    const service = aBudget(
      { bg: 50 },
      {
        around: withLeases((world) => ({
          addSpent: (of, addition, ttlS) => {
            writes.push(`${addition.nanoUsd} at ${world.clock.nowMs() - t0}`);
            return world.leases.addSpent(of, addition, ttlS);
          },
        })),
      },
    );
    const { clock } = service.world;
    for (const atMs of [0, 0, 100, 999, 1_000, 5_000])
      clock.after(atMs, () => service.worker.budgets.charge("bg", 1 + atMs, Infinity));
    await clock.advance(10_000);
    expect(writes).toEqual(["2 at 0", `2102 at ${budgetWriteMs}`, "5001 at 5000"]);
  });

  test("is nothing that a lane without a budget is asked or written for", async () => {
    const verbs: string[] = [];
    const service = aBudget(
      { bulk: 50 },
      {
        around: withLeases((world) => ({
          addSpent: (...ask) => {
            verbs.push("addSpent");
            return world.leases.addSpent(...ask);
          },
        })),
      },
    );
    service.send();
    await service.invoke();
    expect(verbs).toEqual([]);
    expect(await spentOf(service, "bg")).toBeUndefined();
  });

  test("is that of the lane which a job has lowered itself to", async () => {
    const service = aBudget({ bg: 50, bulk: 50 });
    service.send({ lane: "bulk" });
    await service.invoke();
    expect([await spentOf(service, "bg"), await spentOf(service, "bulk")]).toEqual([undefined, usd]);
  });

  test("counts tokens that were perhaps billed for nothing, as if they were the dearest", async () => {
    const hang = { when: { nth: 1 }, do: { kind: "hang" } } as const;
    const service = aBudget({ bg: 50 }, { script: { ...script, rules: [hang, answers] } });
    service.send();
    await service.invoke();
    const [cut] = kinds(service, "attempted");
    const wasted = cut?.kind === "attempted" ? cut.usage.possiblyBilledTokens : 0;
    expect(wasted).toBeGreaterThan(0);
    expect(await spentOf(service, "bg")).toBe(usd + (wasted * usd) / 1_000);
  });

  test("belongs to the day on which the attempt ended", async () => {
    const service = aBudget({ bg: 50 }, { script: { ...script, latency: 20_000 } });
    await service.world.clock.advance(midnightMs - t0 - 10_000);
    service.send();
    await service.invoke();
    expect([await spentOf(service, "bg"), await spentOf(service, "bg", "2026-11-30")]).toEqual([undefined, usd]);
  });

  test("is kept for the next invocation where the table does not take it, with one word of trouble", async () => {
    let isDown = true;
    const service = aBudget(
      { bg: 50 },
      { around: (world) => ({ ...world, leases: frail(world.leases, (verb) => verb === "addSpent" && isDown) }) },
    );
    for (const jobId of ["one", "two"]) {
      service.send({ jobId });
      expect(await service.invoke()).toEqual([]);
    }
    expect(kinds(service, "trouble")).toEqual([
      { kind: "trouble", what: "write what bg has spent", error: "TimeoutError" },
    ]);
    isDown = false;
    service.send({ jobId: "three" });
    await service.invoke();
    expect(await spentOf(service, "bg")).toBe(3 * usd);
  });

  /** What becomes of one write: the answer is lost, or the request is, or it comes again when its time is over. */
  const fates = ["well", "answer lost", "request lost", "late copy"] as const;
  type Fate = (typeof fates)[number];
  const down = () => Promise.reject(Object.assign(new Error("down"), { name: "TimeoutError" }));

  /** Charges, one a second, each of whose writes meets its fate, and then all is well. */
  async function chargedUnder(meets: readonly Fate[]) {
    let writes = 0;
    let late: () => Promise<unknown> = async () => undefined;
    const service = aBudget(
      { bg: 50 },
      {
        around: withLeases(({ leases }) => ({
          addSpent: async (...ask) => {
            const fate = meets[(writes += 1) - 1] ?? "well";
            if (fate === "request lost") return down();
            await late();
            late = fate === "late copy" ? () => leases.addSpent(...ask) : async () => undefined;
            const sum = await leases.addSpent(...ask);
            return fate === "answer lost" ? down() : sum;
          },
        })),
      },
    );
    const { clock } = service.world;
    const { budgets } = service.worker;
    for (const [second] of meets.entries()) {
      budgets.charge("bg", 10 ** second, Infinity);
      await clock.advance(1_000);
    }
    await budgets.write(Infinity);
    return { service, charged: meets.reduce((sum, _fate, second) => sum + 10 ** second, 0) };
  }

  test("is counted once, however often its answer is lost", async () => {
    const { service, charged } = await chargedUnder([
      "answer lost",
      "answer lost",
      "answer lost",
      "well",
      "answer lost",
    ]);
    expect(await spentOf(service, "bg")).toBe(charged);
  });

  test("is counted once, whatever becomes of requests and answers", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...fates), { maxLength: 8 }), async (meets) => {
        const { service, charged } = await chargedUnder(meets);
        expect((await spentOf(service, "bg")) ?? 0).toBe(charged);
      }),
      { numRuns: 200 },
    );
  });

  test("begins no second write after the last call", async () => {
    let isDown = true;
    const atMs: number[] = [];
    const service = aBudget(
      { bg: 50 },
      {
        around: withLeases(({ clock, leases }) => ({
          addSpent: async (...ask) => {
            atMs.push(clock.nowMs() - t0);
            await clock.sleep(800);
            return isDown ? down() : leases.addSpent(...ask);
          },
        })),
      },
    );
    const { budgets } = service.worker;
    budgets.charge("bg", 1, Infinity);
    await service.world.clock.advance(2_000);
    isDown = false;
    budgets.charge("bg", 2, t0 + 2_500);
    await service.world.clock.advance(2_000);
    expect(atMs).toEqual([0, 2_000]);
    await passing(service.world.clock, budgets.write(Infinity));
    expect(await spentOf(service, "bg")).toBe(3);
  });

  test("is no lane's business that hangs: the handler returns in time", async () => {
    const service = aBudget(
      { bg: 50 },
      { around: withLeases(() => ({ addSpent: () => new Promise<never>(() => undefined) })) },
    );
    service.send();
    expect(await service.invoke({ timeoutMs: 30_000 })).toEqual([]);
    expect(service.world.clock.nowMs() - t0).toBe(29_000);
  });
});

describe("a lane that has spent its budget", () => {
  test("lets its messages wait without a claim, and runs them after midnight", async () => {
    const service = await aSpentLane("bulk");
    service.send({ jobId: "one" });
    service.send({ jobId: "two" });
    expect(await service.invoke()).toHaveLength(2);
    expect(kinds(service, "hidden")).toMatchObject([{ why: "budget" }, { why: "budget" }]);
    expect(kinds(service, "claimed")).toEqual([]);
    await service.drain(1_000);
    expect(service.world.clock.nowMs()).toBeGreaterThan(midnightMs);
    expect(service.world.clock.nowMs()).toBeLessThan(midnightMs + 3_600_000);
    expect([service.reply("one"), service.reply("two")]).toMatchObject([{ ok: true }, { ok: true }]);
  });

  test("claims what comes to a worker that has not heard of it, and asks nobody", async () => {
    const service = aBudget({ bg: 5 });
    await spend(service, "bg", 5 * usd);
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(kinds(service, "requeued")).toMatchObject([{ cause: "budget" }]);
    expect(asked(service)).toBe(0);
  });

  test("is found spent by all workers within a second, by its own at once", async () => {
    const service = aBudget({ bg: 2 });
    const other = createMemoryWorker(service.world, budgeted({ bg: 2 }), "bg");
    service.send({ jobId: "warm" });
    await service.invoke({ worker: other });
    service.send({ jobId: "last" });
    await service.invoke();
    for (const worker of [service.worker, other]) {
      service.send({ jobId: "over" });
      await service.invoke({ worker });
    }
    expect(asked(service)).toBe(2);
  });

  test("answers a job near its deadline by the budget's name, and may be asked again", async () => {
    const service = await aSpentLane("bg");
    service.send({ deadlineAt: t0 + 60_000 });
    await service.drain();
    const nowMs = service.world.clock.nowMs();
    expect(nowMs).toBeGreaterThan(t0 + 45_000);
    expect(nowMs).toBeLessThan(t0 + 60_000);
    expect(service.reply()).toMatchObject({
      status: "failed",
      error: { code: "budget_exhausted", retryable: true, retryAfterMs: midnightMs - nowMs },
    });
  });

  test("answers somebody who waits at once", async () => {
    const service = await aSpentLane("rt");
    const nowMs = service.world.clock.nowMs();
    service.send();
    expect(await service.invoke()).toEqual([]);
    expect(service.world.clock.nowMs()).toBe(nowMs);
    expect(service.reply()).toMatchObject({
      error: { code: "budget_exhausted", retryable: true, retryAfterMs: midnightMs - nowMs },
      meta: { attempts: 0, steps: [{ outcome: "budget-spent" }, {}, {}] },
    });
  });

  test("keeps somebody's job whose deadline is past midnight until then", async () => {
    const service = aBudget({ rt: 5 }, { lane: "rt" });
    await service.world.clock.advance(midnightMs - t0 - 20_000);
    await spend(service, "rt", 5 * usd);
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
    expect(kinds(service, "requeued")).toMatchObject([{ cause: "budget" }]);
  });

  test("stops a job between its attempts", async () => {
    const fail = { when: { nth: 1 }, do: { kind: "fail", error: "internal" } } as const;
    const service = aBudget({ bg: 5 }, { script: { ...script, rules: [fail, answers] } });
    service.world.clock.after(
      500,
      () => void service.world.leases.addSpent({ lane: "bg", day }, a.addition(5 * usd), 0),
    );
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(asked(service)).toBe(1);
  });

  test("lets the attempt end that is under way", async () => {
    const service = aBudget({ bg: 5 }, { script: { ...script, latency: 20_000 } });
    service.world.clock.after(
      5_000,
      () => void service.world.leases.addSpent({ lane: "bg", day }, a.addition(5 * usd), 0),
    );
    service.send();
    expect(await service.invoke()).toEqual([]);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("is another than that of a job which has lowered its own", async () => {
    const service = await aSpentLane("bulk", { lane: "bg" });
    service.send({ jobId: "bg" });
    service.send({ jobId: "bulk", lane: "bulk" });
    await service.invoke();
    expect(service.reply("bg")).toMatchObject({ ok: true });
    expect(service.reply("bulk")).toBeUndefined();
  });

  test("waits for its operator too: messages come again to hear of him", async () => {
    const service = await aSpentLane("bulk");
    service.send();
    await service.invoke();
    await service.world.leases.setOverride({ kind: "lane", name: "bulk", override: { budgetUsd: 10 } });
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
    expect(service.world.clock.nowMs()).toBeLessThan(t0 + 1_802_000);
    expect(kinds(service, "spent")).toMatchObject([{ spentUsd: 6, budgetUsd: 10, usedPercent: 60 }]);
  });

  test("may be made to by an operator who gives it less", async () => {
    const service = aBudget({ bg: 5 });
    await service.world.leases.setOverride({ kind: "lane", name: "bg", override: { budgetUsd: 0 } });
    service.send();
    expect(await service.invoke()).toHaveLength(1);
    expect(asked(service)).toBe(0);
  });

  test("spends no more than what is under way when it is spent", async () => {
    const service = aBudget({ bulk: 12 }, { lane: "bulk" });
    for (let job = 0; job < 40; job += 1) service.send({ jobId: `job-${job}`, deadlineAt: t0 + 3_600_000 });
    await service.drain(1_000);
    // Ten are under way at a time: the second batch passes the budget.
    expect(await spentOf(service, "bulk")).toBe(20 * usd);
    const ends = service.world.jobs.rows().map(({ jobId }) => service.reply(jobId));
    expect(ends.filter((reply) => reply?.ok)).toHaveLength(20);
    expect(ends.filter((reply) => reply?.ok === false && reply.error.code === "budget_exhausted")).toHaveLength(20);
  });
});

describe("a day's row that cannot be", () => {
  const readAs = (read: () => Json | undefined) =>
    withLeases((world) => ({
      readBoard: async (names) => {
        const rows = await world.leases.readBoard(names);
        const value = read();
        return value === undefined ? rows : { ...rows, spent: new Map([["bg#2026-11-29", value]]) };
      },
    }));

  test("understood stops no lane, and is told once", async () => {
    const service = aBudget({ bg: 5 }, { around: readAs(() => "much") });
    for (const jobId of ["one", "two"]) {
      service.send({ jobId });
      await service.invoke();
      await service.world.clock.advance(1_000);
    }
    expect(asked(service)).toBe(2);
    expect(kinds(service, "trouble")).toEqual([
      { kind: "trouble", what: "read what bg has spent", error: "spentNanoUsd is no amount" },
    ]);
  });

  test("understood any more leaves a lane as it was known, and another trouble is told anew", async () => {
    let value: Json | undefined;
    const service = aBudget({ bg: 5 }, { around: readAs(() => value) });
    await spend(service, "bg", 5 * usd);
    for (const now of [undefined, null, undefined, -1]) {
      value = now;
      service.send({ jobId: `${now}` });
      await service.invoke();
      await service.world.clock.advance(1_000);
    }
    expect(asked(service)).toBe(0);
    expect(kinds(service, "trouble")).toHaveLength(2);
  });

  test("read leaves a lane as it was known", async () => {
    let isDown = false;
    const service = aBudget(
      { bg: 5 },
      { around: (world) => ({ ...world, leases: frail(world.leases, (verb) => verb === "readBoard" && isDown) }) },
    );
    await spend(service, "bg", 5 * usd);
    await service.worker.board.read();
    isDown = true;
    await service.world.clock.advance(1_000);
    service.send();
    await service.invoke();
    expect(asked(service)).toBe(0);
  });
});

test("a sum that was learned by writing is not undone by a read that began before", async () => {
  let answerRead = () => {};
  const service = aBudget(
    { bg: 1 },
    {
      around: withLeases((world) => ({
        readBoard: async (names) => {
          const rows = await world.leases.readBoard(names);
          if (world.clock.nowMs() > t0) await new Promise<void>((resolve) => (answerRead = resolve));
          return rows;
        },
      })),
    },
  );
  const { board, budgets } = service.worker;
  await board.read();
  await service.world.clock.advance(1_000);
  const reading = board.read();
  budgets.charge("bg", usd, Infinity);
  await budgets.write(Infinity);
  answerRead();
  await reading;
  expect(budgets.pauseOf("bg")).toEqual({ untilMs: midnightMs, spentUsd: 1, budgetUsd: 1 });
});

test("nothing is begun after the last call: it goes with the next invocation", async () => {
  const service = aBudget({ bg: 50 });
  const { budgets, world } = service.worker;
  const nowMs = world.clock.nowMs();
  budgets.charge("bg", usd, nowMs);
  await budgets.write(nowMs);
  await service.world.clock.advance(10_000);
  expect(await spentOf(service, "bg")).toBeUndefined();
  expect(budgets.pauseOf("bg")).toBeUndefined();
  service.send();
  await service.invoke();
  expect(await spentOf(service, "bg")).toBe(2 * usd);
});

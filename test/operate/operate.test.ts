import { describe, expect, test } from "vitest";
import type { Depths } from "../../lib/core/overview.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { readOverview } from "../../lib/operate/read-overview.ts";
import { changeOverride } from "../../lib/operate/set-override.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import { aService, config } from "../worker/a-service.ts";
import { a, t0 } from "../a.ts";

const depths: Depths = { bg: { visible: 1, hidden: 2 } };
const throttled: ScriptText = { rules: [{ do: { kind: "fail", error: "throttled" } }] };

describe("who looks on", () => {
  const look = (service: ReturnType<typeof aService>, looking?: Parameters<typeof readOverview>[2]) =>
    readOverview({ ...service.world, queues: { read: async () => depths } }, config, looking);

  test("sees a job in a worker's hands, and the lease that its container holds", async () => {
    const service = aService({ script: { latency: 15_000 } });
    service.send({ jobId: "slow" });
    const running = service.invoke();
    await service.world.clock.advance(12_000);
    const seen = await look(service);
    expect(seen.jobs).toMatchObject([{ jobId: "slow", doing: "asking", why: "fast@west works on it, attempt 1 of 4" }]);
    const target = seen.ledgers.find(({ name }) => name === "fast@west");
    expect(target).toMatchObject({ inUse: 1, leases: [{ worker: "memory-bg", jobIds: ["slow"] }] });
    expect(seen.lanes[1]?.depth).toEqual({ visible: 1, hidden: 2 });
    await service.world.clock.advance(20_000);
    await running;
    expect((await look(service)).jobs).toEqual([]);
  });

  test("sees why a job was handed back, by the index alone", async () => {
    const service = aService({ script: throttled });
    service.send({ jobId: "waits" });
    const running = service.invoke();
    await service.world.clock.advance(60_000);
    await running;
    const seen = await look(service, { pagesMax: 0, jobsMax: 10 });
    expect(seen.jobs).toMatchObject([{ jobId: "waits", doing: expect.stringMatching(/requeued|due/) }]);
    expect(seen.missing).toBe("any");
    expect((await look(service)).missing).toBe("none");
  });

  test("sees what a lane has spent of its budget today", async () => {
    const service = aService();
    const lanes = { ...config.lanes, bg: { ...config.lanes.bg, dailyBudgetUsd: 5 } };
    await service.world.leases.addSpent({ lane: "bg", day: "2026-11-29" }, a.addition(4e9), 0);
    const watched = { ...service.world, queues: { read: async () => depths } };
    const seen = await readOverview(watched, { ...config, lanes });
    expect(seen.lanes.map(({ budget }) => budget?.spentUsd)).toEqual([undefined, 4, undefined]);
  });

  test("is told when there are more than he wants to see", async () => {
    const service = aService();
    for (const jobId of ["a", "b", "c", "d", "e"]) service.world.jobs.put({ jobId, state: "running" });
    const some = await look(service, { pagesMax: 9, jobsMax: 2 });
    expect([some.jobs.length, some.missing]).toEqual([2, "younger"]);
    const page = await look(service, { pagesMax: 1, jobsMax: 9 });
    expect([page.jobs.length, page.missing]).toEqual([3, "any"]);
    const whole = await look(service, { pagesMax: 2, jobsMax: 9 });
    expect([whole.jobs.length, whole.missing]).toEqual([5, "none"]);
  });

  test("sees the oldest where he wants to see few, wherever they are read", async () => {
    const service = aService();
    const { jobs } = service.world;
    for (const [age, jobId] of ["e", "d", "c", "b", "a"].entries())
      jobs.put({ jobId, state: "running", enqueuedAtMs: t0 + age });
    const few = await look(service, { pagesMax: 9, jobsMax: 2 });
    expect(few.jobs.map(({ jobId }) => jobId)).toEqual(["e", "d"]);
    const row = a.bareRow({ jobId: "waits", enqueuedAtMs: t0 - 1 });
    const indexed = {
      ...jobs,
      readDue: async () => ({ due: [{ jobId: "waits", sweepAtMs: t0 }], next: undefined }),
      readMany: async () => [row],
    };
    const unread = await readOverview(
      { ...service.world, jobs: indexed, queues: { read: async () => depths } },
      config,
      { pagesMax: 1, jobsMax: 2 },
    );
    expect(unread.jobs[0]).toMatchObject({ jobId: "waits" });
  });
});

describe("what an operator says of a limit", () => {
  const read = async (leases: ReturnType<typeof createMemoryLeaseTable>, name: string) =>
    (await leases.readBoard({ ledgers: [name], targets: [], lanes: ["rt", "bg", "bulk"], models: [] })).overrides;

  test("stands beside what was said before, until it is taken back", async () => {
    const leases = createMemoryLeaseTable();
    await changeOverride(leases, "fast@west", { limit: 5 });
    expect(await changeOverride(leases, "fast@west", { pausedUntilMs: t0 })).toEqual({ limit: 5, pausedUntilMs: t0 });
    expect(await changeOverride(leases, "fast@west", { limit: undefined })).toEqual({ pausedUntilMs: t0 });
    expect((await read(leases, "fast@west")).ledgers.get("fast@west")).toEqual({ pausedUntilMs: t0 });
    expect(await changeOverride(leases, "fast@west", { pausedUntilMs: undefined })).toEqual({});
    expect((await read(leases, "fast@west")).ledgers.size).toBe(0);
  });

  test("is kept though a read without consistency would not show it yet: a limit set just before a pause stands", async () => {
    const leases = createMemoryLeaseTable();
    const late = createMemoryLeaseTable();
    const readBoard: typeof leases.readBoard = (names) => (names.consistent ? leases : late).readBoard(names);
    const behind = { ...leases, readBoard };
    await changeOverride(behind, "fast@west", { limit: 5 });
    expect(await changeOverride(behind, "fast@west", { pausedUntilMs: t0 })).toEqual({ limit: 5, pausedUntilMs: t0 });
    await changeOverride(behind, "bulk", { pausedUntilMs: t0 });
    expect(await changeOverride(behind, "bulk", {})).toEqual({ pausedUntilMs: t0 });
  });

  test("is a lane's where it names a lane", async () => {
    const leases = createMemoryLeaseTable();
    await changeOverride(leases, "bulk", { pausedUntilMs: t0 });
    expect((await read(leases, "bulk")).lanes.get("bulk")).toEqual({ pausedUntilMs: t0 });
  });
});

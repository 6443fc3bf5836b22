/** What hooks are told, when, and what becomes of those that fail. */
import { describe, expect, test } from "vitest";
import { deliveryOf } from "../../lib/core/batch.ts";
import { hookedTelemetry } from "../../lib/worker/hooks.ts";
import type { Hooks } from "../../lib/worker/hooks.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import type { Clock } from "../../lib/ports.ts";
import { aService, config, passing } from "./a-service.ts";

type Told = readonly [hook: string, facts: unknown];

/** One invocation with one job, whose first target fails, under these hooks; then its end. */
async function invoke(hooks: Hooks | ((clock: Clock) => Hooks)) {
  const service = aService({
    script: { rules: [{ when: { region: "us-west-2" }, do: { kind: "fail", error: "unavailable" } }] },
  });
  const { world } = service;
  const { clock } = world;
  const telemetry = hookedTelemetry(world.telemetry, typeof hooks === "function" ? hooks(clock) : hooks, clock);
  const worker = createMemoryWorker({ ...world, telemetry }, config, "bg");
  service.send({ params: { messages: [{ role: "user", content: [{ text: "secret prompt" }] }] } });
  const records = world.queue.receive(1).map((record) => deliveryOf(record, "bg", clock.nowMs()));
  const again = await passing(clock, processBatch(worker, records, clock.nowMs() + 60_000));
  const endedAtMs = clock.nowMs();
  await passing(clock, telemetry.idle(1_000));
  const troubles = world.noted.filter((event) => event.kind === "trouble");
  return { service, again, troubles, idledMs: clock.nowMs() - endedAtMs };
}

const names = ["onRun", "onQueueWait", "onAttempt", "onFallback", "onReply"] as const;
const each = (hook: (name: string, facts: unknown, over: AbortSignal) => unknown): Hooks =>
  Object.fromEntries(names.map((name) => [name, (facts: unknown, over: AbortSignal) => hook(name, facts, over)]));

describe("hooks", () => {
  test("are told a job's life in its order, by facts alone", async () => {
    const told: Told[] = [];
    await invoke(each((name, facts) => void told.push([name, facts])));
    const job = { jobId: "j-1", lane: "bg", fence: 1 };
    const order = told.map(([name]) => name).filter((name, at, all) => name !== all[at - 1]);
    expect(order).toEqual(["onRun", "onQueueWait", "onAttempt", "onFallback", "onAttempt", "onReply"]);
    expect(told[0]?.[1]).toEqual(expect.not.objectContaining({ queueMs: expect.anything() }));
    expect(told).toEqual(
      expect.arrayContaining([
        ["onQueueWait", expect.objectContaining({ ...job, queueMs: 0 })],
        ["onFallback", expect.objectContaining({ ...job, model: "fast", target: "east" })],
        [
          "onAttempt",
          expect.objectContaining({ ...job, target: "east", outcome: "answered", tookMs: expect.any(Number) }),
        ],
        ["onReply", expect.objectContaining({ ...job, status: "succeeded", fallbackUsed: true })],
      ]),
    );
    expect(JSON.stringify(told)).not.toContain("secret");
    expect(told.some(([, facts]) => Object.hasOwn(Object(facts), "output"))).toBe(false);
  });

  test("that throw change nothing, and are a line each with the job's name", async () => {
    const { service, again, troubles } = await invoke({
      onRun: () => {
        throw new TypeError("mine");
      },
      onReply: () => Promise.reject(new RangeError("secret")),
    });
    expect(again).toEqual([]);
    expect(service.reply()).toMatchObject({ status: "succeeded" });
    expect(troubles).toEqual([
      { kind: "trouble", what: "hook onRun", error: "TypeError", jobId: "j-1" },
      { kind: "trouble", what: "hook onReply", error: "RangeError", jobId: "j-1" },
    ]);
  });

  test("are waited for, after the reply, until they are done", async () => {
    let done = 0;
    const { troubles, idledMs } = await invoke((clock) => ({
      onReply: async () => {
        await clock.sleep(400);
        done += 1;
      },
    }));
    expect([done, idledMs, troubles]).toEqual([1, 400, []]);
  });

  test("that hang hold up neither the reply nor each other, are told that it is over, and are a line", async () => {
    const overs: AbortSignal[] = [];
    const { service, again, troubles, idledMs } = await invoke(
      each((name, _facts, over) => {
        if (name === "onReply") return undefined;
        overs.push(over);
        return new Promise(() => undefined);
      }),
    );
    expect(again).toEqual([]);
    expect(service.reply()).toMatchObject({ status: "succeeded" });
    expect(idledMs).toBe(1_000);
    expect(overs.every(({ aborted }) => aborted)).toBe(true);
    expect(troubles.map((event) => event.kind === "trouble" && event.what)).toEqual(
      ["onRun", "onQueueWait", "onAttempt", "onFallback"].map((name) => `hook ${name}`),
    );
  });

  test("that fail when nobody waits any more are no second line", async () => {
    const { troubles } = await invoke({
      onReply: (_facts, over) =>
        new Promise((_resolve, reject) => over.addEventListener("abort", () => reject(new Error("stopped")))),
    });
    await Promise.resolve();
    expect(troubles).toHaveLength(1);
  });

  test("that hung once are not waited for again", async () => {
    const service = aService();
    const { clock, telemetry } = service.world;
    const hooked = hookedTelemetry(telemetry, { onRun: () => new Promise(() => undefined) }, clock);
    hooked.note({ kind: "claimed", queueMs: 0, jobId: "j-1" });
    await passing(clock, hooked.idle(1_000));
    const nowMs = clock.nowMs();
    await passing(clock, hooked.idle(1_000));
    expect(clock.nowMs()).toBe(nowMs);
    expect(clock.nextAtMs()).toBeUndefined();
  });
});

import { describe, expect, test } from "vitest";
import { deliveryOf } from "../../lib/core/batch.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { Hide, World } from "../../lib/ports.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import { t0 } from "../a.ts";
import { aService } from "./a-service.ts";

/** `j-long` is answered after 100 s, every other job throttled. */
const script: ScriptText = {
  rules: [
    { when: { jobId: "j-long" }, do: { kind: "answer" }, latency: 100_000 },
    { do: { kind: "fail", error: "throttled" } },
  ],
};

/** SQS takes its time for each call. */
function slowQueue(ms: (entries: readonly Hide[]) => number) {
  return (world: MemoryWorld): World => ({
    ...world,
    queue: {
      ...world.queue,
      async hide(entries) {
        await world.clock.sleep(ms(entries));
        return world.queue.hide(entries);
      },
    },
  });
}

function invokeFour(around: (world: MemoryWorld) => World) {
  const service = aService({ script, around });
  for (const jobId of ["j-1", "j-2", "j-3", "j-long"]) service.send({ jobId });
  return { service, invoked: service.invoke() };
}

describe("while SQS is slow", () => {
  test("the claims of what still runs are extended all the same", async () => {
    const { service, invoked } = invokeFour(slowQueue(() => 15_000));
    expect(await invoked).toHaveLength(3);
    expect(service.reply("j-long")).toMatchObject({ ok: true });
  });

  test("no message waits for the hiding of another", async () => {
    const { service, invoked } = invokeFour(slowQueue((entries) => (entries.length > 1 ? 0 : 5_000)));
    const free: number[] = [];
    service.world.clock.after(5_500, () =>
      free.push(service.world.noted.filter((it) => it.kind === "requeued").length),
    );
    service.world.clock.after(12_000, () => free.push(service.world.queue.depth().visible));
    await invoked;
    expect(free).toEqual([3, 3]);
  });

  test("a hold that is under way does not undo the delay of a requeue", async () => {
    const { service, invoked } = invokeFour(slowQueue((entries) => (entries.length > 1 ? 8_000 : 0)));
    const visible: number[] = [];
    service.world.clock.after(7_900, () => visible.push(service.world.queue.depth().visible));
    service.world.clock.after(16_000, () => visible.push(service.world.queue.depth().visible));
    await invoked;
    expect(visible).toEqual([0, 3]);
  });
});

test("messages of a large batch whose records have not begun stay hidden", async () => {
  const service = aService({ script: { latency: 60_000 } });
  const { clock, queue } = service.world;
  for (let job = 0; job < 12; job += 1) service.send({ jobId: `j-${job}` });
  const records = [...queue.receive(), ...queue.receive()].map((record) => deliveryOf(record, "bg", t0));
  const visible: number[] = [];
  clock.after(50_000, () => visible.push(queue.depth().visible));
  const invoked = processBatch(service.worker, records, t0 + 300_000);
  await clock.advance(130_000);
  expect([visible, await invoked]).toEqual([[0], []]);
});

test("an extension that hangs is no other job's trouble", async () => {
  const service = aService({
    script: { latency: 60_000 },
    around: (world) => ({
      ...world,
      jobs: {
        ...world.jobs,
        extend: (claim, ask) => (claim.jobId === "j-1" ? new Promise(() => undefined) : world.jobs.extend(claim, ask)),
      },
    }),
  });
  service.send();
  service.send({ jobId: "j-2" });
  expect(await service.invoke()).toHaveLength(1);
  expect(service.reply("j-2")).toMatchObject({ ok: true });
  expect(service.world.models.play.record().calls).toMatchObject([
    { jobId: "j-1", outcome: "aborted", endedAtMs: t0 + 30_000 },
    { jobId: "j-2", outcome: "answered" },
  ]);
});

import { describe, expect, test } from "vitest";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { Clock, World } from "../../lib/ports.ts";
import { t0 } from "../a.ts";
import { aService } from "./a-service.ts";
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

import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { systemClock } from "../../lib/aws/clock.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { t0 } from "../a.ts";

const standing = createVirtualClock(t0);
const clocks = [
  ["of the system", systemClock, () => new Promise((resolve) => setTimeout(resolve, 30))],
  ["in memory", standing, () => standing.advance(30)],
] as const;

describe.each(clocks)("the clock %s", (_name, clock, pass) => {
  test("wakes a sleeper after its time", async () => {
    const sinceMs = clock.nowMs();
    const sleep = clock.sleep(10);
    await pass();
    await sleep;
    expect(clock.nowMs() - sinceMs).toBeGreaterThanOrEqual(9);
  });

  test("wakes a sleeper whose signal fires, without an error", async () => {
    const stop = new AbortController();
    const sleep = clock.sleep(3_600_000, stop.signal);
    stop.abort();
    await expect(sleep).resolves.toBeUndefined();
    await expect(clock.sleep(3_600_000, stop.signal)).resolves.toBeUndefined();
  });

  test("calls back once, unless it is told not to", async () => {
    const calls: string[] = [];
    clock.after(5, () => calls.push("kept"));
    const cancel = clock.after(5, () => calls.push("cancelled"));
    cancel();
    await pass();
    await pass();
    expect(calls).toEqual(["kept"]);
  });

  test("does not fire at once what is months away", async () => {
    const calls: string[] = [];
    const cancel = clock.after(2 ** 33, () => calls.push("too early"));
    await pass();
    cancel();
    expect(calls).toEqual([]);
  });

  test("throws dice in [0, 1)", () => {
    const dice = Array.from({ length: 1_000 }, () => clock.jitter());
    expect(dice.every((die) => die >= 0 && die < 1)).toBe(true);
    expect(new Set(dice).size).toBeGreaterThan(990);
  });

  test("names 12 url-safe characters, never twice", () => {
    const ids = Array.from({ length: 10_000 }, () => clock.newId());
    expect(ids.every((id) => /^[\w-]{12}$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(10_000);
  });
});

test("no timer of the system's clock outlives the sleep it was for", async () => {
  vi.useFakeTimers();
  try {
    const stop = new AbortController();
    const sleep = systemClock.sleep(3_600_000, stop.signal);
    systemClock.after(3_600_000, () => undefined)();
    expect(vi.getTimerCount()).toBe(1);
    stop.abort();
    await sleep;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

function thrown(seed: number) {
  const clock = createVirtualClock(t0, seed);
  return [clock.jitter(), clock.newId(), clock.jitter(), clock.newId()];
}

describe("the virtual clock", () => {
  test("fires timers in their order, those of one time in the order in which they were set", async () => {
    const clock = createVirtualClock(t0);
    const fired: string[] = [];
    for (const [name, ms] of Object.entries({ last: 20, second: 10, third: 10, first: 0 }))
      clock.after(ms, () => fired.push(`${name} at ${clock.nowMs() - t0}`));
    await clock.advance(20);
    expect(fired).toEqual(["first at 0", "second at 10", "third at 10", "last at 20"]);
  });

  test("fires whatever was not cancelled in the order of time", async () => {
    const anyTimers = fc.array(fc.record({ ms: fc.nat(50), isKept: fc.boolean() }), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(anyTimers, async (timers) => {
        const clock = createVirtualClock(t0);
        const fired: number[] = [];
        const cancels = timers.map(({ ms }, index) => clock.after(ms, () => fired.push(index)));
        for (const [index, cancel] of cancels.entries()) if (timers[index]?.isKept === false) cancel();
        await clock.advance(50);
        const kept = [...timers.entries()].filter(([, { isKept }]) => isKept);
        expect(fired).toEqual(kept.sort(([, one], [, other]) => one.ms - other.ms).map(([index]) => index));
        expect(clock.nextAtMs()).toBeUndefined();
      }),
      { numRuns: 50 },
    );
  });

  test("lets what a timer sets going settle before the next one fires", async () => {
    const clock = createVirtualClock(t0);
    const events: string[] = [];
    async function chain(): Promise<void> {
      await clock.sleep(10);
      for (let link = 0; link < 50; link++) await Promise.resolve();
      events.push("chain");
      await clock.sleep(3);
      events.push("chain again");
    }
    void chain();
    clock.after(11, () => events.push("timer"));
    await clock.advance(100);
    expect(events).toEqual(["chain", "timer", "chain again"]);
    expect(clock.nowMs()).toBe(t0 + 100);
  });

  test("runs until something has come, and says so when it never would", async () => {
    const clock = createVirtualClock(t0);
    let isDone = false;
    void clock.sleep(86_400_000).then(() => (isDone = true));
    expect(clock.nextAtMs()).toBe(t0 + 86_400_000);
    await clock.runUntil(() => isDone);
    expect(clock.nowMs()).toBe(t0 + 86_400_000);
    await expect(clock.runUntil(() => false)).rejects.toThrow("no timer is left");
  });

  test("gives the same dice and ids for the same seed, others for another", () => {
    expect(thrown(7)).toEqual(thrown(7));
    expect(thrown(7)).not.toEqual(thrown(8));
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { TestContext } from "vitest";

import type { Environment } from "../../infra/local/environment.ts";
import { killLongest, openEnvironments } from "../../infra/local/environments.ts";
import { t0 } from "../a.ts";
import { until } from "./process.ts";

const hangs = "await new Promise(() => setInterval(() => undefined, 1e6));";

async function opened(code: string, finished: TestContext["onTestFinished"]) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-environments-"));
  const file = join(folder, "bundle.mjs");
  await writeFile(file, code);
  const fn = { name: "f", file, handler: "handler", timeoutMs: 60_000, memoryMb: 128, variables: {} };
  const environments = openEnvironments(fn, new PassThrough().resume());
  finished(async () => {
    await environments.stop();
    await rm(folder, { recursive: true });
  });
  return environments;
}

const never = new AbortController().signal;

test("a kill hits whose invocation runs, and nobody who only imports", async ({ onTestFinished }) => {
  const importing = await opened(`${hangs} export const handler = () => undefined;`, onTestFinished);
  const running = await opened(`export const handler = async () => { ${hangs} };`, onTestFinished);

  void importing.invoke({});
  const first = running.invoke({});
  await until(() => running.running().length === 1);

  expect(await killLongest([importing, running], never)).toBe(true);
  expect(await first).toEqual({ kind: "threw", name: "EnvironmentDied" });
  expect(importing.stats().died).toBe(0);
});

test("a kill waits for somebody to be busy, until the service ends", async ({ onTestFinished }) => {
  const idle = await opened("export const handler = () => undefined;", onTestFinished);
  const closing = new AbortController();
  const killed = killLongest([idle], closing.signal);
  closing.abort();
  expect(await killed).toBeUndefined();
});

describe("by the clock", () => {
  /** Invocations by since when they run, and a clock that goes by sleeping. */
  function aRun(sinceMs: Readonly<Record<string, number>>) {
    const log: string[] = [];
    let nowMs = t0;
    const running = Object.entries(sinceMs).map(([name, since]): Environment => ({
      invoke: async () => ({ kind: "timed-out" }),
      kill: () => void log.push(`${name} at ${nowMs - t0}`),
      alive: () => true,
      busySinceMs: () => (since <= nowMs ? since : undefined),
      event: () => undefined,
      pid: undefined,
      ended: Promise.resolve(),
      rssBytesMax: () => 0,
    }));
    const clock = { nowMs: () => nowMs, sleep: async (ms: number) => void (nowMs += ms) };
    return { log, kill: () => killLongest([{ running: () => running }], never, clock) };
  }

  test("a kill among several who are long at work hits the one that began first", async () => {
    const run = aRun({ second: t0 - 2_000, first: t0 - 3_000, third: t0 - 1_000 });
    expect([await run.kill(), run.log]).toEqual([true, ["first at 0"]]);
  });

  test("a kill waits until an invocation has run for a second, when its messages are hidden for its claim alone", async () => {
    const run = aRun({ only: t0 + 500 });
    expect([await run.kill(), run.log]).toEqual([true, ["only at 1500"]]);
  });

  test("a kill without anybody busy is told after some seconds", async () => {
    const run = aRun({ late: t0 + 4_500 });
    expect([await run.kill(), run.log]).toEqual([false, []]);
  });
});

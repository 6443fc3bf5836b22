import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { TestContext } from "vitest";

import { killLongest, openEnvironments } from "../../infra/local/environments.ts";
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

test("a kill hits the invocation that has run longest, and nobody who only imports", async ({ onTestFinished }) => {
  const importing = await opened(`${hangs} export const handler = () => undefined;`, onTestFinished);
  const running = await opened(`export const handler = async () => { ${hangs} };`, onTestFinished);
  const never = new AbortController().signal;

  void importing.invoke({});
  const first = running.invoke({});
  await until(() => running.running().length === 1);
  const [oldest] = running.running();
  const second = running.invoke({});
  await until(() => running.running().length === 2);

  expect(await killLongest([importing, running], never)).toBe(true);
  expect(await first).toEqual({ kind: "threw", name: "EnvironmentDied" });
  expect(running.running()).toHaveLength(1);
  expect(running.running()).not.toContain(oldest);
  expect(importing.stats().died).toBe(0);

  expect(await killLongest([importing, running], never)).toBe(true);
  await second;
});

test("a kill waits for somebody to be busy, until the service ends", async ({ onTestFinished }) => {
  const idle = await opened("export const handler = () => undefined;", onTestFinished);
  const closing = new AbortController();
  const killed = killLongest([idle], closing.signal);
  closing.abort();
  expect(await killed).toBeUndefined();
});

test("a kill without anybody busy is told after some seconds", { timeout: 20_000 }, async ({ onTestFinished }) => {
  const idle = await opened("export const handler = () => undefined;", onTestFinished);
  expect(await killLongest([idle], new AbortController().signal)).toBe(false);
});

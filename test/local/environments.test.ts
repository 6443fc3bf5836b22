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
  const sinceMs = running.running()[0]?.busySinceMs() ?? Infinity;
  const second = running.invoke({});
  await until(() => running.running().length === 2);

  expect(await killLongest([importing, running], never)).toBe(true);
  expect(await first).toEqual({ kind: "threw", name: "EnvironmentDied" });
  expect(Date.now() - sinceMs).toBeGreaterThanOrEqual(1_000);
  expect(importing.stats().died).toBe(0);

  expect(await killLongest([importing, running], never)).toBe(true);
  expect(await second).toEqual({ kind: "threw", name: "EnvironmentDied" });
});

test("a kill among several who are long at work hits the one that began first", async ({ onTestFinished }) => {
  const running = await opened(`export const handler = async () => { ${hangs} };`, onTestFinished);
  const begun: string[] = [];
  for (const name of ["first", "second"]) {
    void running.invoke({}).then(() => begun.splice(begun.indexOf(name), 1));
    begun.push(name);
    await until(() => running.running().length === begun.length);
  }
  await until(() => running.running().every((it) => Date.now() - (it.busySinceMs() ?? Infinity) > 1_200));
  await killLongest([running], new AbortController().signal);
  await until(() => begun.length === 1);
  expect(begun).toEqual(["second"]);
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

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { isAlive, until } from "./process.ts";

const module = new URL("../../infra/local/environment.ts", import.meta.url).href;

/** Tells its process id, then never ends. */
const endless = `
let asked = 0;
export const handler = async () => {
  if (asked++ === 0) return process.pid;
  await new Promise(() => setInterval(() => {}, 1e6));
};`;

test.runIf(process.platform === "linux")(
  "an environment ends with its parent, however busy it is and however the parent died",
  async ({ onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-environment-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "endless.mjs");
    await writeFile(file, endless);
    const fn = JSON.stringify({
      name: "f",
      file,
      handler: "handler",
      timeoutMs: 600_000,
      memoryMb: 128,
      variables: {},
    });
    const parent = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `import { PassThrough } from "node:stream";
       const { startEnvironment } = await import(${JSON.stringify(module)});
       const environment = startEnvironment(${fn}, new PassThrough().resume());
       const { value } = await environment.invoke({});
       void environment.invoke({});
       console.log(value);`,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [said] = await once(parent.stdout.setEncoding("utf8"), "data");
    const pid = Number(said);
    expect(isAlive(pid)).toBe(true);

    parent.kill("SIGKILL");
    await until(() => !isAlive(pid));
  },
);

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { expect, test } from "vitest";

import { openLog } from "../../infra/local/files.ts";
import { temporaryFolder } from "../temporary.ts";

const folder = temporaryFolder("log");
/** Linux has a disk that is always full; elsewhere there is none to try it on. */
const full = "/dev/full";
const lines = "a line of a worker\n".repeat(10_000);

async function writtenTo(file: string): Promise<readonly string[]> {
  const lost: string[] = [];
  const log = openLog(file, (code) => lost.push(code));
  log.write(lines);
  log.write(lines);
  await finished(log.end());
  return lost;
}

test("a log holds what it is given", async () => {
  const file = join(folder, "bg.log");
  expect(await writtenTo(file)).toEqual([]);
  expect(readFileSync(file, "utf8")).toBe(lines + lines);
});

test.runIf(existsSync(full))("a log on a full disk says so once, and holds up nobody who writes", async () => {
  expect(await writtenTo(full)).toEqual(["ENOSPC"]);
});

test("a log whose folder has gone says so once, too", async () => {
  expect(await writtenTo(join(folder, "gone", "bg.log"))).toEqual(["ENOENT"]);
});

/** Where the running service is, in a file that `npx sluice --local` reads. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { isRunning } from "../../lib/cli/outputs.ts";
import type { Config } from "../../lib/core/config.ts";
import { isObject, parseJson } from "../../lib/core/json.ts";
import type { Endpoints } from "./service.ts";

export interface Told {
  readonly pid: number;
  readonly region: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly endpoints: Endpoints;
  readonly config: Config;
}

/**
 * Answers what takes it away again, unless another service has written its own there meanwhile. A service that was told of
 * there before, and still runs, is told of again: it must not be lost to who starts a second beside it and ends that.
 */
export function tellWhere(file: string, told: Told): () => void {
  mkdirSync(dirname(file), { recursive: true });
  // Whoever reads it while it is written reads the one before it, or this one whole.
  const beside = `${file}.${told.pid}`;
  writeFileSync(beside, `${JSON.stringify(told, undefined, 2)}\n`, { mode: 0o600 });
  const before = textIn(file);
  renameSync(beside, file);
  return () => {
    if (pidIn(textIn(file)) !== told.pid) return;
    const pidBefore = pidIn(before);
    if (before === undefined || pidBefore === undefined || !isRunning(pidBefore)) return rmSync(file, { force: true });
    writeFileSync(beside, before, { mode: 0o600 });
    renameSync(beside, file);
  };
}

function textIn(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function pidIn(text: string | undefined): number | undefined {
  const told = text === undefined ? undefined : parseJson(text);
  return isObject(told) && typeof told["pid"] === "number" ? told["pid"] : undefined;
}

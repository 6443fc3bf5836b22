/** Where the running service is, in a file that `npx sluice --local` reads. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

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

/** Answers what takes it away again, unless another service has written its own there meanwhile. */
export function tellWhere(file: string, told: Told): () => void {
  mkdirSync(dirname(file), { recursive: true });
  // Whoever reads it while it is written reads the one before it, or this one whole.
  const beside = `${file}.${told.pid}`;
  writeFileSync(beside, `${JSON.stringify(told, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(beside, file);
  return () => {
    if (pidIn(file) === told.pid) rmSync(file, { force: true });
  };
}

function pidIn(file: string): unknown {
  try {
    const told = parseJson(readFileSync(file, "utf8"));
    return isObject(told) ? told["pid"] : undefined;
  } catch {
    return undefined;
  }
}

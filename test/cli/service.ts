/** A service on this machine, and `npx sluice` run against it as a process of its own. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openService } from "../../infra/local/service.ts";
import type { Service } from "../../infra/local/service.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";

export const entry = join(import.meta.dirname, "../../bin/sluice.js");

const url = (name: string) => `https://sqs.us-west-2.amazonaws.com/123456789012/${name}`;
/** The outputs of a stack that is nowhere. */
export const values = {
  rtQueueUrl: url("rt"),
  bgQueueUrl: url("bg"),
  bulkQueueUrl: url("bulk"),
  parkedQueueUrl: url("parked"),
  repliesQueueUrl: url("replies"),
  jobTableName: "jobs",
  leaseTableName: "leases",
  repliesBucketName: "replies",
};

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Served extends Service {
  /** A directory that goes with the service. */
  readonly folder: string;
  sluice(...args: readonly string[]): Promise<Ended>;
}

export async function serve(script: ScriptText = {}): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-cli-"));
  const toldIn = join(folder, "local.json");
  const options = {
    limits: {},
    bedrock: "stand-in",
    script,
    logDirectory: folder,
    environmentsMax: 2,
    toldIn,
  } as const;
  const service = await openService(options, () => undefined);
  return {
    ...service,
    folder,
    sluice: (...args) => run([...args, "--outputs", toldIn]),
    close: async () => {
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The environment of a person who has said nothing yet. */
const bare = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AWS|SLUICE)_/.test(name)));

export function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [entry, ...args],
      { env: { ...bare, ...env }, maxBuffer: 50_000_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

/** `npm run test:aws`: the service, tried in a real AWS account. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { s3Client, sqsClient } from "../../lib/aws/clients.ts";
import { callerOf, query } from "../deploy/call.ts";
import { admit } from "./admission.ts";
import type { Shell } from "./admission.ts";
import { help, readCommandLine } from "./command-line.ts";
import { smoke, stackName } from "./smoke.ts";
import { tearDown } from "./tear-down.ts";

const { config } = sqsClient();
const endpoint = process.env["AWS_ENDPOINT_URL"];
const caller = (region: string) => callerOf(region, () => config.credentials(), endpoint);

const shell: Shell = {
  env: process.env,
  hasCredentials: () =>
    config.credentials().then(
      () => true,
      () => false,
    ),
  region: () => config.region().catch(() => undefined),
  async accountIn(region) {
    const xml = await query(caller(region), "sts", { Action: "GetCallerIdentity", Version: "2011-06-15" });
    return /<Account>(\d{12})<\/Account>/.exec(xml)?.[1] ?? "";
  },
};

process.exit(await main(process.argv.slice(2)));

/** The exit code. */
async function main(args: readonly string[]): Promise<number> {
  const asked = readCommandLine(args);
  if (asked.kind === "wrong") return told(2, asked.says);
  if (asked.kind === "help") return told(0, help);

  const admission = await admit(shell);
  if (admission.kind !== "on") return told(admission.kind === "off" ? 0 : 2, admission.says);
  const { account, region } = admission;
  process.env["AWS_REGION"] = region;
  const aws = caller(region);

  if (asked.kind === "clean") {
    await tearDown(aws, s3Client(), stackName);
    return told(0, `Nothing of ${stackName} is left in ${account}, ${region}.`);
  }

  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(name, () => {
      console.log("ending; what was made is taken away first, which takes some minutes");
      interrupted.abort();
    });

  const home = mkdtempSync(join(tmpdir(), "sluice-aws-"));
  try {
    const outcomes = await smoke({
      place: { account, region, stack: stackName },
      aws,
      deploying: { env: process.env, home },
      apiOf: ({ apiId }) => ({ host: `${apiId}.execute-api.${region}.amazonaws.com`, path: "/prod/" }),
      isWanted: asked.isWanted,
      say: (line) => console.log(line),
      signal: interrupted.signal,
    });
    const failed = outcomes.filter(({ kind }) => kind === "fails");
    console.log(`${outcomes.length - failed.length} hold, ${failed.length} fail`);
    return interrupted.signal.aborted ? 130 : Math.min(failed.length, 1);
  } catch (error) {
    return told(interrupted.signal.aborted ? 130 : 1, error instanceof Error ? error.message : String(error));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function told(code: number, says: string): number {
  console.log(says);
  return code;
}

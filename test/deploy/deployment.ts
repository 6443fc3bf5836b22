/** The service, deployed into MiniStack as a user deploys it: bootstrap, then `cdk deploy`. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { mendTemplate } from "./mend.ts";
import type { Ministack } from "./ministack.ts";

const root = join(import.meta.dirname, "../..");
const cdkMsMax = 5 * 60_000;

/** CDK's command. What it says is in the error, should it fail. */
async function cdk({ env }: Ministack, ...args: readonly string[]): Promise<void> {
  const command = join(root, "node_modules/aws-cdk/bin/cdk");
  await promisify(execFile)(process.execPath, [command, ...args], {
    cwd: root,
    // What CDK and cdk-nag check is checked by `npm run synth`.
    env: { ...env, CI: "true", CDK_VALIDATION: "false" },
    timeout: cdkMsMax,
    maxBuffer: 2 ** 26,
  });
}

export async function bootstrap(aws: Ministack): Promise<void> {
  await cdk(aws, "bootstrap", "aws://000000000000/us-east-1");
}

export type Outputs = Readonly<Record<string, string>>;

/** Deploys an app's stack `Sluice`, over the one that is there; answers its outputs. */
export async function deploy(aws: Ministack, app: string): Promise<Outputs> {
  const home = aws.env["HOME"] ?? "";
  const assembly = join(home, "cdk.out");
  const outputs = join(home, "outputs.json");
  // MiniStack has no CodeDeploy.
  const context = ["--context", "removable=true", "--context", "rollout=none"];
  await cdk(aws, "synth", "--quiet", "--app", `node ${app}`, "--output", assembly, ...context);
  mendTemplate(join(assembly, "Sluice.template.json"));
  await cdk(aws, "deploy", "--app", assembly, "--outputs-file", outputs, "--require-approval", "never");
  const { Sluice = {} }: Readonly<Record<string, Outputs>> = JSON.parse(readFileSync(outputs, "utf8"));
  return Sluice;
}

/** The service, deployed as a user deploys it: bootstrap, then `cdk deploy`. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Outputs } from "./deployed.ts";

const root = join(import.meta.dirname, "../..");
const cdkMsMax = 20 * 60_000;

/** Whose AWS the command is to see, and where it may write. */
export interface Deploying {
  readonly env: NodeJS.ProcessEnv;
  /** A directory of its own. */
  readonly home: string;
  /** For the app, beside what every test gives it: `name=value`. */
  readonly context?: readonly string[];
  /** Ends the command; what it has begun in AWS goes on there. */
  readonly signal?: AbortSignal;
  /** Puts right, in the template, what this AWS cannot take. */
  readonly mend?: (templateFile: string) => void;
}

/** CDK's command, in a process group of its own: Ctrl-C is for whoever called it. What it says is in the error, should it fail. */
async function cdk({ env, signal }: Deploying, ...args: readonly string[]): Promise<void> {
  const command = join(root, "node_modules/aws-cdk/bin/cdk");
  await promisify(execFile)(process.execPath, [command, ...args], {
    cwd: root,
    // What CDK and cdk-nag check is checked by `npm run synth`.
    env: { ...env, CI: "true", CDK_VALIDATION: "false" },
    timeout: cdkMsMax,
    maxBuffer: 2 ** 26,
    ...detached,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Known to `spawn`, by which `execFile` works, though its types do not say so. */
const detached: object = { detached: true };

export async function bootstrap(deploying: Deploying, account: string, region: string): Promise<void> {
  await cdk(deploying, "bootstrap", `aws://${account}/${region}`);
}

/** Deploys an app's stack, over the one that is there; answers its outputs. */
export async function deploy(deploying: Deploying, app: string, stack = "Sluice"): Promise<Outputs> {
  const { home, mend } = deploying;
  const assembly = join(home, "cdk.out");
  const outputs = join(home, "outputs.json");
  const context = ["removable=true", `stack=${stack}`, ...(deploying.context ?? [])];
  const given = context.flatMap((pair) => ["--context", pair]);
  await cdk(deploying, "synth", "--quiet", "--app", `node ${app}`, "--output", assembly, ...given);
  mend?.(join(assembly, `${stack}.template.json`));
  await cdk(deploying, "deploy", "--app", assembly, "--outputs-file", outputs, "--require-approval", "never");
  const written: Readonly<Record<string, Outputs>> = JSON.parse(readFileSync(outputs, "utf8"));
  return written[stack] ?? {};
}

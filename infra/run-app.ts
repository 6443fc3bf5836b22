import { App, Validations } from "aws-cdk-lib";
import type { Environment, Stack } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { ConfigError } from "../lib/config.ts";
import { cdkContext } from "./context.ts";

/**
 * Synthesizes an app of these stacks, for the account and region of CDK's own command. A finding of cdk-nag ends it. So does
 * a config that cannot be used: told by its paths, without the places in this code where that was noticed.
 */
export function runApp(build: (app: App, env: Environment) => readonly Stack[]): void {
  const app = new App({ context: cdkContext(), autoSynth: false });
  const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
  const env = { ...(account === undefined ? {} : { account }), ...(region === undefined ? {} : { region }) };
  try {
    const stacks = build(app, env);
    Validations.of(app).addPlugins(...stacks.map((stack) => new AwsSolutionsChecks(stack)));
    app.synth();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

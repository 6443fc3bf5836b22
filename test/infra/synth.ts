/** Synthesizes in a directory of its own, with the context flags of cdk.json, and without the time that the SDK's bundling takes. */
import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { Template } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import { defineConfig } from "../../lib/config.ts";
import type { ConfigInput } from "../../lib/config.ts";
import type { TargetConfig } from "../../lib/core/config.ts";
import { cdkContext } from "../../infra/context.ts";
import { ServiceStack } from "../../infra/service-stack.ts";
import type { SluiceProps } from "../../infra/sluice-props.ts";
import { temporaryFolder } from "../temporary.ts";

/** Any module will do where only the template counts. */
export const smallEntry = () => join(import.meta.dirname, "../../lib/core/lane.ts");

export const target = (facts: Partial<TargetConfig> = {}): TargetConfig => ({
  modelId: "us.amazon.nova-lite-v1:0",
  region: "us-west-2",
  limit: { start: 20, max: 60 },
  maxTokens: 4_096,
  ...facts,
});

export const config = (facts: Partial<ConfigInput> = {}): ConfigInput =>
  defineConfig({ models: { "fast-text": { targets: { "us-west-2": target() } } }, ...facts });

export function app(context: Record<string, unknown> = {}): App {
  return new App({ outdir: temporaryFolder("synth"), context: { ...cdkContext(), ...context } });
}

export function service(
  facts: Partial<ConfigInput> = {},
  context: Record<string, unknown> = {},
  props: Partial<SluiceProps> = {},
): ServiceStack {
  return new ServiceStack(app(context), "Sluice", { ...props, config: config(facts), entryOf: smallEntry });
}

export function template(...of: Parameters<typeof service>): Template {
  return Template.fromStack(service(...of));
}

/** The findings of cdk-nag, by rule. */
export function findings(scope: Construct): readonly string[] {
  return new AwsSolutionsChecks(scope).validateScope(scope).violations.map(({ ruleName }) => ruleName);
}

/** A stack to put somebody else's constructs into. */
export function stack(): Stack {
  return new Stack(app(), "Theirs");
}

export { Template };

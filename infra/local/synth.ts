/** The service's own template, synthesized in this process, with its bundles. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { App } from "aws-cdk-lib";

import { checkConfig } from "../../lib/config.ts";
import type { ConfigInput } from "../../lib/config.ts";
import { stepParts, targetsOf } from "../../lib/core/config.ts";
import type { Config, ModelConfig } from "../../lib/core/config.ts";
import { isObject } from "../../lib/core/json.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { cdkContext } from "../context.ts";
import { ServiceStack } from "../service-stack.ts";
import written from "../sluice.config.ts";
import { Fault } from "../../lib/terminal/fault.ts";

export interface Synthesized {
  readonly template: JsonObject;
  readonly config: Config;
  /** The directory of a function's code, by the S3Key in the template. */
  readonly assets: ReadonlyMap<string, string>;
}

/** @throws ConfigError for a config that cannot be used, Fault for a limit of a target that it does not have. */
export function synthesize(
  limits: Readonly<Record<string, number>>,
  outdir: string,
  entryOf?: () => string,
): Synthesized {
  // The rules that CDK and cdk-nag check are checked by `npm run synth`; here they only cost two seconds.
  process.env["CDK_VALIDATION"] ??= "false";
  const config = limited(written, limits);
  const app = new App({ outdir, analyticsReporting: false, context: { ...cdkContext(), removable: "true" } });
  const stack = new ServiceStack(app, "Sluice", { config, ...(entryOf === undefined ? {} : { entryOf }) });
  const artifact = app.synth().getStackArtifact(stack.artifactId);
  const template: unknown = artifact.template;
  if (!isObject(template)) throw new Error("the synthesized template is no object");
  return {
    template,
    config: checkConfig(config),
    assets: assetsOf(join(outdir, `${stack.artifactId}.assets.json`), outdir),
  };
}

/** The config with the limit of some targets set: `model@target` → leases, from the start and at most. */
export function limited(config: ConfigInput, limits: Readonly<Record<string, number>>): ConfigInput {
  const models: Record<string, ModelConfig> = { ...config.models };
  for (const [name, limit] of Object.entries(limits)) {
    const { model: alias, target: key = "" } = stepParts(name);
    const model = models[alias];
    const target = model?.targets[key];
    if (model === undefined || target === undefined) {
      const known = targetsOf(config).map(({ step }) => step);
      throw new Fault(`no target ${name} in the config; known: ${known.join(", ")}`);
    }
    const changed = { ...target, limit: { start: limit, max: limit } };
    models[alias] = { ...model, targets: { ...model.targets, [key]: changed } };
  }
  return { ...config, models };
}

/** The asset manifest: https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.cloud_assembly_schema-readme.html */
function assetsOf(manifestFile: string, outdir: string): ReadonlyMap<string, string> {
  const manifest: unknown = existsSync(manifestFile) ? JSON.parse(readFileSync(manifestFile, "utf8")) : {};
  const files = isObject(manifest) && isObject(manifest["files"]) ? manifest["files"] : {};
  return new Map(
    Object.entries(files).flatMap(([hash, file]) => {
      const path = isObject(file) && isObject(file["source"]) ? file["source"]["path"] : undefined;
      return typeof path === "string" ? [[`${hash}.zip`, join(outdir, path)]] : [];
    }),
  );
}

/** The config that a command goes by: limits, prices, where models are. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { configHashOf } from "../config-hash.ts";
import { checkConfig } from "../config.ts";
import type { Config } from "../core/config.ts";
import { parseJson } from "../core/json.ts";
import { Fault } from "../terminal/fault.ts";
import type { Outputs } from "./outputs.ts";
import { said } from "./place.ts";

const root = join(import.meta.dirname, "../..");
const fileDefault = "infra/sluice.config.ts";

export interface ConfigFound {
  readonly config: Config;
  /** Where it was read. */
  readonly from: string;
  /** Whether it is the one that was deployed; undefined: the deployment does not say. */
  readonly isDeployed: boolean | undefined;
}

/**
 * The local service tells its own. A deployment has its config in its functions' code alone: it is read where it was
 * written, and compared by its hash, which is an output of the stack.
 * @throws Fault, or ConfigError for a config that cannot be used.
 */
export async function readConfig(outputs: Outputs, typed: string | undefined): Promise<ConfigFound> {
  const { local } = outputs;
  const named = said(typed) ?? (local === undefined ? said(process.env["SLUICE_CONFIG"]) : undefined);
  if (named === undefined && local !== undefined)
    return { config: checkConfig(local.config), from: "the local service", isDeployed: true };
  const file = named ?? [fileDefault, join(root, fileDefault)].find((each) => existsSync(each));
  if (file === undefined)
    throw new Fault("the deployment's config is needed here; name its file with --config, .ts or .json");
  const config = checkConfig(await valueIn(file));
  const deployed = outputs.values["configHash"];
  return { config, from: file, isDeployed: deployed === undefined ? undefined : deployed === configHashOf(config) };
}

async function valueIn(file: string): Promise<unknown> {
  if (!existsSync(file)) throw new Fault(`${file} cannot be read; name the config's file with --config`);
  if (file.endsWith(".json")) {
    const value = parseJson(readFileSync(file, "utf8"));
    if (value === undefined) throw new Fault(`${file} is not JSON; mend it, or name another file with --config`);
    return value;
  }
  const module: { readonly default?: unknown } = await import(pathToFileURL(resolve(file)).href);
  if (module.default === undefined)
    throw new Fault(`${file} exports no config; write export default defineConfig({ … })`);
  return module.default;
}

/** Which deployment a command is about, and the way to it. */
import { existsSync } from "node:fs";
import { join } from "node:path";

import { Fault } from "../terminal/fault.ts";
import { outputsIn, regionOf } from "./outputs.ts";
import type { Outputs } from "./outputs.ts";

/** As typed; each has a variable of the environment that it goes before. */
export interface PlaceOptions {
  readonly stack?: string;
  readonly outputs?: string;
  readonly local?: boolean;
  readonly region?: string;
  readonly profile?: string;
  readonly endpoint?: string;
  readonly config?: string;
}

export interface Place {
  /** As it is told to a person. */
  readonly name: string;
  readonly outputs: Outputs;
}

export const stackDefault = "Sluice";
export const localFile = ".sluice/local.json";
const root = join(import.meta.dirname, "../..");

type Environment = Record<string, string | undefined>;

/**
 * Finds the deployment. What was said of region, profile and endpoint becomes the environment of this process, which the
 * SDK reads for every client by itself.
 * @throws Fault for what was said wrongly, the SDK's error where CloudFormation does not answer.
 */
export async function findPlace(
  options: PlaceOptions,
  env: Environment = process.env,
  localFiles: readonly string[] = [localFile, join(root, localFile)],
): Promise<Place> {
  const { local = false } = options;
  const file = options.outputs ?? (options.stack === undefined && !local ? said(env["SLUICE_OUTPUTS"]) : undefined);
  const stack = options.stack ?? (file === undefined && !local ? said(env["SLUICE_STACK"]) : undefined);
  if (local && (file ?? stack) !== undefined)
    throw new Fault("--local is a place of its own; leave out --stack and --outputs, or it");
  needUrl("--endpoint", options.endpoint);
  if (options.endpoint === undefined) needUrl("AWS_ENDPOINT_URL", said(env["AWS_ENDPOINT_URL"]));
  set(env, { AWS_PROFILE: options.profile, AWS_REGION: options.region, AWS_ENDPOINT_URL: options.endpoint });

  if (local) return placed(localPlace(localFiles), "the service on this machine", options, env);
  if (file !== undefined) return placed(outputsIn(file, stack), `the deployment of ${file}`, options, env);
  const { readStack } = await import("./stack.ts");
  const name = stack ?? stackDefault;
  return { name: `the stack ${name}`, outputs: { values: await readStack(name) } };
}

/** The SDK would say that some URL is invalid, and not which. */
function needUrl(name: string, value: string | undefined): void {
  if (value === undefined || /^https?:$/.test(URL.parse(value)?.protocol ?? "")) return;
  throw new Fault(`${name} ${value} is no URL; give one like http://127.0.0.1:4566, or leave it out`);
}

function localPlace(files: readonly string[]): Outputs {
  const found = files.find((file) => existsSync(file));
  if (found === undefined)
    throw new Fault("no service runs on this machine; start it with npm start, and keep it running meanwhile");
  return outputsIn(found);
}

function placed(outputs: Outputs, name: string, { region, endpoint }: PlaceOptions, env: Environment): Place {
  const its = regionOf(outputs);
  if (region !== undefined && its !== undefined && region !== its)
    throw new Fault(`${name} is in ${its}, and --region says ${region}; leave it out, or name the other deployment`);
  set(env, { AWS_REGION: its });
  if (outputs.local !== undefined && endpoint === undefined) {
    // Whose the shell's own credentials are, no local engine need see.
    set(env, { ...outputs.local.endpoints, AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" });
    delete env["AWS_PROFILE"];
    delete env["AWS_SESSION_TOKEN"];
  }
  return { name, outputs };
}

/** A variable that is empty is as good as none: scripts set it so. */
export function said(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

function set(env: Environment, values: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(values)) if (value !== undefined) env[name] = value;
}

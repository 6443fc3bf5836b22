/** `npm run variables`: what a shell must know so that a program of its own finds the service that runs on this machine. */
import { pathToFileURL } from "node:url";

import { outputOf } from "../../lib/cli/outputs.ts";
import { findPlace } from "../../lib/cli/place.ts";
import { lanes } from "../../lib/core/lane.ts";
import { Fault } from "../../lib/terminal/fault.ts";
import { ofAnotherRun } from "./endpoints.ts";

/**
 * Lines for a shell's `eval`: the SDK's own variables, and those of the README's programs.
 * @throws Fault when no service runs.
 */
export async function variableLines(localFiles?: readonly string[]): Promise<readonly string[]> {
  const variables: Record<string, string | undefined> = {};
  const { outputs } = await findPlace({ local: true }, variables, localFiles);
  for (const lane of lanes) variables[`${lane.toUpperCase()}_QUEUE_URL`] = outputOf(outputs, `${lane}QueueUrl`);
  variables["JOB_TABLE"] = outputOf(outputs, "jobTableName");
  variables["LEASE_TABLE"] = outputOf(outputs, "leaseTableName");
  // Python's SDK and version 1 of the AWS CLI know this one alone.
  variables["AWS_DEFAULT_REGION"] = variables["AWS_REGION"];
  variables[ofAnotherRun] = "1";
  return Object.entries(variables).map(
    ([name, value = ""]) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    for (const line of await variableLines()) console.log(line);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}

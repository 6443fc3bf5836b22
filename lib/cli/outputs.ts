/** Where a deployment says what it is made of: the outputs of its stack. */
import { readFileSync } from "node:fs";

import { isObject, parseJson } from "../core/json.ts";
import type { JsonObject } from "../core/json.ts";
import { byLane } from "../core/lane.ts";
import type { Lane } from "../core/lane.ts";
import { replyTtlDaysDefault } from "../core/limits.ts";
import { Fault } from "../terminal/fault.ts";

export interface Outputs {
  readonly values: Readonly<Record<string, string>>;
  /** Of a service on this machine: its endpoints by the SDK's own variables, its config, its process. */
  readonly local?: {
    readonly endpoints: Readonly<Record<string, string>>;
    readonly region: string;
    readonly config: unknown;
    readonly pid: number;
  };
}

/**
 * The file that `cdk deploy --outputs-file` writes, or the one in which a running `npm start` tells where it is.
 * `stack` names one of several.
 * @throws Fault
 */
export function outputsIn(file: string, stack?: string): Outputs {
  const text = textOf(file);
  const read = parseJson(text);
  if (!isObject(read)) throw new Fault(`${file} is no JSON object; give what cdk deploy --outputs-file has written`);
  if (isObject(read["outputs"]) && isObject(read["endpoints"])) return localOutputs(file, read);

  const stacks = Object.entries(read).filter(([, values]) => isObject(values) && "jobTableName" in values);
  const [chosen, ...others] = stack === undefined ? stacks : stacks.filter(([name]) => name === stack);
  if (chosen === undefined) {
    const which = stack === undefined ? "of a stack of Sluice" : `of a stack ${stack}`;
    throw new Fault(`${file} holds no outputs ${which}; write it with cdk deploy --outputs-file ${file}`);
  }
  if (others.length > 0)
    throw new Fault(`${file} holds several stacks; say which with --stack: ${stacks.map(([name]) => name).join(", ")}`);
  return { values: textsIn(chosen[1]) };
}

function localOutputs(file: string, { outputs, endpoints, config, pid, region }: JsonObject): Outputs {
  const its = Number(pid);
  if (!isRunning(its))
    throw new Fault(`${file} was left by a service that has ended (process ${its}); start it again with npm start`);
  const local = { endpoints: textsIn(endpoints), region: textIn(region), config, pid: its };
  return { values: textsIn(outputs), local };
}

/** Whether there is such a process, whoever's it is. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process runs too.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new Fault(`${file} cannot be read (${code}); check the path`);
  }
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsIn(values: unknown): Record<string, string> {
  if (!isObject(values)) return {};
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}

/** An output that the deployment must have. @throws Fault */
export function outputOf({ values }: Outputs, name: string): string {
  const value = values[name];
  if (value === undefined || value === "")
    throw new Fault(
      `the deployment has no output ${name}; is it a stack of Sluice, and of this version? Deploy it again`,
    );
  return value;
}

/** The URLs of the lanes' queues. @throws Fault */
export function laneUrls(outputs: Outputs): Readonly<Record<Lane, string>> {
  return byLane((lane) => outputOf(outputs, `${lane}QueueUrl`));
}

/** How long a reply is kept. The stack of an earlier version does not say. */
export function replyTtlDaysOf({ values }: Outputs): number {
  const days = Number(values["replyTtlDays"]);
  return days > 0 ? days : replyTtlDaysDefault;
}

/** The region in a queue's URL on AWS. */
export function regionOf({ values, local }: Outputs): string | undefined {
  const [, region] = /^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\./.exec(values["bgQueueUrl"] ?? "") ?? [];
  return local?.region ?? region;
}

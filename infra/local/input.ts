/** What a run sends, and what Bedrock's stand-in does: from files, or the samples. */
import { readFileSync } from "node:fs";

import { readJobs } from "../../lib/client/read-jobs.ts";
import type { Job } from "../../lib/client/index.ts";
import type { Config } from "../../lib/core/config.ts";
import { unknownName } from "../../lib/core/unknown-name.ts";
import { readScript } from "../../lib/memory/bedrock-script.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { Fault } from "../../lib/terminal/fault.ts";
import { needReadable } from "./files.ts";
import type { Options } from "./options.ts";
import type { Work } from "./run.ts";
import { firstSamples, firstScript } from "./samples/first.ts";
import type { Sample } from "./samples/first.ts";

export interface Input {
  readonly work: Work;
  readonly script: ScriptText;
  /** The samples, or none where a file is run. */
  readonly samples: readonly Sample[];
  /** Lines of the file that were no job, so far. */
  linesRefused(): number;
}

/** A file of something else would fill the screen. */
const linesToldMax = 20;

/** About what a small model takes. */
const scriptForFiles: ScriptText = { latency: { meanMs: 600, sigma: 0.5 } };

/**
 * @throws Fault before anything has been started. `tell` hears of each line that is no job, and of each model that the
 * config does not have.
 */
export async function readInput(options: Options, config: Config, tell: (text: string) => void): Promise<Input> {
  const script = options.scriptFile === undefined ? undefined : scriptIn(options.scriptFile);
  const { file } = options;
  if (file === undefined) {
    const samples = firstSamples(Date.now());
    return {
      work: { ...workOf(samples), jobs: jobsFromNow() },
      script: script ?? firstScript,
      samples,
      linesRefused: () => 0,
    };
  }

  needReadable(file);
  let linesRefused = 0;
  const refuse = (what: string) => {
    linesRefused++;
    if (linesRefused <= linesToldMax) tell(what);
    if (linesRefused === linesToldMax) tell("what else is no job is counted and not named; is this the right file?");
  };
  const jobs = jobsIn(file, config, tell, refuse);
  // One is read before anything starts: a file without any is the wrong file.
  const first = await jobs.next();
  if (first.done === true) throw new Fault(`${file} holds no job; write one envelope a line`);
  return {
    work: { jobs: followed(first.value, jobs) },
    script: script ?? scriptForFiles,
    samples: [],
    linesRefused: () => linesRefused,
  };
}

async function* jobsIn(
  file: string,
  config: Config,
  tell: (text: string) => void,
  refuse: (what: string) => void,
): AsyncGenerator<Job, void> {
  const told = new Set<string>();
  for await (const line of readJobs(file)) {
    if (line.kind === "fault") {
      refuse(`${file}:${line.line}: ${line.fault.message}`);
      continue;
    }
    const unknown = unknownName(line.job, config);
    if (unknown !== undefined && !told.has(unknown))
      tell(`${file}:${line.line}: ${unknown}; --timeout ends the run earlier`);
    if (unknown !== undefined) told.add(unknown);
    yield line.job;
  }
}

async function* followed(first: Job, rest: AsyncIterable<Job>): AsyncGenerator<Job> {
  yield first;
  yield* rest;
}

/** Their deadlines count from when they are sent: a machine may take its time to start. */
function* jobsFromNow(): Generator<Job> {
  for (const sample of firstSamples(Date.now())) if (sample.kind === "job") yield sample.job;
}

function workOf(samples: readonly Sample[]): Omit<Work, "jobs"> {
  const jobs = (kind: "again" | "cancelled") => samples.flatMap((sample) => (sample.kind === kind ? [sample.job] : []));
  return {
    cancelled: jobs("cancelled"),
    bodies: samples.filter((sample) => sample.kind === "body"),
    again: jobs("again"),
  };
}

function scriptIn(file: string): ScriptText {
  needReadable(file);
  let written: unknown;
  try {
    written = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    throw new Fault(`${file} is not JSON; a script is one JSON object, as lib/memory/bedrock-script.ts shows`);
  }
  const read = readScript(written);
  if (read.kind === "refused") throw new Fault(`${file} is no script:\n  ${read.problems.join("\n  ")}`);
  return read.script;
}

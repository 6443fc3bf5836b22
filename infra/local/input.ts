/** What a run sends, and what Bedrock's stand-in does: from files, or the samples. */
import { accessSync, constants, createWriteStream, openSync, readFileSync, statSync } from "node:fs";
import type { WriteStream } from "node:fs";

import { readJobs } from "../../lib/client/index.ts";
import type { Job } from "../../lib/client/index.ts";
import { readScript } from "../../lib/memory/bedrock-script.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { Fault } from "./fault.ts";
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

/** About what a small model takes. */
const scriptForFiles: ScriptText = { latency: { meanMs: 600, sigma: 0.5 } };

/** @throws Fault before anything has been started. `tell` hears of each line that is no job. */
export function readInput(options: Options, tell: (text: string) => void): Input {
  const script = options.scriptFile === undefined ? undefined : scriptIn(options.scriptFile);
  if (options.file === undefined) {
    const samples = firstSamples(Date.now());
    return { work: workOf(samples), script: script ?? firstScript, samples, linesRefused: () => 0 };
  }

  const { file } = options;
  readable(file);
  let refused = 0;
  async function* jobs(): AsyncGenerator<Job> {
    for await (const line of readJobs(file)) {
      if (line.kind === "job") {
        yield line.job;
      } else {
        refused++;
        tell(`${file}:${line.line}: ${line.fault.field}: ${line.fault.message}`);
      }
    }
  }
  return { work: { jobs: jobs() }, script: script ?? scriptForFiles, samples: [], linesRefused: () => refused };
}

function workOf(samples: readonly Sample[]): Work {
  const jobs = (kind: "job" | "again" | "cancelled") =>
    samples.flatMap((sample) => (sample.kind === kind ? [sample.job] : []));
  return {
    cancelled: jobs("cancelled"),
    bodies: samples.filter((sample) => sample.kind === "body"),
    jobs: jobs("job"),
    again: jobs("again"),
  };
}

function scriptIn(file: string): ScriptText {
  readable(file);
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

function readable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch {
    throw new Fault(`${file} cannot be read; check the path`);
  }
  if (statSync(file).isDirectory()) throw new Fault(`${file} is a directory; name a file`);
}

/** @throws Fault before anything has been started. What the file held is gone. */
export function openReplies(file: string): WriteStream {
  try {
    return createWriteStream(file, { fd: openSync(file, "w") });
  } catch {
    throw new Fault(`${file} cannot be written; check the path`);
  }
}

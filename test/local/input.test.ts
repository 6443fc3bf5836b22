import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { Fault } from "../../infra/local/fault.ts";
import { readInput } from "../../infra/local/input.ts";
import type { Input } from "../../infra/local/input.ts";
import type { Options } from "../../infra/local/options.ts";
import { sampleJobs } from "../../infra/local/samples/make-jobs.ts";
import { limited } from "../../infra/local/synth.ts";
import config from "../../infra/sluice.config.ts";
import type { Job } from "../../lib/client/index.ts";

const plain: Options = { json: false, limits: {}, bedrock: "stand-in", environmentsMax: 2 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-input-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function written(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe("what a run sends", () => {
  test("is a sample for each thing that can happen to a job, when there is no file", () => {
    const { samples, script } = readInput(plain, unheard);
    expect(new Set(samples.map(({ kind }) => kind))).toEqual(new Set(["job", "again", "cancelled", "body"]));
    expect(script.rules).not.toHaveLength(0);
  });

  test("are the jobs of a file; each bad line is told with its number and field, and counted", async () => {
    const good = JSON.stringify({ jobId: "a", model: "m", op: "converse", params: {} });
    const told: string[] = [];
    const input = readInput(
      { ...plain, file: await written("jobs.jsonl", `${good}\n{\n${good}\n{"jobId":"b"}\n`) },
      (text) => told.push(text),
    );
    expect((await jobsOf(input)).map(({ jobId }) => jobId)).toEqual(["a", "a"]);
    expect(told).toEqual([
      expect.stringMatching(/jobs\.jsonl:2: line: /),
      expect.stringMatching(/jobs\.jsonl:4: model: /),
    ]);
    expect(input.linesRefused()).toBe(2);
  });

  test("are 200 jobs of three lanes and two models in the sample file, eight of them sent twice", async () => {
    const input = readInput({ ...plain, file: "infra/local/samples/jobs.jsonl" }, unheard);
    const jobs = await jobsOf(input);
    expect(jobs).toEqual(sampleJobs());
    expect(jobs).toHaveLength(208);
    expect(new Set(jobs.map(({ jobId }) => jobId)).size).toBe(200);
    expect(new Set(jobs.map(({ lane }) => lane))).toEqual(new Set(["rt", "bg", "bulk"]));
    expect(new Set(jobs.map(({ model }) => model))).toEqual(new Set(["fast-text", "smart-text"]));
  });

  test.each([
    ["nothing", undefined, "cannot be read; check the path"],
    ["what is not JSON", "{", "is not JSON"],
    ["what is no script", '{"latency": "slow"}', "is no script:\n  latency"],
  ])("is refused when the script is %s", async (_says, text, message) => {
    const scriptFile = text === undefined ? join(folder, "nowhere") : await written("script.json", text);
    const read = () => readInput({ ...plain, scriptFile }, unheard);
    expect(read).toThrow(Fault);
    expect(read).toThrow(message);
  });
});

describe("--limit", () => {
  test("sets a target's limit from the start and at most, and leaves the others", () => {
    const { models } = limited(config, { "fast-text@us-west-2": 3 });
    expect(models["fast-text"]?.targets["us-west-2"]?.limit).toEqual({ start: 3, max: 3 });
    expect(models["fast-text"]?.targets["us-east-1"]).toEqual(config.models["fast-text"]?.targets["us-east-1"]);
    expect(models["smart-text"]).toEqual(config.models["smart-text"]);
  });

  test("names the targets that there are", () =>
    expect(() => limited(config, { "fast-text@mars": 1 })).toThrow(
      "no target fast-text@mars in the config; known: fast-text@us-west-2, fast-text@us-east-1, ",
    ));
});

async function jobsOf({ work }: Input): Promise<readonly Job[]> {
  const jobs: Job[] = [];
  for await (const job of work.jobs) jobs.push(job);
  return jobs;
}

function unheard(text: string): never {
  throw new Error(`nothing is to be told: ${text}`);
}

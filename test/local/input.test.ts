import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { Fault } from "../../lib/terminal/fault.ts";
import { readInput } from "../../infra/local/input.ts";
import type { Input } from "../../infra/local/input.ts";
import type { Options } from "../../infra/local/options.ts";
import { sampleJobs } from "../../infra/local/samples/make-jobs.ts";
import { limited } from "../../infra/local/synth.ts";
import config from "../../infra/sluice.config.ts";
import type { Job } from "../../lib/client/index.ts";
import { checkConfig } from "../../lib/config.ts";

const plain: Options = { json: false, limits: {}, bedrock: "stand-in", environmentsMax: 2, stays: false };

const known = checkConfig(config);

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
  test("is a sample for each thing that can happen to a job, when there is no file", async () => {
    const { samples, script } = await readInput(plain, known, unheard);
    expect(new Set(samples.map(({ kind }) => kind))).toEqual(new Set(["job", "again", "cancelled", "body"]));
    expect(script.rules).not.toHaveLength(0);
  });

  test("are the jobs of a file; each bad line is told with its number and field, and counted", async () => {
    const good = JSON.stringify({ jobId: "a", model: "fast-text", op: "converse", params: {} });
    const told: string[] = [];
    const input = await readInput(
      { ...plain, file: await written("jobs.jsonl", `${good}\n{\n${good}\n{"jobId":"b"}\n`) },
      known,
      (text) => told.push(text),
    );
    expect((await jobsOf(input)).map(({ jobId }) => jobId)).toEqual(["a", "a"]);
    expect(told).toEqual([
      expect.stringMatching(/jobs\.jsonl:2: line is not JSON/),
      expect.stringMatching(/jobs\.jsonl:4: model is missing/),
    ]);
    expect(input.linesRefused()).toBe(2);
  });

  test("are 200 jobs of three lanes and two models in the sample file, eight of them sent twice", async () => {
    const input = await readInput({ ...plain, file: "infra/local/samples/jobs.jsonl" }, known, unheard);
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
    const read = readInput({ ...plain, scriptFile }, known, unheard);
    await expect(read).rejects.toThrow(Fault);
    await expect(read).rejects.toThrow(message);
  });

  test("are jobs of models that nobody here knows too; each model is told once, with what there is", async () => {
    const lines = ["gpt-4", "gpt-4", "fast-text@mars"].map((model) =>
      JSON.stringify({ jobId: "a", model, op: "converse", params: {} }),
    );
    const listed = { jobId: "a", model: "fast-text", op: "converse", params: {}, fallback: ["smart-txt"] };
    const told: string[] = [];
    const file = await written("strange.jsonl", [...lines, JSON.stringify(listed)].join("\n"));
    const input = await readInput({ ...plain, file }, known, (text) => told.push(text));
    expect(await jobsOf(input)).toHaveLength(4);
    const fate = "it waits for a worker that knows it until its deadline; --timeout ends the run earlier";
    expect(told).toEqual([
      `${file}:1: model: "gpt-4" is not in the config (known: fast-text, smart-text); ${fate}`,
      `${file}:3: model: "fast-text@mars" is not in the config (known: fast-text@us-west-2, fast-text@us-east-1); ${fate}`,
      `${file}:4: fallback: "smart-txt" is not in the config (known: fast-text, smart-text); ${fate}`,
    ]);
  });

  test.each([
    ["is empty", "", 0],
    ["has blank lines alone", "\n \r\n", 0],
    ["has bad lines alone, each of them told", "{\n[]\n", 2],
    ["is no file of jobs at all, which is told by its first lines", "I am a letter.\n".repeat(500), 21],
  ])("are none, which is refused, when the file %s", async (_says, text, lines) => {
    const told: string[] = [];
    const file = await written("none.jsonl", text);
    const read = readInput({ ...plain, file }, known, (line) => told.push(line));
    await expect(read).rejects.toThrow(new Fault(`${file} holds no job; write one envelope a line`));
    expect(told).toHaveLength(lines);
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

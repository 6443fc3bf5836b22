import { spawnSync } from "node:child_process";
import { existsSync, openSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { job, write } from "../local/files.ts";
import { temporaryFolder } from "../temporary.ts";
import { entry, run, values } from "./service.ts";

const folder = temporaryFolder("cli");
/** Nobody listens on the port of discarded things. */
const nobody = { AWS_ENDPOINT_URL: "http://127.0.0.1:9", AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
const outputs = join(folder, "outputs.json");
writeFileSync(outputs, JSON.stringify({ Sluice: values }));
/** No process has so high a number. */
const left = join(folder, "local.json");
writeFileSync(left, JSON.stringify({ pid: 2 ** 30, region: "us-west-2", outputs: values, endpoints: {}, config: {} }));
const at = (...args: string[]) => [...args, "--outputs", outputs];
const sent = write(folder, "jobs.jsonl", [job("a")]);
const linked = join(folder, "replies.jsonl");
symlinkSync(sent, linked);

describe.concurrent("a command line that is wrong, or cannot be carried out", { timeout: 60_000 }, () => {
  test.each<[says: string, args: readonly string[], code: number, told: string]>([
    ["an option that is none", ["jobs", "--opne"], 2, "unknown option '--opne'"],
    ["a command that is none", ["job-list"], 2, "unknown command 'job-list'"],
    ["two lists at once", at("jobs", "--open", "--failed"), 2, "ask for one"],
    ["a status that is none", at("jobs", "--status", "done"), 2, "Allowed choices are"],
    ["a number that is none", at("jobs", "--limit", "many"), 2, "Give a whole number from 1."],
    ["a duration that is none", at("pause", "bulk", "--for", "soon"), 2, "Give a duration like 90s, 15m, 2h or 1d."],
    ["a time without a zone", at("pause", "bulk", "--until", "2099-01-01T00:00"), 2, "Give a time with its zone"],
    ["a time that has passed", at("pause", "bulk", "--until", "2001-01-01T00:00Z"), 2, "--until has passed"],
    ["a file that is not there", at("submit", "nowhere.jsonl"), 2, "nowhere.jsonl is not there; check the path"],
    ["replies over the jobs", at("submit", sent, "--replies", sent), 2, "would overwrite the jobs"],
    ["replies over the jobs by another name", at("submit", sent, "--replies", linked), 2, "would overwrite the jobs"],
    ["outputs that are not there", ["jobs", "--outputs", "none.json"], 2, "none.json cannot be read (ENOENT)"],
    ["outputs of something else", ["jobs", "--outputs", sent], 2, "holds no outputs of a stack of Sluice"],
    [
      "another region than the outputs'",
      at("jobs", "--region", "eu-west-1"),
      2,
      "is in us-west-2, and --region says eu-west-1",
    ],
    ["a config that is not there", at("targets", "--config", "none.ts"), 2, "none.ts cannot be read"],
    ["an argument that is missing", at("parked", "show"), 2, "See npx sluice parked show --help"],
    ["everything parked, without a word", at("parked", "rerun"), 2, "--dry-run shows them"],
    ["a service on this machine that has ended", ["jobs", "--outputs", left], 2, "start it again with npm start"],
    [
      "an endpoint that is none",
      at("jobs", "--endpoint", "nonsense"),
      2,
      "--endpoint nonsense is no URL; give one like",
    ],
    ["an endpoint without a scheme", at("jobs", "--endpoint", "localhost:4566"), 2, "localhost:4566 is no URL"],
    ["two places at once", at("jobs", "--local"), 2, "leave out --stack and --outputs, or it"],
    ["a jobId that can be none", at("cancel", "a", "b\u009B2J c"), 2, "b 2J c can be no jobId"],
    ["nobody who answers", at("job", "a"), 1, "nobody answers"],
  ])("%s", async (_says, args, code, told) => {
    const ended = await run(args, nobody);
    expect(ended.stderr).toContain(told);
    expect(ended).toMatchObject({ code, stdout: "" });
    expect(ended.stderr).not.toMatch(/^ {4}at /m);
  });

  test("a config's variable that is empty names none", async () => {
    const { stderr } = await run(at("targets"), { ...nobody, SLUICE_CONFIG: "" });
    expect(stderr).toContain("nobody answers");
  });

  test("the place where an error comes from is told with --debug", async () => {
    expect((await run(at("job", "a", "--debug"), nobody)).stderr).toMatch(/^ {4}at /m);
  });
});

describe.concurrent("help", { timeout: 60_000 }, () => {
  const commands = ["submit", "job", "jobs", "leases", "targets", "limit", "pause", "resume", "cancel"];
  const parked = ["list", "show", "rerun", "delete"].map((inner) => `parked ${inner}`);
  test.each([...commands, ...parked])("%s has examples, and says its JSON", async (command) => {
    const { code, stdout } = await run([...command.split(" "), "--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\nJSON: .*\n/);
    expect(stdout).toContain(`\nExamples:\n  npx sluice ${command}`);
    expect(stdout.split("\n").filter((line) => line.length > 110)).toEqual([]);
  });
});

test("bash completes commands, and the options of the one that was typed", async () => {
  const { stdout } = await run(["completion", "bash"]);
  const script = join(folder, "completion.bash");
  writeFileSync(script, stdout);
  const completed = (...words: string[]) => {
    const line = `source ${script}; COMP_WORDS=(sluice ${words.join(" ")}); COMP_CWORD=${words.length}; _sluice; echo "\${COMPREPLY[@]}"`;
    return spawnSync("bash", ["-c", line], { encoding: "utf8" }).stdout.trim();
  };
  expect(completed("par")).toBe("parked");
  expect(completed("parked", "re")).toBe("rerun");
  expect(completed("--local", "parked", "rerun", "--ra")).toBe("--rate");
  expect(completed("pause", "bulk", "--un")).toBe("--until");
  expect(completed("jobs", "--js")).toBe("--json");
});

describe("an output that cannot be written", () => {
  test.skipIf(!existsSync("/dev/full"))("is told, and is no success", () => {
    const full = openSync("/dev/full", "w");
    const ended = spawnSync(process.execPath, [entry, "completion", "bash"], { stdio: ["ignore", full, "pipe"] });
    expect(ended.stderr.toString()).toContain("cannot be written: ENOSPC");
    expect(ended.status).toBe(1);
  });

  test("is nobody's loss where the reader had enough", () => {
    const line = `"${process.execPath}" "${entry}" completion bash | true; exit \${PIPESTATUS[0]}`;
    const ended = spawnSync("bash", ["-c", line], { encoding: "utf8" });
    expect(ended).toMatchObject({ status: 0, stderr: "" });
  });
});

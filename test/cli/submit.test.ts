import { execFileSync, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { open as openFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { prepare } from "../../lib/client/message.ts";
import { job, write } from "../local/files.ts";
import { until } from "../local/process.ts";
import { temporaryFolder } from "../temporary.ts";
import { entry, run, values } from "./service.ts";
import { refused, startStandIn } from "./stand-in.ts";
import type { Instead, StandIn } from "./stand-in.ts";

const folder = temporaryFolder("submit");
const outputs = join(folder, "outputs.json");
writeFileSync(outputs, JSON.stringify({ Sluice: values }));
const jobs = [job("a"), job("b")];
const file = write(folder, "jobs.jsonl", jobs);

/** SQS says the hash of what it took, and the SDK compares it. */
function taken(it: object, index: number) {
  const prepared = prepare(it, undefined);
  const body = prepared.kind === "ready" ? prepared.message.body : "";
  return { Id: String(index), MD5OfMessageBody: createHash("md5").update(body).digest("hex") };
}

/** A table that knows of no job, and a queue that takes two. */
const calm: Instead = {
  BatchGetItem: { body: { Responses: { jobs: [] } } },
  SendMessageBatch: { body: { Successful: jobs.map(taken) } },
};
const expired: Instead = { BatchGetItem: refused("ExpiredTokenException", "The security token is expired") };

let aws: StandIn;
beforeAll(async () => {
  aws = await startStandIn();
});
beforeEach(() => {
  aws.instead = calm;
  aws.sent.clear();
});
afterAll(() => aws.stop());

const commandLine = (args: readonly string[]) => ["submit", ...args, "--outputs", outputs, "--region", "us-west-2"];
const environment = () => ({
  AWS_ENDPOINT_URL: aws.endpoint,
  AWS_ACCESS_KEY_ID: "a",
  AWS_SECRET_ACCESS_KEY: "b",
});

const submit = (...args: readonly string[]) => run(commandLine(args), environment());

/** One that is watched while it runs. */
function spawnSubmit(...args: readonly string[]) {
  const env = { ...process.env, ...environment() };
  const child = spawn(process.execPath, [entry, ...commandLine(args)], { env, stdio: ["ignore", "ignore", "pipe"] });
  let told = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (told += text));
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "close").then(([code]: readonly (number | null)[]) => code);
  return { told: () => told, kill: (signal: NodeJS.Signals) => void child.kill(signal), ended };
}

describe("npx sluice submit --wait that an error ends", () => {
  async function endedMeanwhile(...args: readonly string[]) {
    const running = submit(file, "--wait", ...args);
    await until(() => aws.sent.has("SendMessageBatch"));
    aws.instead = expired;
    return await running;
  }

  test("tells what was done and how to pick up again, and then what ended it", async () => {
    const { code, stdout, stderr } = await endedMeanwhile();
    expect(code).toBe(1);
    expect(stdout).toContain("2 jobs in ");
    expect(stdout).toContain(`Stopped. The same command picks up again: npx sluice submit ${file} --wait --outputs`);
    expect(stderr).toContain("the AWS credentials have expired");
  });

  test("gives its document with --json", async () => {
    const { code, stdout } = await endedMeanwhile("--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ jobs: 2, sent: 2, open: 2, interrupted: true });
  });

  test("leaves what was collected where it brought nothing", async () => {
    aws.instead = expired;
    const replies = join(folder, "replies.jsonl");
    writeFileSync(replies, "collected\n");
    const { code, stdout } = await submit(file, "--replies", replies);
    expect(code).toBe(1);
    expect(stdout).toContain(
      `The same command picks up again: npx sluice submit ${file} --replies ${replies} --outputs`,
    );
    expect(readFileSync(replies, "utf8")).toBe("collected\n");
  });
});

describe.skipIf(process.platform === "win32")("npx sluice submit of a named pipe", () => {
  function aPipe(): string {
    const pipe = join(folder, randomUUID());
    execFileSync("sh", ["-c", `mkfifo "$1"`, "sh", pipe]);
    return pipe;
  }

  test("sends what is written into it", async () => {
    const pipe = aPipe();
    const running = submit(pipe, "--json");
    await writeFile(pipe, jobs.map((it) => JSON.stringify(it)).join("\n"));
    const { code, stdout } = await running;
    expect(JSON.parse(stdout)).toMatchObject({ jobs: 2, sent: 2 });
    expect(code).toBe(0);
  });

  test("ends by a signal while its writer writes nothing", async () => {
    const pipe = aPipe();
    const child = spawnSubmit(pipe);
    const writer = await openFile(pipe, "w");
    await writer.write(`${JSON.stringify(job("c"))}\n${JSON.stringify({ ...job("d"), model: "" })}\n`);
    // The second line is no job, and told of as soon as it is read: from then on it waits for the writer.
    await until(() => child.told().includes(`${pipe}:2`));
    child.kill("SIGTERM");
    expect(await child.ended).toBe(130);
    await writer.close();
  });
});

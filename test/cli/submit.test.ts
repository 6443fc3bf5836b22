import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { prepare } from "../../lib/client/message.ts";
import { job, write } from "../local/files.ts";
import { until } from "../local/process.ts";
import { temporaryFolder } from "../temporary.ts";
import { run } from "./service.ts";
import { refused, startStandIn } from "./stand-in.ts";
import type { Instead, StandIn } from "./stand-in.ts";

const folder = temporaryFolder("submit");
const outputs = join(folder, "outputs.json");
const url = (name: string) => `https://sqs.us-west-2.amazonaws.com/123456789012/${name}`;
const values = {
  rtQueueUrl: url("rt"),
  bgQueueUrl: url("bg"),
  bulkQueueUrl: url("bulk"),
  jobTableName: "jobs",
  repliesBucketName: "replies",
};
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

function submit(...args: readonly string[]) {
  const env = { AWS_ENDPOINT_URL: aws.endpoint, AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
  return run(["submit", ...args, "--outputs", outputs, "--region", "us-west-2"], env);
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

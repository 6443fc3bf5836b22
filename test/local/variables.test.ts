import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { endpointsGiven, ofAnotherRun } from "../../infra/local/endpoints.ts";
import { variableLines } from "../../infra/local/variables.ts";

test("a shell learns where the service on this machine is, whatever its queues are called", async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-variables-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "local.json");
  const outputs = {
    rtQueueUrl: "http://a/rt",
    bgQueueUrl: "http://a/it's",
    bulkQueueUrl: "http://a/x",
    jobTableName: "j",
    leaseTableName: "l",
  };
  const endpoints = { AWS_ENDPOINT_URL_SQS: "http://127.0.0.1:9" };
  await writeFile(file, JSON.stringify({ pid: process.pid, region: "us-west-2", outputs, endpoints, config: {} }));
  const lines = await variableLines([file]);
  const shown = `${lines.join("\n")}\necho "$AWS_REGION $AWS_ENDPOINT_URL_SQS $AWS_ACCESS_KEY_ID $BG_QUEUE_URL $JOB_TABLE $LEASE_TABLE $AWS_DEFAULT_REGION"`;
  expect(execFileSync("sh", ["-c", shown], { encoding: "utf8" })).toBe(
    "us-west-2 http://127.0.0.1:9 local http://a/it's j l us-west-2\n",
  );
  expect(lines).toContain(`export ${ofAnotherRun}='1'`);
  // A run of one's own, started in that shell, has engines of its own.
  const named = { AWS_ENDPOINT_URL_SQS: "http://127.0.0.1:9" };
  expect(endpointsGiven({ ...named, [ofAnotherRun]: "1" })).toEqual({});
  expect(endpointsGiven(named)).toEqual(named);
});

test("there is nothing to learn where none runs", () =>
  expect(variableLines([])).rejects.toThrow("no service runs on this machine; start it with npm start"));

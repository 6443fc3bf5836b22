/** The bundles of real handlers, each in a process of its own, as Lambda starts it. */
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { PassThrough } from "node:stream";
import { beforeAll, describe, expect, test } from "vitest";

import { bundleFunction } from "../../infra/bundle.ts";
import { startEnvironment } from "../../infra/local/environment.ts";
import config from "../../infra/sluice.config.ts";
import {
  createJobTable,
  createLeaseTable,
  createQueue,
  dynamoEngines,
  engineForTests,
  localClient,
} from "../contract/engines.ts";
import { startFauxqs } from "../../infra/local/engines.ts";
import { job } from "./files.ts";
import { temporaryFolder } from "../temporary.ts";

const folder = temporaryFolder("files");
const root = join(import.meta.dirname, "../..");
const example = "functions/examples/hooked-worker.ts";

/** A worker's process, with one invocation: what it answered and what it wrote. */
async function invoke(directory: string, variables: Readonly<Record<string, string>>, records: readonly object[]) {
  const log = new PassThrough();
  const fn = { name: "worker", handler: "handler", timeoutMs: 60_000, memoryMb: 512 };
  const environment = startEnvironment({ ...fn, file: join(directory, "index.mjs"), variables }, log);
  const written = text(log);
  const invoked = await environment.invoke({ Records: records });
  environment.kill();
  await environment.ended;
  log.end();
  return { invoked, lines: (await written).split("\n") };
}

const bundle = (entry: string, name: string) =>
  bundleFunction(join(root, entry), JSON.stringify(config), join(folder, name));

/** Where nobody listens: whatever wants a table or a queue would hear so at once. */
const nowhere = {
  AWS_REGION: "us-west-2",
  SLUICE_LANE: "bg",
  SLUICE_JOB_TABLE: "jobs",
  SLUICE_LEASE_TABLE: "leases",
  SLUICE_QUEUE_URL: "http://127.0.0.1:1/q",
  SLUICE_PARKED_QUEUE_URL: "http://127.0.0.1:1/p",
  SLUICE_REPLIES_QUEUE_URL: "http://127.0.0.1:1/r",
  SLUICE_BUCKET: "b",
};

describe("a worker of one's own", () => {
  test("is in the README as it stands", () => {
    const code = readFileSync(join(root, example), "utf8").replace("../handlers/", "./functions/handlers/");
    expect(readFileSync(join(root, "README.md"), "utf8")).toContain(`\`\`\`ts\n${code}\`\`\``);
  });

  test("answers as ours does, and its hooks hear of it before it has answered", { timeout: 60_000 }, async () => {
    const [[, startDynamo] = []] = dynamoEngines;
    if (startDynamo === undefined) throw new Error("no engine for tables");
    const [dynamo, sqs] = await Promise.all([engineForTests(startDynamo), engineForTests(startFauxqs)]);
    const { credentials } = localClient(dynamo);
    const queue = () => createQueue(sqs);
    const variables = {
      ...nowhere,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_ENDPOINT_URL_DYNAMODB: dynamo,
      AWS_ENDPOINT_URL_SQS: sqs,
      SLUICE_JOB_TABLE: await createJobTable(dynamo),
      SLUICE_LEASE_TABLE: await createLeaseTable(dynamo),
      SLUICE_QUEUE_URL: await queue(),
      SLUICE_PARKED_QUEUE_URL: await queue(),
      SLUICE_REPLIES_QUEUE_URL: await queue(),
    };
    const body = JSON.stringify(job("order-1", { deadlineAt: Date.now() - 1_000 }));
    const record = { messageId: "m-1", receiptHandle: "r-1", body, attributes: {} };
    const { invoked, lines } = await invoke(bundle(example, "example"), variables, [record]);
    expect(invoked).toEqual({ kind: "returned", value: { batchItemFailures: [] } });
    expect(lines).toContainEqual(expect.stringMatching(/^order-1 expired after \d+ ms$/));
  });
});

describe("a worker whose config", () => {
  const whole = join(folder, "whole");
  beforeAll(() => void bundle("functions/worker.ts", "whole"));
  const remedy = "sluice.config.json beside the bundle cannot be used; deploy again, for synth writes it: ";

  test.concurrent.each<[says: string, damage: (file: string) => void, why: string]>([
    ["is missing", (file) => rmSync(file), "ENOENT"],
    ["is cut off", (file) => writeFileSync(file, '{"models":'), "Unexpected end of JSON input"],
    ["cannot work", (file) => writeFileSync(file, '{"models":{}}'), "The config cannot be used:"],
  ])("%s takes no message, and says in one line what to do", async (says, damage, why) => {
    const broken = join(folder, says);
    cpSync(whole, broken, { recursive: true });
    damage(join(broken, "sluice.config.json"));
    const { invoked, lines } = await invoke(broken, nowhere, [{ messageId: "m-1", receiptHandle: "r-1", body: "{}" }]);
    // An invocation that throws has all its messages come again.
    expect(invoked).toMatchObject({ kind: "threw" });
    expect(lines.filter((line) => line.includes(remedy + why))).toHaveLength(1);
  });
});

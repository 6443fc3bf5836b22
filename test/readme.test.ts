/** The README is held to the code: its numbers are the numbers, its examples run. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../lib/aws/clock.ts";
import { digest } from "../lib/aws/digest.ts";
import { createJobTable as jobTableOn } from "../lib/aws/job-table.ts";
import { createLeaseTable as leaseTableOn } from "../lib/aws/lease-table.ts";
import { createQueue as queueOn } from "../lib/aws/queue.ts";
import { cancel } from "../lib/client/cancel.ts";
import { checkConfig } from "../lib/config.ts";
import type { ConfigInput } from "../lib/config.ts";
import * as breaker from "../lib/core/breaker.ts";
import { deliveryOf } from "../lib/core/batch.ts";
import { readBody } from "../lib/core/feeds.ts";
import { replyCodes } from "../lib/core/reply.ts";
import { lanes } from "../lib/core/lane.ts";
import { readOverrides } from "../lib/core/override.ts";
import * as limits from "../lib/core/limits.ts";
import { laneLimits } from "../lib/core/limits.ts";
import { scriptedModels } from "../lib/memory/models.ts";
import { createMemoryAnnouncer } from "../lib/memory/announcer.ts";
import { createMemoryObjects } from "../lib/memory/objects.ts";
import { createMemoryOutbox } from "../lib/memory/outbox.ts";
import { createMemoryWorker } from "../lib/memory/world.ts";
import { processBatch } from "../lib/worker/process-batch.ts";
import { startBedrock } from "../infra/local/bedrock/server.ts";
import config from "../infra/sluice.config.ts";
import { createJobTable, createLeaseTable, createQueue, localClient, startEngines } from "./contract/engines.ts";

const root = join(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");

/** The cells of the row that begins so. */
function row(title: string): string[] {
  const line = readme.split("\n").find((it) => it.startsWith(`| ${title} `));
  return line === undefined
    ? []
    : line
        .split("|")
        .slice(2, -1)
        .map((cell) => cell.trim());
}

function block(language: string, holding: string): string {
  const blocks = [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, code]) => code ?? "",
  );
  return blocks.find((code) => code.includes(holding)) ?? "";
}

describe("the README's numbers are the code's", () => {
  const seconds = (ms: number) => `${ms / 1_000} s`;
  test.each<[title: string, cell: (lane: (typeof lanes)[number]) => string]>([
    ["deadline, unless the job names one", (lane) => seconds(laneLimits[lane].deadlineMsDefault)],
    ["latest deadline", (lane) => seconds(laneLimits[lane].deadlineMsMax)],
    ["function timeout", (lane) => seconds(laneLimits[lane].functionTimeoutMs)],
    ["longest attempt", (lane) => seconds(laneLimits[lane].attemptMsMax)],
    ["longest wait for a lease on a step", (lane) => seconds(laneLimits[lane].leaseWaitMsMax)],
    ["backoff slept in one delivery", (lane) => seconds(laneLimits[lane].backoffMsMax)],
    ["share of every limit", (lane) => `${laneLimits[lane].share * 100} %`],
    ["batch size, batching window", (lane) => `${laneLimits[lane].batchSize}, ${laneLimits[lane].batchWindowS} s`],
    ["receives before SQS calls it dead", (lane) => String(laneLimits[lane].receivesMax)],
  ])("%s", (title, cell) => expect(row(title)).toEqual(lanes.map(cell)));

  test.each<[title: string, cell: string]>([
    [
      "attempts on a step in one delivery, throttled ones",
      `${limits.attemptsPerStepMax}, ${limits.throttledAttemptsPerStepMax}`,
    ],
    ["attempts in a job's life (throttled ones, failed probes are free)", String(limits.attemptsPerLifeMax)],
    ["longest single sleep in an invocation", seconds(limits.sleepMsMax)],
    ["a claim holds, is extended every", `${seconds(limits.holdMs)}, ${seconds(limits.heartbeatMs)}`],
    ["a lease holds", seconds(limits.leaseMs)],
    [
      "a breaker opens after, for, then for",
      `${breaker.failuresMax} failures, ${seconds(breaker.firstOpenMs)}, ${seconds(breaker.reopenMs)}`,
    ],
    ["crashes before a job is given up", String(limits.crashesMax)],
    ["reply kept in the row up to, else in S3", `${limits.replyInlineBytesMax} bytes`],
  ])("%s", (title, cell) => expect(row(title)).toEqual([cell]));
});

test("the README has every code that a reply's error may have, in the code's order", () => {
  const [, table = ""] = /\n\| `error\.code`.*\n\|.*\n((?:\|.*\n)+)/.exec(readme) ?? [];
  expect([...table.matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code)).toEqual([...replyCodes]);
});

test("the README names the package's file and all its doors", () => {
  const { version, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(readme).toContain(`sluice-${version}.tgz`);
  const doors = [...readme.matchAll(/^\| `(sluice(?:\/[\w-]+)?)` /gm)].map(([, door = ""]) =>
    door.replace("sluice", "."),
  );
  expect([...doors, "./package.json"].toSorted()).toEqual(Object.keys(exports).toSorted());
});

describe("the README's examples", () => {
  test("the message from a shell is an envelope", () => {
    const [, body = ""] = /--message-body '([^']*)'/.exec(block("sh", "--message-body")) ?? [];
    expect(readBody(body)).toMatchObject({ kind: "envelope", envelope: { jobId: "order-8812-summary" } });
  });

  test("the reply is where the shell and Python look for it", async () => {
    const shell = block("sh", "get-item");
    expect(shell).toContain("--query Item.reply.S ");
    const [, key = ""] = /--key '([^']*)'/.exec(shell) ?? [];
    const engines = await startEngines();
    afterAll(engines.stop);
    const endpoint = engines.dynoxide ?? engines.dynalite;
    const dynamo = new DynamoDBClient(localClient(endpoint));
    const jobTable = await createJobTable(endpoint);
    await cancel("order-8812-summary", jobTableOn(dynamo, jobTable, systemClock), systemClock, 1);
    const { Item } = await dynamo.send(new GetItemCommand({ TableName: jobTable, Key: JSON.parse(key) }));
    expect(JSON.parse(Item?.["reply"]?.S ?? "")).toMatchObject({ status: "cancelled" });

    const python = block("python", "boto3");
    for (const [, variable = ""] of python.matchAll(/os\.environ\["(\w+)"\]/g))
      expect(shell).toMatch(new RegExp(`^export .*${variable}=`, "m"));
    expect(python).toContain('.get_item(Key={"jobId": job["jobId"]}).get("Item", {})');
    expect(python).toContain('json.loads(row["reply"])["status"]');
    const { stderr } = await promisify(execFile)("python3", ["-c", "import ast, sys; ast.parse(sys.argv[1])", python]);
    expect(stderr).toBe("");
  });

  test("the event that the rule matches is an envelope", () => {
    const { source, "detail-type": types } = JSON.parse(block("json", "detail-type")) as Record<string, string[]>;
    const detail = { jobId: "a", model: "fast-text", op: "converse", params: { messages: [] } };
    const event = { source: source?.[0], "detail-type": types?.[0], detail };
    expect(readBody(JSON.stringify(event))).toMatchObject({ kind: "envelope", envelope: { jobId: "a" } });
  });

  test("the operator's limit is written as it stands, and understood", async () => {
    const engines = await startEngines();
    afterAll(engines.stop);
    const command = block("sh", "update-item");
    const part = (name: string) => new RegExp(`--${name} '([^']*)'`).exec(command)?.[1] ?? "";
    const dynamo = new DynamoDBClient(localClient(engines.dynoxide ?? engines.dynalite));
    const leaseTable = await createLeaseTable(engines.dynoxide ?? engines.dynalite);
    await dynamo.send(
      new UpdateItemCommand({
        TableName: leaseTable,
        Key: JSON.parse(part("key")),
        UpdateExpression: part("update-expression"),
        ExpressionAttributeNames: JSON.parse(part("expression-attribute-names")),
        ExpressionAttributeValues: JSON.parse(part("expression-attribute-values")),
      }),
    );
    const names = { ledgers: ["fast-text@us-west-2"], targets: [], lanes: [], models: [] };
    const rows = await leaseTableOn(dynamo, leaseTable).readBoard(names);
    const { overrides, troubles } = readOverrides(rows.overrides, () => true);
    expect(overrides.ledgers.get("fast-text@us-west-2")).toEqual({ limit: 5 });
    expect(troubles.size).toBe(0);
  });

  test("the config is one", async () => {
    mkdirSync(join(root, ".sluice/readme"), { recursive: true });
    const example = join(root, ".sluice/readme/config.ts");
    const code = block("ts", "export default defineConfig");
    writeFileSync(example, `import { defineConfig } from "../../lib/config.ts";\n${code}`);
    const { default: written } = (await import(pathToFileURL(example).href)) as { readonly default: ConfigInput };
    const read = checkConfig(written);
    expect(read.models["fast-text"]?.targets["us-west-2"]?.quotaGroup).toBe("nova-lite-usw2");
    rmSync(example);
  });

  test("the TypeScript runs as it stands, and gets its reply", async () => {
    const engines = await startEngines();
    afterAll(engines.stop);
    const dynamoUrl = engines.dynoxide ?? engines.dynalite;
    const [jobTable, leaseTable, queueUrl, parkedQueueUrl] = await Promise.all([
      createJobTable(dynamoUrl),
      createLeaseTable(dynamoUrl),
      createQueue(engines.fauxqs),
      createQueue(engines.fauxqs),
    ]);
    const dynamo = new DynamoDBClient(localClient(dynamoUrl));
    const sqs = new SQSClient({ ...localClient(engines.fauxqs), useQueueUrlAsEndpoint: false });
    const world = {
      clock: systemClock,
      jobs: jobTableOn(dynamo, jobTable, systemClock),
      leases: leaseTableOn(dynamo, leaseTable),
      queue: queueOn(sqs, { queueUrl, parkedQueueUrl }),
      models: scriptedModels(systemClock),
      objects: createMemoryObjects(),
      outbox: createMemoryOutbox(systemClock),
      announcer: createMemoryAnnouncer(),
      telemetry: { note: () => undefined },
    };
    const worker = createMemoryWorker(world, checkConfig(config), "rt", digest);

    const example = join(root, ".sluice/readme/example.ts");
    mkdirSync(join(root, ".sluice/readme"), { recursive: true });
    writeFileSync(example, block("ts", "createClient").replaceAll('"./lib/', '"../../lib/'));
    const env = {
      ...process.env,
      AWS_ENDPOINT_URL_DYNAMODB: dynamoUrl,
      AWS_ENDPOINT_URL_SQS: engines.fauxqs,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      RT_QUEUE_URL: queueUrl,
      BG_QUEUE_URL: queueUrl,
      BULK_QUEUE_URL: queueUrl,
      JOB_TABLE: jobTable,
    };
    const running = promisify(execFile)(process.execPath, [example], { env });

    const received = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: queueUrl, WaitTimeSeconds: 10, MessageSystemAttributeNames: ["All"] }),
    );
    const deliveries = (received.Messages ?? []).map(({ MessageId = "", ReceiptHandle = "", Body = "" }) =>
      deliveryOf({ messageId: MessageId, receiptHandle: ReceiptHandle, body: Body }, "rt", Date.now()),
    );
    expect(await processBatch(worker, deliveries, Date.now() + 90_000)).toEqual([]);
    const { stdout } = await running;
    expect(stdout).toMatch(/^us-west-2 \{[\s\S]*outputTokens/);
    rmSync(example);
  });

  test("the test of one's own code passes", async () => {
    const example = join(root, ".sluice/readme/own-test.ts");
    mkdirSync(join(root, ".sluice/readme"), { recursive: true });
    writeFileSync(example, block("ts", "createTestClient").replaceAll('"./lib/', '"../../lib/'));
    const { stderr } = await promisify(execFile)(process.execPath, [example]);
    expect(stderr).toBe("");
    rmSync(example);
  });

  test("the call runs as it stands, and has its reply", async () => {
    const [engines, bedrock] = await Promise.all([startEngines(), startBedrock()]);
    afterAll(() => Promise.all([engines.stop(), bedrock.close()]));
    const dynamoUrl = engines.dynoxide ?? engines.dynalite;
    const example = join(root, ".sluice/readme/call.ts");
    mkdirSync(join(root, ".sluice/readme"), { recursive: true });
    writeFileSync(example, block("ts", "createCallNow").replaceAll('"./', '"../../'));
    const env = {
      ...process.env,
      AWS_ENDPOINT_URL_DYNAMODB: dynamoUrl,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.endpoint,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      LEASE_TABLE: await createLeaseTable(dynamoUrl),
    };
    const { stdout } = await promisify(execFile)(process.execPath, [example], { env });
    expect(stdout).toBe("us-west-2\n");
    rmSync(example);
  });
});

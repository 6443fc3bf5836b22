import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, test } from "vitest";
import { startDynoxide, startFauxqs } from "../../infra/local/engines.ts";
import { createBucket, createJobTable, createQueue, dynamoEngines, engineForTests, localClient } from "./engines.ts";

describe.each(dynamoEngines)("%s", async (_name, start) => {
  const endpoint = await engineForTests(start);

  test("listens on loopback and makes a table", async () => {
    expect(new URL(endpoint).hostname).toBe("127.0.0.1");
    const TableName = await createJobTable(endpoint);
    const { Table } = await new DynamoDBClient(localClient(endpoint)).send(new DescribeTableCommand({ TableName }));
    expect(Table?.TableStatus).toBe("ACTIVE");
  });

  test("is gone once it is stopped", async () => {
    const engine = await start();
    await engine.stop();
    await expect(fetch(engine.endpoint)).rejects.toThrow("fetch failed");
  });
});

describe("fauxqs", async () => {
  const endpoint = await engineForTests(startFauxqs);

  test("has queues and buckets, on loopback alone", async () => {
    expect(new URL(endpoint).hostname).toBe("127.0.0.1");
    const queueUrl = await createQueue(endpoint);
    await createBucket(endpoint);
    const { QueueUrls } = await new SQSClient(localClient(endpoint)).send(new ListQueuesCommand({}));
    expect(QueueUrls).toEqual([queueUrl]);
  });
});

test.runIf(dynamoEngines.some(([name]) => name === "dynoxide"))(
  "an engine of its own process says so when somebody else has ended that",
  async () => {
    const engine = await startDynoxide();
    const listening = `dynoxide --host 127.0.0.1 --port ${new URL(engine.endpoint).port}`;
    const [pid] = execFileSync("ps", ["-eo", "pid,args"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes(listening) && !line.includes("/bin/sh"))
      .map((line) => Number.parseInt(line, 10));
    let hasEnded = false;
    const ended = engine.ended?.then(() => (hasEnded = true));
    await fetch(engine.endpoint);
    expect(hasEnded).toBe(false);
    process.kill(pid ?? Number.NaN, "SIGKILL");
    await ended;
    expect(hasEnded).toBe(true);
    await engine.stop();
  },
);

test.runIf(dynamoEngines.some(([name]) => name === "dynoxide"))(
  "an engine's process ends with its parent, even a killed one",
  async () => {
    const engines = new URL("../../infra/local/engines.ts", import.meta.url).href;
    const script = `const { endpoint } = await (await import(${JSON.stringify(engines)})).startDynoxide(); console.log(endpoint); setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line]: Buffer[] = await once(parent.stdout, "data");
    const endpoint = String(line).trim();
    await fetch(endpoint);

    parent.kill("SIGKILL");
    await once(parent, "exit");
    await expect
      .poll(
        () =>
          fetch(endpoint).then(
            () => "alive",
            () => "gone",
          ),
        { timeout: 5_000 },
      )
      .toBe("gone");
  },
);

/** Real engines for tests, started for a test file and ended after it. */
import { randomUUID } from "node:crypto";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { CreateTableCommandInput } from "@aws-sdk/client-dynamodb";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { CreateQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll } from "vitest";
import { dynoxideBinary, startDynalite, startDynoxide, startFauxqs, untilActive } from "../../infra/local/engines.ts";
import type { Engine } from "../../infra/local/engines.ts";
import { sweepIndex } from "../../lib/core/sweep.ts";

/** For every suite that runs on DynamoDB: `describe.each(dynamoEngines)("on %s", (_name, start) => …)`. */
export const dynamoEngines: readonly (readonly [name: string, start: () => Promise<Engine>])[] = [
  ...(dynoxideBinary() === undefined ? [] : [["dynoxide", startDynoxide] as const]),
  ["dynalite", startDynalite],
];

/** Credentials and a region that every local engine takes. */
export const localClient = (endpoint: string) => ({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});

/** Starts an engine and ends it after the tests of the surrounding block. */
export async function engineForTests(start: () => Promise<Engine>): Promise<string> {
  const engine = await start();
  afterAll(engine.stop);
  return engine.endpoint;
}

/** dynoxide (undefined where it cannot run), dynalite and fauxqs at once: their endpoints. */
export async function startEngines() {
  const [dynoxide, dynalite, fauxqs] = await Promise.all([
    dynoxideBinary() === undefined ? undefined : startDynoxide(),
    startDynalite(),
    startFauxqs(),
  ]);
  return {
    dynoxide: dynoxide?.endpoint,
    dynalite: dynalite.endpoint,
    fauxqs: fauxqs.endpoint,
    stop: async () => {
      await Promise.all([dynoxide?.stop(), dynalite.stop(), fauxqs.stop()]);
    },
  };
}

/** A job table of its own name; answers the name. */
export async function createJobTable(endpoint: string): Promise<string> {
  const { name, partitionKey, sortKey } = sweepIndex;
  return await createTable(endpoint, "jobs", "jobId", {
    AttributeDefinitions: [
      { AttributeName: partitionKey, AttributeType: "S" },
      { AttributeName: sortKey, AttributeType: "N" },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: name,
        KeySchema: [
          { AttributeName: partitionKey, KeyType: "HASH" },
          { AttributeName: sortKey, KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
  });
}

/** A lease table of its own name; answers the name. */
export async function createLeaseTable(endpoint: string): Promise<string> {
  return await createTable(endpoint, "leases", "pk");
}

type More = Pick<CreateTableCommandInput, "AttributeDefinitions" | "GlobalSecondaryIndexes">;

async function createTable(endpoint: string, noun: string, key: string, more: More = {}): Promise<string> {
  const dynamo = new DynamoDBClient(localClient(endpoint));
  const TableName = `${noun}-${randomUUID()}`;
  await dynamo.send(
    new CreateTableCommand({
      ...more,
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [{ AttributeName: key, KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: key, AttributeType: "S" }, ...(more.AttributeDefinitions ?? [])],
    }),
  );
  await untilActive(dynamo, TableName);
  dynamo.destroy();
  return TableName;
}

/** A standard queue of its own name on fauxqs; answers its URL. */
export async function createQueue(endpoint: string, attributes: Readonly<Record<string, string>> = {}) {
  const sqs = new SQSClient({ ...localClient(endpoint), useQueueUrlAsEndpoint: false });
  const { QueueUrl } = await sqs.send(
    new CreateQueueCommand({ QueueName: randomUUID(), Attributes: { ...attributes } }),
  );
  sqs.destroy();
  if (QueueUrl === undefined) throw new Error("the engine made no queue");
  return QueueUrl;
}

/** A bucket of its own name on fauxqs; answers the name. */
export async function createBucket(endpoint: string): Promise<string> {
  const s3 = new S3Client({ ...localClient(endpoint), forcePathStyle: true });
  const Bucket = randomUUID();
  await s3.send(new CreateBucketCommand({ Bucket }));
  s3.destroy();
  return Bucket;
}

import { once } from "node:events";
import { createServer } from "node:http";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { GetQueueUrlCommand } from "@aws-sdk/client-sqs";
import { afterEach, describe, expect, test, vi } from "vitest";
import { dynamoClient, s3Client, sqsClient } from "../../lib/aws/clients.ts";
import { localClient } from "../contract/engines.ts";

/** A server that takes every request and answers none; how many came. */
async function silentServer() {
  let requests = 0;
  const server = createServer(() => requests++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    requests: () => requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("a DynamoDB that does not answer is given up after three attempts, and no request hangs", async () => {
  const silent = await silentServer();
  const dynamo = dynamoClient(localClient(silent.endpoint));
  const get = dynamo.send(new GetItemCommand({ TableName: "jobs", Key: { jobId: { S: "job" } } }));
  await expect(get).rejects.toThrow(expect.objectContaining({ name: "TimeoutError" }));
  expect(silent.requests()).toBe(3);
  silent.close();
}, 30_000);

describe("an endpoint", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  const rows: [
    says: string,
    where: Parameters<typeof sqsClient>[0],
    env: Record<string, string>,
    elsewhere: boolean,
  ][] = [
    ["that nobody names is AWS's", {}, {}, false],
    ["that is empty is AWS's", {}, { AWS_ENDPOINT_URL: "" }, false],
    ["that is given is another", { endpoint: "http://127.0.0.1:4" }, {}, true],
    ["of all services is another", {}, { AWS_ENDPOINT_URL: "http://127.0.0.1:4" }, true],
    [
      "of the service is another",
      {},
      { AWS_ENDPOINT_URL_SQS: "http://127.0.0.1:4", AWS_ENDPOINT_URL_S3: "http://127.0.0.1:4" },
      true,
    ],
  ];
  test.each(rows)("%s", (_says, where, env, elsewhere) => {
    for (const name of ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_S3"]) vi.stubEnv(name, env[name]);
    const at = { region: "us-west-2", ...where };
    expect(sqsClient(at).config.useQueueUrlAsEndpoint).toBe(!elsewhere);
    expect(s3Client(at).config.forcePathStyle).toBe(elsewhere);
  });
});

test("queue and object clients try three times too", async () => {
  await expect(sqsClient({ region: "us-west-2" }).config.maxAttempts()).resolves.toBe(3);
  await expect(s3Client({ region: "us-west-2" }).config.maxAttempts()).resolves.toBe(3);
});

test("a client that nobody answers says so in the words that count as infrastructure", async () => {
  const sqs = sqsClient({ ...localClient("http://127.0.0.1:9") });
  await expect(sqs.send(new GetQueueUrlCommand({ QueueName: "q" }))).rejects.toThrow(
    expect.objectContaining({ code: "ECONNREFUSED" }),
  );
});

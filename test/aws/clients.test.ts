import { once } from "node:events";
import { createServer } from "node:net";
import type { Socket } from "node:net";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { GetQueueUrlCommand } from "@aws-sdk/client-sqs";
import { afterEach, describe, expect, test, vi } from "vitest";
import { dynamoClient, s3Client, sqsClient } from "../../lib/aws/clients.ts";
import { localClient } from "../contract/engines.ts";

/** A server that never comes to an answer; how many requests came. */
async function slowServer(answer: (socket: Socket) => void) {
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => {
      requests++;
      answer(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    requests: () => requests,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("a DynamoDB that", () => {
  const slow: [says: string, answer: (socket: Socket) => void][] = [
    ["says nothing", () => undefined],
    [
      "is never done with its headers",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        const trickle = setInterval(() => socket.write("x-amzn-note: wait\r\n"), 100);
        socket.once("close", () => {
          clearInterval(trickle);
        });
      },
    ],
    [
      "stops in the middle of its answer",
      (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"It'),
    ],
  ];
  test.concurrent.each(slow)(
    "%s is given up after three attempts",
    async (_says, answer) => {
      const server = await slowServer(answer);
      const dynamo = dynamoClient(localClient(server.endpoint));
      const get = dynamo.send(new GetItemCommand({ TableName: "jobs", Key: { jobId: { S: "job" } } }));
      await expect(get).rejects.toThrow(expect.objectContaining({ name: "TimeoutError" }));
      expect(server.requests()).toBe(3);
      server.close();
    },
    30_000,
  );
});

/** What a thawed sandbox finds: its connection was closed by the peer, and the first request on it is reset. */
test("a kept-alive connection that the peer has closed meanwhile costs an attempt, and no error", async () => {
  let requests = 0;
  const item = '{"Item":{"jobId":{"S":"job"}}}';
  const answer = `HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: ${item.length}\r\n\r\n${item}`;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    // A request is one chunk here, as small as it is.
    socket.on("data", () => (++requests === 2 ? socket.resetAndDestroy() : socket.write(answer)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const dynamo = dynamoClient(localClient(`http://127.0.0.1:${port}`));
  const get = () => dynamo.send(new GetItemCommand({ TableName: "jobs", Key: { jobId: { S: "job" } } }));
  await get();
  expect((await get()).Item).toEqual({ jobId: { S: "job" } });
  expect(requests).toBe(3);
  dynamo.destroy();
  server.close();
});

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

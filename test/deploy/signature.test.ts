import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { CountTokensCommand, BedrockRuntimeClient } from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { createServer } from "node:http";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";

import { authorizationOf } from "./signature.ts";
import type { Unsigned } from "./signature.ts";

/** The last request that came, as it was signed: the headers that its signature names. */
let last: Unsigned & { readonly authorization: string };

const server = createServer((request, response) => {
  void text(request).then((body) => {
    const { authorization = "", host = "" } = request.headers;
    const names = /SignedHeaders=([^,]*)/.exec(authorization)?.[1]?.split(";") ?? [];
    const headers = Object.fromEntries(
      names.filter((name) => name !== "host").map((name) => [name, String(request.headers[name])]),
    );
    last = { method: request.method ?? "", host, path: request.url ?? "", body, headers, authorization };
    response.writeHead(400).end("{}");
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
afterAll(() => server.close());

const address = server.address();
const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret/+", sessionToken: "a token" };
const client = {
  region: "eu-west-1",
  endpoint: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
  credentials: keys,
  maxAttempts: 1,
  requestHandler: new NodeHttpHandler(),
};

const requests: readonly (readonly [says: string, service: string, send: () => Promise<unknown>])[] = [
  [
    "a body",
    "sqs",
    () =>
      new SQSClient({ ...client, useQueueUrlAsEndpoint: false }).send(
        new SendMessageCommand({ QueueUrl: "http://a/b/c", MessageBody: "ü = { }" }),
      ),
  ],
  [
    "a path with a colon",
    "bedrock",
    () =>
      new BedrockRuntimeClient(client).send(
        new CountTokensCommand({ modelId: "amazon.nova-micro-v1:0", input: { converse: {} } }),
      ),
  ],
];

test.each(requests)("a request with %s is signed as the SDK signs it", async (_says, service, send) => {
  await send().catch(() => undefined);
  const scope = { region: client.region, service, at: last.headers["x-amz-date"] ?? "" };
  expect(last.headers["x-amz-security-token"]).toBe(keys.sessionToken);
  const parts = (authorization: string) => authorization.split(/,\s*/);
  expect(parts(authorizationOf(last, scope, keys))).toEqual(parts(last.authorization));
});

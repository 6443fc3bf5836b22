import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { ListObjectsCommand, S3Client } from "@aws-sdk/client-s3";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, test } from "vitest";

import { bedrockModels } from "../../lib/aws/bedrock.ts";
import { a } from "../a.ts";
import { faultKinds, startProxy } from "./proxy.ts";
import type { FaultKind, Proxy } from "./proxy.ts";
import { bedrockWire, dynamoWire, s3Wire, sqsWire } from "./wire.ts";
import type { Wire } from "./wire.ts";

type Finished = (end: () => Promise<void>) => void;

/** An engine that does nothing but count, behind a proxy. Answers with the body that it was sent. */
async function engine(onTestFinished: Finished, wire: Wire, seed = 1) {
  const done: string[] = [];
  const left: string[] = [];
  const held: ServerResponse[] = [];
  const answers = { held: false };
  const server = createServer((request: IncomingMessage, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.once("end", () => {
      done.push(body);
      response.once("close", () => {
        if (!response.writableFinished) left.push(body);
      });
      response.setHeader("x-engine", "mine").statusCode = 201;
      if (answers.held) held.push(response);
      else response.end(body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const proxy = await startProxy(`http://127.0.0.1:${port}`, wire, seed);
  onTestFinished(async () => {
    await proxy.stop();
    server.closeAllConnections();
    server.close();
  });
  return { proxy, done, left, held, answers };
}

const always = (kind: FaultKind) => [{ oneIn: 1, kinds: [kind] }];

function send({ endpoint }: Proxy, body: string, signal?: AbortSignal): Promise<Response> {
  const headers = { "x-amz-target": "AmazonSQS.SendMessage" };
  return fetch(endpoint, { method: "POST", body, headers, ...(signal === undefined ? {} : { signal }) });
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** How a request ends, and how often it was done. */
const fates: readonly (readonly [kind: FaultKind, says: string, answer: number | "lost", done: number])[] = [
  ["fail", "answers 500 and does nothing", 500, 0],
  ["throttle", "refuses and does nothing", 400, 0],
  ["drop", "does it and loses the answer", "lost", 1],
  ["delay", "does it, later", 201, 1],
  ["late-copy", "does it, and does it again", 201, 2],
];

describe("the proxy of the chaos", () => {
  test("carries what it does not break, both ways", async ({ expect, onTestFinished }) => {
    const { proxy, done } = await engine(onTestFinished, sqsWire);
    const answer = await send(proxy, "hello");
    expect([answer.status, answer.headers.get("x-engine"), await answer.text()]).toEqual([201, "mine", "hello"]);
    expect(done).toEqual(["hello"]);
    expect(proxy.seen).toEqual(new Map([["SendMessage", 1]]));
    expect(proxy.injected).toEqual([]);
  });

  test.for(fates)("%s: %s", async ([kind, , answered, times], { expect, onTestFinished }) => {
    const { proxy, done } = await engine(onTestFinished, sqsWire);
    proxy.obey(always(kind));
    const answer = await send(proxy, "hello").then(
      ({ status }) => status,
      () => "lost",
    );
    await until(() => done.length === times);
    await proxy.idle();
    expect([answer, done.length]).toEqual([answered, times]);
    expect(proxy.injected).toMatchObject([{ operation: "SendMessage", kind, isLost: kind === "drop" }]);
  });

  test("hang: does nothing, and answers never", async ({ expect, onTestFinished }) => {
    const { proxy, done } = await engine(onTestFinished, sqsWire);
    proxy.obey(always("hang"));
    await expect(send(proxy, "hello", AbortSignal.timeout(300))).rejects.toThrow("timeout");
    expect(done).toEqual([]);
    expect(proxy.injected).toMatchObject([{ kind: "hang" }]);
  });

  test("tells the engine at once that the client has left", async ({ expect, onTestFinished }) => {
    const { proxy, done, left, answers } = await engine(onTestFinished, sqsWire);
    answers.held = true;
    const leaving = new AbortController();
    const answer = send(proxy, "hello", leaving.signal);
    await until(() => done.length === 1);
    leaving.abort();
    await expect(answer).rejects.toThrow("abort");
    await until(() => left.length === 1);
  });

  test("lets nothing through in a black-out, not even the answers under way", async ({ expect, onTestFinished }) => {
    const { proxy, done, held, answers } = await engine(onTestFinished, sqsWire);
    answers.held = true;
    const underWay = send(proxy, "under way");
    const lost = expect(underWay).rejects.toThrow("fetch failed");
    await until(() => held.length === 1);

    const light = proxy.goDark();
    held[0]?.end();
    await lost;
    // Half of them are met with silence.
    const inTheDark = Array.from({ length: 20 }, (_, n) => send(proxy, `dark ${n}`, AbortSignal.timeout(500)));
    const fallen = await Promise.allSettled(inTheDark);
    const said = new Set(fallen.map((one) => (one.status === "rejected" ? one.reason.name : one.status)));
    expect(said).toEqual(new Set(["TypeError", "TimeoutError"]));
    expect(done).toEqual(["under way"]);
    expect(proxy.injected.map(({ kind, isLost }) => `${kind} ${isLost}`)).toEqual([
      "dark true",
      ...Array.from({ length: 20 }, () => "dark false"),
    ]);

    answers.held = false;
    light();
    light();
    expect((await send(proxy, "hello")).status).toBe(201);
    proxy.goDark();
    await expect(send(proxy, "dark again", AbortSignal.timeout(500))).rejects.toThrow(/fetch failed|timeout/);
  });

  test("breaks one in so many of each operation, whatever the dice say, all kinds in turn", async ({
    expect,
    onTestFinished,
  }) => {
    const kinds = ["fail", "throttle", "drop"] as const;
    for (const seed of [1, 2, 3]) {
      const { proxy } = await engine(onTestFinished, sqsWire, seed);
      proxy.obey([{ oneIn: 5, kinds }]);
      for (let n = 0; n < 30; n++) await send(proxy, `${n}`).catch(() => undefined);
      const counts = kinds.map((kind) => proxy.injected.filter((one) => one.kind === kind).length);
      expect(counts).toEqual([2, 2, 2]);
    }
  });

  test("throws the same dice for the same seed, others for another", async ({ expect, onTestFinished }) => {
    const runs = [];
    for (const seed of [7, 7, 8]) {
      const { proxy } = await engine(onTestFinished, sqsWire, seed);
      proxy.obey([{ oneIn: 6, kinds: ["fail", "throttle", "drop"] }]);
      const answers = [];
      for (let n = 0; n < 30; n++) answers.push((await send(proxy, `${n}`).catch(() => undefined))?.status);
      runs.push(answers.join());
    }
    expect(runs[0]).toBe(runs[1]);
    expect(runs[0]).not.toBe(runs[2]);
  });

  test("spares the operations that no rule names", async ({ expect, onTestFinished }) => {
    const { proxy } = await engine(onTestFinished, sqsWire);
    proxy.obey([{ operation: "DeleteMessage", oneIn: 1, kinds: faultKinds }]);
    expect((await send(proxy, "hello")).status).toBe(201);
  });
});

const where = { region: "us-west-2", credentials: { accessKeyId: "local", secretAccessKey: "local" }, maxAttempts: 1 };

/** One request of each service's own client; answers the error's name. */
const clients: readonly (readonly [service: string, wire: Wire, ask: (endpoint: string) => Promise<unknown>])[] = [
  [
    "DynamoDB",
    dynamoWire,
    (endpoint) =>
      new DynamoDBClient({ ...where, endpoint }).send(
        new PutItemCommand({ TableName: "LlmJobTable5F2A", Item: { jobId: { S: "j" } } }),
      ),
  ],
  ["SQS", sqsWire, (endpoint) => new SQSClient({ ...where, endpoint }).send(new ListQueuesCommand({}))],
  [
    "S3",
    s3Wire,
    (endpoint) =>
      new S3Client({ ...where, endpoint, forcePathStyle: true }).send(new ListObjectsCommand({ Bucket: "b" })),
  ],
];

describe("what the proxy says", () => {
  const said: Readonly<Record<string, readonly [operation: string, throttled: string, failed: string]>> = {
    DynamoDB: ["JobTable PutItem", "ProvisionedThroughputExceededException", "InternalServerError"],
    SQS: ["ListQueues", "RequestThrottled", "InternalFailure"],
    S3: ["GetObject", "SlowDown", "InternalError"],
  };

  test.for(clients)("is what %s says, as its client reads it", async ([service, wire, ask], context) => {
    const { expect, onTestFinished } = context;
    const { proxy } = await engine(onTestFinished, wire);
    const [operation, throttled, failed] = said[service] ?? [];
    proxy.obey(always("throttle"));
    await expect(ask(proxy.endpoint)).rejects.toMatchObject({ name: throttled });
    proxy.obey(always("fail"));
    await expect(ask(proxy.endpoint)).rejects.toMatchObject({ name: failed, $metadata: { httpStatusCode: 500 } });
    expect(new Set(proxy.injected.map((one) => one.operation))).toEqual(new Set([operation]));
  });

  test.for(["converse", "converse_stream", "invoke_model"] as const)(
    "is what Bedrock says to %s, and it knows the job",
    async (op, { expect, onTestFinished }) => {
      const { proxy } = await engine(onTestFinished, bedrockWire);
      const models = bedrockModels({ endpoint: proxy.endpoint, ...where });
      const ask = () =>
        models.ask({ step: a.step(), op, params: { messages: [] }, jobId: "job-7" }, new AbortController().signal);
      proxy.obey(always("throttle"));
      expect(await ask()).toMatchObject({ kind: "failed", error: { name: "ThrottlingException", status: 429 } });
      proxy.obey(always("fail"));
      expect(await ask()).toMatchObject({ kind: "failed", error: { name: "InternalServerException", status: 500 } });
      expect(proxy.injected.map(({ jobId }) => jobId)).toEqual(["job-7", "job-7"]);
    },
  );
});

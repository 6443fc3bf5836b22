import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server, ServerResponse } from "node:http";
import * as sdk from "@aws-sdk/client-bedrock-runtime";
import { fc } from "@fast-check/vitest";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { errorFrame, eventFrame } from "../../infra/local/bedrock/event-stream.ts";
import { bedrockModels, jobOfTag, jobTag } from "../../lib/aws/bedrock.ts";
import type { BedrockModels } from "../../lib/aws/bedrock.ts";
import { toJson, withBytes } from "../../lib/aws/bedrock-json.ts";
import { noUsage } from "../../lib/core/attempt.ts";
import { isObject } from "../../lib/core/json.ts";
import { a } from "../a.ts";
import { ask, keys, rejection, soon } from "../contract/models-kit.ts";

/** A server that keeps what it was sent and answers what the test says; the stand-in keeps no bodies. */
interface Sent {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}
const sent: Sent[] = [];
let connections = 0;
let respond: (response: ServerResponse) => void;
let server: Server;
let models: BedrockModels;
let endpoint: string;

const plainAnswer = {
  output: { message: { role: "assistant", content: [{ text: "Hello Ada." }] } },
  stopReason: "end_turn",
  usage: { inputTokens: 5, outputTokens: 3, totalTokens: 8 },
  metrics: { latencyMs: 1 },
};

function json(body: unknown, headers: Record<string, string> = {}, status = 200): (response: ServerResponse) => void {
  return (response) =>
    void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      sent.push({ url: request.url ?? "", headers: request.headers, body: JSON.parse(text) });
      respond(response);
    });
  });
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  endpoint = `http://127.0.0.1:${address.port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

beforeEach(() => {
  sent.length = 0;
  connections = 0;
  respond = json(plainAnswer);
  models = bedrockModels({ endpoint, credentials: keys });
});
afterEach(() => {
  models.close();
  vi.unstubAllEnvs();
});

describe("a request", () => {
  test("goes to the step's model, whatever model the caller names", async () => {
    await ask(models, {
      step: a.step({ modelId: "arn:aws:bedrock:us-west-2:1:inference-profile/x" }),
      params: { modelId: "mine", messages: [] },
    });
    expect(sent).toMatchObject([
      { url: "/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A1%3Ainference-profile%2Fx/converse", body: { messages: [] } },
    ]);
    expect(sent[0]?.body).not.toHaveProperty("modelId");
  });

  test("is signed for the step's region, by one client and over one connection each", async () => {
    for (const region of ["us-west-2", "eu-west-1", "us-west-2"]) await ask(models, { step: a.step({ region }) });
    expect(sent.map(({ headers }) => headers.authorization?.split("/")[2])).toEqual([
      "us-west-2",
      "eu-west-1",
      "us-west-2",
    ]);
    expect(connections).toBe(1);
  });

  test("takes the keys it was given, not a bearer token from the environment", async () => {
    vi.stubEnv("AWS_BEARER_TOKEN_BEDROCK", "token");
    await ask(bedrockModels({ endpoint, credentials: keys }));
    expect(sent[0]?.headers.authorization).toContain("AWS4-HMAC-SHA256");
  });

  test("is sent once, whatever the environment says of retries", async () => {
    vi.stubEnv("AWS_MAX_ATTEMPTS", "5");
    vi.stubEnv("AWS_RETRY_MODE", "adaptive");
    respond = json({ message: "try again" }, { "x-amzn-errortype": "InternalServerException" }, 500);
    expect(await ask(bedrockModels({ endpoint, credentials: keys }))).toMatchObject({
      kind: "failed",
      error: { status: 500 },
    });
    expect(sent).toHaveLength(1);
  });

  test("that cannot be written is Bedrock's own complaint about such a body, and never leaves", async () => {
    let deep: object = {};
    for (let level = 0; level < 20_000; level++) deep = { deep };
    const params = { messages: [], additionalModelRequestFields: { ...deep } };
    expect(await ask(models, { params })).toMatchObject({
      kind: "failed",
      error: { name: "SerializationException", status: 400 },
    });
    expect(sent).toHaveLength(0);
  });

  describe("names its job in the request metadata", () => {
    test("with the one character that is not allowed there replaced", async () => {
      await ask(models, { jobId: "order-8812~2" });
      expect(metadataSent()).toEqual({ jobId: "order-8812@2" });
      expect(jobOfTag(jobTag("order-8812~2"))).toBe("order-8812~2");
    });

    test.each([
      ["beside the caller's own", { team: "a" }, { jobId: "j", team: "a" }],
      ["unless the caller uses the key", { jobId: "mine" }, { jobId: "mine" }],
      ["unless the caller has filled it", sixteen(), sixteen()],
    ])("%s", async (_says, requestMetadata, arrives) => {
      await ask(models, { jobId: "j", params: { messages: [], requestMetadata } });
      expect(metadataSent()).toEqual(arrives);
    });

    test("and in a header of invoke_model, whose body is the model's own", async () => {
      respond = json({ completion: "Hello." });
      await ask(models, {
        op: "invoke_model",
        jobId: "order~2",
        step: a.step({ serviceTier: "flex" }),
        params: { prompt: "Hi", modelId: "x" },
      });
      expect(sent).toMatchObject([
        {
          url: "/model/us.amazon.nova-lite-v1%3A0/invoke",
          headers: { "x-amzn-bedrock-request-metadata": '{"jobId":"order@2"}', "x-amzn-bedrock-service-tier": "flex" },
        },
      ]);
      expect(sent[0]?.body).toEqual({ prompt: "Hi", modelId: "x" });
    });
  });
});

function metadataSent(): unknown {
  return isObject(sent[0]?.body) ? sent[0].body.requestMetadata : undefined;
}

function sixteen(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, "v"]));
}

describe("bytes", () => {
  const image = { format: "png", source: { bytes: "iVBORw0KGgo=" } };
  const everywhere = {
    messages: [
      {
        role: "user",
        content: [
          { image },
          { document: { format: "pdf", name: "d", source: { bytes: "JVBERi0=" } } },
          { video: { format: "mp4", source: { bytes: "AAAA" } } },
          { guardContent: { image } },
          { toolResult: { toolUseId: "t", content: [{ image }, { json: { source: { bytes: "not base64!" } } }] } },
          {
            toolUse: {
              toolUseId: "t",
              name: "n",
              input: { source: { bytes: "not base64!" }, reasoningContent: { redactedContent: "?" } },
            },
          },
          { reasoningContent: { redactedContent: "AAEC" } },
        ],
      },
    ],
    additionalModelRequestFields: { source: { bytes: "not base64!" } },
  };

  test("stand as base64 in the params and on the wire, and free-form JSON is left as it is", async () => {
    await ask(models, { params: everywhere });
    expect(sent[0]?.body).toEqual(everywhere);
  });

  test("come back as base64", async () => {
    const content = [{ image }, { reasoningContent: { redactedContent: "AAEC" } }];
    respond = json({ ...plainAnswer, output: { message: { role: "assistant", content } } });
    expect(await ask(models)).toMatchObject({ output: { output: { message: { content } } } });
  });

  test("are where the SDK's schema has them, and nowhere else", () => {
    expect(placesOf(blob, sdk.ConverseRequest$)).toEqual(["reasoningContent.redactedContent", "source.bytes"]);
  });

  test("are never looked for in what the SDK's schema leaves free", () => {
    expect(placesOf(freeForm, sdk.ConverseRequest$)).toEqual([
      ".additionalModelRequestFields",
      "content.json",
      "inputSchema.json",
      "toolUse.input",
    ]);
  });

  test("apart, JSON is given back as it is", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(toJson(JSON.parse(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("survive the way there and back", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const params = { content: [{ image: { source: { bytes: Buffer.from(bytes).toString("base64") } } }] };
        expect(toJson(withBytes(params))).toEqual(params);
      }),
    );
  });
});

/** `holder.member` of everything of a simple type that a schema of the SDK reaches. */
function placesOf(type: number, root: unknown): string[] {
  const found = new Set<string>();
  const seen = new Set<unknown>();
  const visit = (ref: unknown, holder: string, member: string): void => {
    const schema: unknown = typeof ref === "function" ? ref() : ref;
    if (schema === type) found.add(`${holder}.${member}`);
    if (!Array.isArray(schema)) return;
    const [kind, , name, , names, members] = schema;
    // A member with traits is a pair; a named simple type has its type at the end; lists and maps end in their value's.
    if (typeof kind !== "number" || kind === simple || schema.length === 2)
      return visit(schema.at(kind === simple ? -1 : 0), holder, member);
    if (seen.has(schema)) return;
    seen.add(schema);
    if (kind === list || kind === map) return visit(schema.at(-1), holder, member);
    if (!Array.isArray(names) || !Array.isArray(members)) throw new Error(`an unknown kind of schema: ${String(name)}`);
    for (const [index, key] of names.entries()) visit(members[index], member, String(key));
  };
  visit(root, "", "");
  return [...found].toSorted();
}
const [blob, freeForm] = [21, 15];
const [simple, list, map] = [0, 1, 2];

describe("an answer", () => {
  test("of a kind that is newer than the SDK keeps its name", async () => {
    const content = [{ hologram: { depth: 3 } }, { text: "Hello." }];
    respond = json({ ...plainAnswer, output: { message: { role: "assistant", content } } });
    expect(await ask(models)).toMatchObject({ output: { output: { message: { content } } } });
  });

  test("keeps a tool's input that maxTokens cut as the text that came", async () => {
    respond = (response) =>
      void response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" }).end(
        Buffer.concat([
          eventFrame("messageStart", { role: "assistant" }),
          eventFrame("contentBlockStart", {
            contentBlockIndex: 0,
            start: { toolUse: { toolUseId: "t", name: "send" } },
          }),
          eventFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { toolUse: { input: '{"to":"ad' } } }),
          eventFrame("messageStop", { stopReason: "max_tokens" }),
        ]),
      );
    expect(await ask(models, { op: "converse_stream" })).toMatchObject({
      kind: "answered",
      stopReason: "max_tokens",
      usage: { inputTokens: 0 },
      output: { output: { message: { content: [{ toolUse: { toolUseId: "t", name: "send", input: '{"to":"ad' } }] } } },
    });
  });

  test.each([
    [
      "Claude's own words",
      { usage: { input_tokens: 5, output_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 } },
      {},
    ],
    [
      "Nova's own words",
      { usage: { inputTokens: 5, outputTokens: 3, cacheReadInputTokens: 2, cacheWriteInputTokens: 1 } },
      {},
    ],
    [
      "the headers, against the body",
      { usage: { input_tokens: 99, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 } },
      { "x-amzn-bedrock-input-token-count": "5", "x-amzn-bedrock-output-token-count": "3" },
    ],
  ])("of invoke_model counts tokens in %s", async (_says, body, headers) => {
    respond = json(body, headers);
    expect(await ask(models, { op: "invoke_model" })).toMatchObject({
      output: body,
      usage: { inputTokens: 5, outputTokens: 3, cacheReadTokens: 2, cacheWriteTokens: 1, possiblyBilledTokens: 0 },
    });
  });

  test("of invoke_model that counts nothing counts as nothing", async () => {
    respond = json([1, 2]);
    expect(await ask(models, { op: "invoke_model" })).toMatchObject({
      output: { body: [1, 2] },
      usage: { inputTokens: 0, outputTokens: 0 },
    });
  });

  test("tells what a prompt cache read and wrote", async () => {
    respond = json({
      ...plainAnswer,
      usage: { ...plainAnswer.usage, cacheReadInputTokens: 20, cacheWriteInputTokens: 10 },
    });
    expect(await ask(models)).toMatchObject({ usage: { cacheReadTokens: 20, cacheWriteTokens: 10 } });
  });
});

function page(status: number, headers: Record<string, string> = {}): (response: ServerResponse) => void {
  return (response) =>
    void response.writeHead(status, { "content-type": "text/html", ...headers }).end("<h1>secret prompt</h1>");
}

function throttle(expectedQueueDelayInMs: unknown): (response: ServerResponse) => void {
  return json({ message: "m", expectedQueueDelayInMs }, { "x-amzn-errortype": "ThrottlingException" }, 429);
}

describe("a failure", () => {
  test("that a proxy words as a page is the server's, and the page is not repeated", async () => {
    respond = page(503);
    expect(await ask(models)).toMatchObject({
      error: { name: "Http503", status: 503, message: "the response is not JSON" },
    });
    respond = page(429, { "x-amzn-errortype": "ThrottlingException:http://x", "retry-after": "7" });
    expect(await ask(models)).toMatchObject({
      error: { name: "ThrottlingException", status: 429, headers: { "retry-after": "7" } },
    });
  });

  test("takes an expected delay that is written as text, and no garbage", async () => {
    respond = throttle("1500");
    expect(await ask(models)).toMatchObject({ error: { expectedQueueDelayMs: 1_500 } });
    respond = throttle("soon");
    expect(await ask(models)).toEqual({
      kind: "failed",
      error: { name: "ThrottlingException", status: 429, message: "m" },
      usage: noUsage,
    });
  });

  test.each(["converse", "converse_stream"] as const)(
    "after silence on the socket is the SDK's own timeout: %s",
    async (op) => {
      respond = () => undefined;
      const impatient = bedrockModels({ endpoint, credentials: keys, socketTimeoutMs: 60 });
      expect(await ask(impatient, { op })).toMatchObject({ error: { name: "TimeoutError", code: "TimeoutError" } });
      expect(sent).toHaveLength(1);
    },
  );

  test("to connect is named by Node's code", async () => {
    const nowhere = bedrockModels({ endpoint: "http://127.0.0.1:1", credentials: keys });
    expect(await ask(nowhere)).toMatchObject({ error: { name: "ECONNREFUSED", code: "ECONNREFUSED" } });
  });

  test("of a stream counts the tokens that it had told as possibly billed", async () => {
    respond = (response) =>
      void response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" }).end(
        Buffer.concat([
          eventFrame("metadata", {
            usage: { inputTokens: 5, outputTokens: 3, totalTokens: 8 },
            metrics: { latencyMs: 1 },
          }),
          errorFrame("InternalServerException", { message: "m" }),
        ]),
      );
    expect(await ask(models, { op: "converse_stream" })).toMatchObject({
      kind: "failed",
      usage: { inputTokens: 0, outputTokens: 0, possiblyBilledTokens: 8 },
    });
  });

  test("inside a stream closes a connection that the server leaves open", async () => {
    let closed = false;
    respond = (response) => {
      response.on("close", () => (closed = true));
      response
        .writeHead(200, { "content-type": "application/vnd.amazon.eventstream" })
        .write(errorFrame("ThrottlingException", { message: "m" }));
    };
    expect(await ask(models, { op: "converse_stream" })).toMatchObject({
      kind: "failed",
      error: { name: "ThrottlingException" },
    });
    await soon(() => expect(closed).toBe(true));
  });
});

describe("credentials", () => {
  test("are asked for at a region's first call, once, and not before", async () => {
    const provider = vi.fn<() => Promise<typeof keys>>(async () => keys);
    const lazy = bedrockModels({ endpoint, credentials: provider });
    expect(provider).not.toHaveBeenCalled();
    expect(await rejection(ask(lazy, {}, AbortSignal.abort("the bell")))).toBe("the bell");
    expect(provider).not.toHaveBeenCalled();
    await ask(lazy);
    await ask(lazy);
    expect(provider).toHaveBeenCalledTimes(1);
  });

  test("that cannot be had are a failure with their own name, and no request", async () => {
    const none = bedrockModels({
      endpoint,
      credentials: () => Promise.reject(Object.assign(new Error("no"), { name: "CredentialsProviderError" })),
    });
    expect(await ask(none)).toMatchObject({ kind: "failed", error: { name: "CredentialsProviderError" } });
    expect(sent).toHaveLength(0);
  });

  test("that do not come hold no caller after its abort, and send nothing when they come at last", async () => {
    const { promise, resolve } = Promise.withResolvers<typeof keys>();
    const slow = bedrockModels({ endpoint, credentials: () => promise });
    const bell = new AbortController();
    const rejected = rejection(ask(slow, {}, bell.signal));
    bell.abort("the bell");
    expect(await rejected).toBe("the bell");
    resolve(keys);
    await ask(models);
    expect(sent).toHaveLength(1);
  });
});

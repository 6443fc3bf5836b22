import { Readable } from "node:stream";
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  CountTokensCommand,
  InvokeModelCommand,
} from "@aws-sdk/client-bedrock-runtime";
import type {
  $Command,
  BedrockRuntimeClientConfig,
  BedrockRuntimeClientResolvedConfig,
  ConverseCommandInput,
  CountTokensInput,
  ServiceInputTypes,
  ServiceOutputTypes,
  TokenUsage,
} from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { noUsage } from "../core/attempt.ts";
import type { Usage } from "../core/attempt.ts";
import { countable, countedAs } from "../core/count-tokens.ts";
import { isObject } from "../core/json.ts";
import type { Json, JsonObject } from "../core/json.ts";
import { laneLimits } from "../core/limits.ts";
import type { ModelAnswer, ModelRequest, Models } from "../ports.ts";
import { connections } from "./bedrock-connections.ts";
import { StreamEndedEarly, providerError, serializationError } from "./bedrock-error.ts";
import { toJsonObject, withBytes } from "./bedrock-json.ts";
import { addEvent, emptyMessage, wholeResponse } from "./bedrock-stream.ts";
import type { StreamedMessage } from "./bedrock-stream.ts";

export interface BedrockOptions {
  /** Another endpoint for every region: the stand-in, or a proxy. */
  readonly endpoint?: string;
  /** Absent: the SDK's default chain, asked at the first call. */
  readonly credentials?: NonNullable<BedrockRuntimeClientConfig["credentials"]>;
  /** How long a connection may take to stand. */
  readonly connectMsMax?: number;
  /** Silence on the socket after which a call fails; the net below the caller's signal. */
  readonly socketTimeoutMs?: number;
}

export interface BedrockModels extends Models {
  /** Closes the idle connections. */
  close(): void;
}

/**
 * Bedrock behind the Models port: one HTTP request a call. The SDK's own retries are off, because each of them is billed
 * and none of them holds a lease.
 */
export function bedrockModels(options: BedrockOptions = {}): BedrockModels {
  const requestHandler = new NodeHttpHandler({
    ...connections(options.connectMsMax ?? 5_000),
    socketTimeout: options.socketTimeoutMs ?? laneLimits.bulk.attemptMsMax + 5_000,
  });
  const { endpoint, credentials } = options;
  const clients = new Map<string, BedrockRuntimeClient>();
  const clientIn = (region: string): BedrockRuntimeClient => {
    const client =
      clients.get(region) ??
      new BedrockRuntimeClient({
        region,
        requestHandler,
        maxAttempts: 1,
        retryMode: "standard",
        ...(endpoint === undefined ? {} : { endpoint }),
        // Keys that are given are meant: a bearer token in the environment does not take their place.
        ...(credentials === undefined ? {} : { credentials, authSchemePreference: ["aws.auth#sigv4"] }),
      });
    clients.set(region, client);
    return client;
  };

  return {
    async ask(request, signal) {
      signal.throwIfAborted();
      const call: Call = {
        request,
        signal,
        client: clientIn(request.step.region),
        built: false,
        headers: {},
        message: emptyMessage(),
      };
      try {
        return await unlessAborted(calls[request.op](call), signal);
      } catch (error) {
        signal.throwIfAborted();
        return {
          kind: "failed",
          error: unwritable(call, error) ? serializationError(error) : providerError(error),
          usage: wasted(call),
        };
      } finally {
        // The SDK leaves the rest of a failed stream unread, and a socket with it.
        if (call.body?.readableEnded === false) call.body.destroy();
      }
    },
    async countTokens({ step, ...request }, signal) {
      const modelId = countedAs(step);
      if (modelId === undefined) return { kind: "unknown", name: "ModelNotNamed" };
      try {
        signal.throwIfAborted();
        const command = new CountTokensCommand({ modelId, input: countInput(request) });
        const sent = clientIn(step.region).send(command, { abortSignal: signal });
        const { inputTokens } = await unlessAborted(sent, signal);
        return inputTokens === undefined
          ? { kind: "unknown", name: "UnreadableResponse" }
          : { kind: "counted", tokens: inputTokens };
      } catch (error) {
        return { kind: "unknown", name: signal.aborted ? "Aborted" : providerError(error).name };
      }
    },
    close: () => requestHandler.destroy(),
  };
}

/** The SDK fetches credentials before it writes the request, so a failure of theirs comes as early as one of the params. */
function unwritable({ built }: Call, error: unknown): boolean {
  return !built && (error instanceof TypeError || error instanceof RangeError);
}

/** One request on its way, and what is seen of it. */
interface Call {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly client: BedrockRuntimeClient;
  readonly message: StreamedMessage;
  /** The params could be written as a request. */
  built: boolean;
  headers: Readonly<Record<string, string>>;
  body?: Readable;
}

const calls: Readonly<Record<ModelRequest["op"], (call: Call) => Promise<ModelAnswer>>> = {
  async converse(call) {
    const command = new ConverseCommand(converseInput(call.request));
    watch(command, call);
    return answered(toJsonObject(await call.client.send(command, { abortSignal: call.signal })));
  },

  async converse_stream(call) {
    const command = new ConverseStreamCommand(converseInput(call.request));
    watch(command, call);
    const { stream } = await call.client.send(command, { abortSignal: call.signal });
    for await (const event of stream ?? []) addEvent(call.message, event);
    if (call.message.stop === undefined) throw new StreamEndedEarly();
    return answered(toJsonObject(wholeResponse(call.message)));
  },

  async invoke_model(call) {
    const { step, params, jobId } = call.request;
    const command = new InvokeModelCommand({
      modelId: step.modelId,
      body: JSON.stringify(params),
      contentType: "application/json",
      accept: "application/json",
      // What Converse has in its body goes beside a body that is the model's own.
      ...(step.serviceTier === undefined ? {} : { serviceTier: step.serviceTier }),
      ...(jobId === undefined ? {} : { requestMetadata: JSON.stringify({ jobId: jobTag(jobId) }) }),
    });
    watch(command, call);
    const { body } = await call.client.send(command, { abortSignal: call.signal });
    const output: Json = JSON.parse(body.transformToString());
    return invoked(isObject(output) ? output : { body: output }, call.headers);
  },
};

function converseInput({ step, params, jobId }: ModelRequest): ConverseCommandInput {
  // What the SDK's types demand (messages, say) is for Bedrock to judge: the params are the caller's.
  return { ...withBytes(params), ...taggedBy(jobId, params.requestMetadata), modelId: step.modelId };
}

function countInput({ op, params }: Pick<ModelRequest, "op" | "params">): CountTokensInput {
  const input = countable(op, params);
  return op === "invoke_model"
    ? { invokeModel: { body: Buffer.from(JSON.stringify(input)) } }
    : { converse: { ...withBytes(input) } };
}

const metadataEntriesMax = 16;

/** The job's id goes into Bedrock's invocation log, unless the caller uses that key or has left no room. */
function taggedBy(jobId: string | undefined, own: Json | undefined = {}): JsonObject {
  if (jobId === undefined || !isObject(own) || Object.keys(own).length >= metadataEntriesMax) return {};
  return { requestMetadata: { jobId: jobTag(jobId), ...own } };
}

/** Request metadata allows every character of a jobId but `~`, and has `@`, which no jobId has. */
export function jobTag(jobId: string): string {
  return jobId.replaceAll("~", "@");
}

export function jobOfTag(tag: string): string {
  return tag.replaceAll("@", "~");
}

/** Lets the call see its response as it comes from the wire, before anything has read it. */
function watch<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  command: $Command<I, O, BedrockRuntimeClientResolvedConfig>,
  call: Call,
): void {
  command.middlewareStack.add(
    (next) => (args) => {
      call.built = true;
      return next(args);
    },
    { step: "build" },
  );
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers, body } = Object(result.response);
      call.headers = headers;
      if (body instanceof Readable) call.body = body;
      return result;
    },
    { step: "deserialize", priority: "low" },
  );
}

/** The SDK is deaf to the signal while it fetches credentials or reads a body: the caller is not made to wait for it. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function answered(output: JsonObject): ModelAnswer {
  const { stopReason, usage } = output;
  return { kind: "answered", output, ...stopped(stopReason), usage: usageOf(isObject(usage) ? usage : {}) };
}

function stopped(stopReason: Json | undefined): { stopReason?: string } {
  return typeof stopReason === "string" ? { stopReason } : {};
}

function invoked(output: JsonObject, headers: Readonly<Record<string, string>>): ModelAnswer {
  const own = isObject(output.usage) ? output.usage : {};
  const counted = (header: string, ...keys: readonly string[]): number =>
    [headers[`x-amzn-bedrock-${header}-token-count`], ...keys.map((key) => own[key])]
      .map(Number)
      .find(Number.isFinite) ?? 0;
  return {
    kind: "answered",
    output,
    ...stopped(output.stop_reason ?? output.stopReason),
    usage: {
      inputTokens: counted("input", "input_tokens", "inputTokens"),
      outputTokens: counted("output", "output_tokens", "outputTokens"),
      cacheReadTokens: counted("cache-read-input", "cache_read_input_tokens", "cacheReadInputTokens"),
      cacheWriteTokens: counted("cache-write-input", "cache_creation_input_tokens", "cacheWriteInputTokens"),
      possiblyBilledTokens: 0,
    },
  };
}

function usageOf(usage: JsonObject): Usage {
  const count = (key: keyof TokenUsage): number => (typeof usage[key] === "number" ? usage[key] : 0);
  return {
    inputTokens: count("inputTokens"),
    outputTokens: count("outputTokens"),
    cacheReadTokens: count("cacheReadInputTokens"),
    cacheWriteTokens: count("cacheWriteInputTokens"),
    possiblyBilledTokens: 0,
  };
}

/** A failed call tells its tokens only if its stream had got as far as to count them; else whoever asked estimates them. */
function wasted({ message }: Call): Usage {
  return { ...noUsage, possiblyBilledTokens: message.metadata?.usage?.totalTokens ?? 0 };
}

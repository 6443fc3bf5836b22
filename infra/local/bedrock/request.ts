import type { IncomingMessage } from "node:http";
import { jobOfTag } from "../../../lib/aws/bedrock.ts";
import { isObject } from "../../../lib/core/json.ts";
import type { Json, JsonObject } from "../../../lib/core/json.ts";
import { readModelId } from "../../../lib/core/model-id.ts";
import { faults } from "../../../lib/memory/bedrock-script.ts";
import type { Arrival } from "../../../lib/memory/bedrock-play.ts";

export interface Asked {
  readonly kind: "asked";
  readonly call: Arrival;
  readonly params: JsonObject;
}

/** Answered as Bedrock would, before any script; such requests are no calls of a model. */
export interface Refused {
  readonly kind: "refused";
  readonly status: number;
  readonly name: string;
  readonly message: string;
}

const operations: Readonly<Record<string, Arrival["op"]>> = {
  converse: "converse",
  "converse-stream": "converse_stream",
  invoke: "invoke_model",
  "count-tokens": "count_tokens",
};

export function readRequest(request: IncomingMessage, body: string): Asked | Refused {
  const [, modelId, operation = ""] = /^\/model\/([^/]+)\/([^/?]+)$/.exec(request.url ?? "") ?? [];
  const op = operations[operation];
  if (request.method !== "POST" || modelId === undefined || op === undefined) {
    return refused(404, "UnknownOperationException", "no such operation");
  }
  const asked = parsed(body);
  if (asked === undefined) return refused(400, "SerializationException", "the body is no JSON object");
  if (op === "count_tokens") return readCount(decodeURIComponent(modelId), regionOf(request), asked.input);
  const { requestMetadata, ...params } = asked;
  if (params.messages !== undefined && !Array.isArray(params.messages)) {
    return refused(400, "SerializationException", "messages is no list");
  }
  const metadata = op === "invoke_model" ? parsed(metadataHeader(request)) : requestMetadata;
  const fault = metadataFault(metadata);
  if (fault !== undefined) return refused(400, "ValidationException", fault);

  const job = isObject(metadata) && typeof metadata.jobId === "string" ? { jobId: jobOfTag(metadata.jobId) } : {};
  return {
    kind: "asked",
    call: { op, modelId: decodeURIComponent(modelId), region: regionOf(request), ...job },
    params,
  };
}

/** Only a foundation model counts, under its bare id. */
function readCount(modelId: string, region: string, input: Json | undefined): Asked | Refused {
  const [status, name, message] = faults["no-count"];
  if (["profile", "own"].includes(readModelId(modelId)?.kind ?? "")) return refused(status, name, message);
  const { converse, invokeModel } = isObject(input) ? input : {};
  const native = isObject(invokeModel) && typeof invokeModel.body === "string" ? invokeModel.body : "";
  const params = isObject(converse) ? converse : parsed(Buffer.from(native, "base64").toString());
  if (params === undefined) return refused(...faults.invalid);
  return { kind: "asked", call: { op: "count_tokens", modelId, region }, params };
}

function refused(status: number, name: string, message: string): Refused {
  return { kind: "refused", status, name, message };
}

/** What Bedrock's API reference allows in request metadata. */
function metadataFault(metadata: Json | undefined): string | undefined {
  if (metadata === undefined) return undefined;
  if (!isObject(metadata)) return "requestMetadata is no map";
  const entries = Object.entries(metadata);
  if (entries.length > 16) return "requestMetadata has more than 16 entries";
  const allowed = /^[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}$/;
  const wrong = entries.some(
    ([key, value]) => key === "" || !allowed.test(key) || typeof value !== "string" || !allowed.test(value),
  );
  return wrong ? "requestMetadata fails to satisfy its pattern" : undefined;
}

/** `Credential=AKID/20261129/us-west-2/bedrock/aws4_request` */
function regionOf(request: IncomingMessage): string {
  return /Credential=[^/]+\/\d+\/([^/]+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "unknown";
}

function metadataHeader(request: IncomingMessage): string {
  const value = request.headers["x-amzn-bedrock-request-metadata"];
  return typeof value === "string" ? value : "{}";
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

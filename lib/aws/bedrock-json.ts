import { isObject } from "../core/json.ts";
import type { Json, JsonObject } from "../core/json.ts";

/**
 * JSON has no bytes, so in params and outputs they stand as base64, as they do on Bedrock's own wire; the SDK wants and
 * gives a Uint8Array. Its Converse schema has bytes in two places only: `bytes` of a `source` (image, document, video,
 * audio, guarded image) and `redactedContent` of a `reasoningContent`; a test holds this against the SDK's schema.
 */
const bytesIn: Readonly<Record<string, string>> = { source: "bytes", reasoningContent: "redactedContent" };

/** Free-form JSON of the caller's, where a key of the same name is only a key. */
const documents: ReadonlySet<string> = new Set(["input", "json", "additionalModelRequestFields"]);

/** Params as the SDK wants them: a copy whose base64 has become bytes. */
export function withBytes(params: JsonObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).map(([key, value]) => [key, decode(value, key)]));
}

function decode(value: Json | undefined, under: string): unknown {
  if (documents.has(under)) return value;
  if (Array.isArray(value)) return value.map((item: Json) => decode(item, under));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      bytesIn[under] === key && typeof inner === "string" ? Buffer.from(inner, "base64") : decode(inner, key),
    ]),
  );
}

/** What the SDK gives, as JSON: bytes become base64, and a union member newer than the SDK keeps its own name. */
export function toJson(value: unknown): Json {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value === "object" && value !== null) return toJsonObject(value);
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  return typeof value === "bigint" ? value.toString() : null;
}

export function toJsonObject(value: object): JsonObject {
  if ("$unknown" in value && Array.isArray(value.$unknown))
    return { [String(value.$unknown[0])]: toJson(value.$unknown[1]) };
  const known = Object.entries(value).filter(([key, inner]) => inner !== undefined && key !== "$metadata");
  return Object.fromEntries(known.map(([key, inner]) => [key, toJson(inner)]));
}

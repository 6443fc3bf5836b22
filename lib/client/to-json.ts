import type { Fault } from "../core/envelope.ts";
import type { Json } from "../core/json.ts";

/** Deeper than this is a value that contains itself. */
const depthMax = 100;

/**
 * A value as JSON carries it: bytes become base64, as in Bedrock's own JSON, and what is undefined goes. JSON.stringify
 * would quietly turn NaN into null and a Map into {}: what JSON cannot carry is told in `faults` instead, by its path.
 */
export function toJson(value: unknown, faults: Fault[], field = "", depth = 0): Json {
  const refuse = (message: string): null => {
    faults.push({ field, message });
    return null;
  };
  if (depth > depthMax) return refuse(`nested deeper than ${depthMax} levels; does it contain itself?`);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : refuse("not a finite number; leave it out, or send a number");
    case "bigint":
      return refuse("a bigint; send a number or a string");
    case "undefined":
    case "function":
    case "symbol":
      return refuse(`a value of type ${typeof value}, which JSON cannot carry; leave it out`);
    case "object":
      break;
  }
  if (value === null) return null;
  if (value instanceof Uint8Array) return base64(value);
  if (value instanceof Map || value instanceof Set || value instanceof ArrayBuffer) {
    return refuse("a collection that JSON cannot carry; send an array, a plain object or a Uint8Array");
  }
  if (Array.isArray(value)) return value.map((item, index) => toJson(item, faults, `${field}[${index}]`, depth + 1));
  if ("toJSON" in value && typeof value.toJSON === "function") return toJson(value.toJSON(), faults, field, depth + 1);

  // fromEntries defines its keys, so a key named __proto__ stays a key.
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [key, toJson(inner, faults, field === "" ? key : `${field}.${key}`, depth + 1)]),
  );
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

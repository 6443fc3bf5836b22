import type { Fault } from "../core/envelope.ts";
import { faultOf } from "../core/envelope.ts";
import { jsonLevelsMax } from "../core/json.ts";
import type { Json } from "../core/json.ts";

/** Of a path in a fault: what lies two hundred levels deep is found by its beginning. Characters. */
const pathLengthMax = 120;

/**
 * A value as JSON carries it: bytes become base64, as in Bedrock's own JSON, and what is undefined goes. JSON.stringify
 * would quietly turn NaN into null and a Map, or a promise that nobody awaited, into {}: what JSON cannot carry is told in
 * `faults` instead, by its path. `around` is what the value lies in, from the outside.
 */
export function toJson(value: unknown, faults: Fault[], field = "", around: readonly object[] = []): Json {
  const refuse = (what: string): null => {
    const path = field === "" ? "body" : field;
    faults.push(faultOf(path.length > pathLengthMax ? `${path.slice(0, pathLengthMax)}…` : path, what));
    return null;
  };
  if (around.length > jsonLevelsMax) return refuse(`lies more than ${jsonLevelsMax} levels deep; make it flatter`);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : refuse("is not a finite number; leave it out or give one");
    case "bigint":
      return refuse("is a bigint; give a number or a string");
    case "undefined":
    case "function":
    case "symbol":
      return refuse(`is of type ${typeof value}, which JSON cannot carry; leave it out`);
    case "object":
      break;
  }
  if (value === null) return null;
  // Not left to the depth: two ways back in one object double the work with every level.
  if (around.includes(value)) return refuse("contains itself; leave out the reference to what it lies in");
  if (value instanceof Uint8Array) return base64(value);
  if (value instanceof Date && Number.isNaN(value.getTime())) return refuse("is no date; leave it out or give one");
  const inside = [...around, value];
  if (Array.isArray(value))
    return Array.from(value, (item, index) => toJson(item, faults, `${field}[${index}]`, inside));
  if ("toJSON" in value && typeof value.toJSON === "function") return toJson(value.toJSON(), faults, field, inside);
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (kind !== "Object")
    return refuse(`is of type ${kind}, which JSON cannot carry; give an array, a plain object or a Uint8Array`);

  // fromEntries defines its keys, so a key named __proto__ stays a key.
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [key, toJson(inner, faults, field === "" ? key : `${field}.${key}`, inside)]),
  );
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

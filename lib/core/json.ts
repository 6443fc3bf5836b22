/** A JSON value as `JSON.parse` gives it. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object; a missing key reads as undefined. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** How deep objects and arrays may lie in each other; Bedrock's deepest requests (tool schemas) need a tenth of it. */
export const jsonLevelsMax = 200;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Whether JSON text can carry the value unchanged and `JSON.stringify` survives it. `JSON.parse` promises neither: it
 * reads `1e999` as Infinity, and any depth, of which `JSON.stringify` dies at some thousand levels.
 */
export function isJson(value: unknown, levelsLeft = jsonLevelsMax): value is Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || levelsLeft === 0) return false;
  if (Array.isArray(value)) return value.every((inner) => isJson(inner, levelsLeft - 1));

  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return false;
  return Object.values(value).every((inner) => inner === undefined || isJson(inner, levelsLeft - 1));
}

/** The value of a JSON text; undefined: it is none. A byte order mark, as Windows writes it into files, is no fault. */
export function parseJson(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
    return value;
  } catch {
    return undefined;
  }
}

/** JSON text as SQS takes it: it refuses two characters that JSON leaves as they are. */
export function sqsJson(text: string): string {
  return text.replaceAll("\uFFFE", "\\ufffe").replaceAll("\uFFFF", "\\uffff");
}

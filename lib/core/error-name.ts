/**
 * The class of an error: all of it that a log line, a metric or a reply may carry. What a network fails with is of no class
 * of its own, and is told by its code: `ECONNREFUSED`.
 */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return classless.has(error.name) && "code" in error && isCode(error.code) ? error.code : error.name;
}

const classless = new Set(["Error", "AggregateError"]);

function isCode(value: unknown): value is string {
  return typeof value === "string" && /^[A-Z][A-Z0-9_]{1,63}$/.test(value);
}

/**
 * Whether what a read threw passes by itself: nobody was reached, the answer broke off, AWS refused for a moment or failed.
 * What is wrong for good says so at once: a right, a table or credentials that are missing, a setting that cannot be.
 * `hasAnswered`: AWS has answered before, so that a name that resolves no more is the network's trouble, not a wrong region.
 */
export function isMomentary(error: unknown, hasAnswered: boolean): boolean {
  const { name, code, $metadata }: Readonly<Record<string, unknown>> = Object(error);
  const status: unknown = Object($metadata).httpStatusCode;
  if (code === "ENOTFOUND") return hasAnswered;
  if (broken.has(code) || passing.has(name)) return true;
  return typeof status === "number" && (status === 429 || status >= 500);
}

const broken: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

const passing: ReadonlySet<unknown> = new Set([
  // The SDK's own, of every request that outlasts its time, and of most that break off.
  "TimeoutError",
  // DynamoDB tells of these with a 400.
  "ThrottlingException",
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
]);

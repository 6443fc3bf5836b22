import type { ProviderError } from "../core/failure.ts";
import { isUnsent } from "./bedrock-connections.ts";

/** A stream that closed before it said messageStop: half an answer, whatever it looked like. */
export class StreamEndedEarly extends Error {
  override readonly name = "StreamEndedEarly";
  readonly code = "ERR_STREAM_PREMATURE_CLOSE";
  constructor() {
    super("the stream ended before messageStop");
  }
}

/** Bedrock's own answer to a body it cannot read (400), for params that the SDK cannot even write. */
export function serializationError(error: unknown): ProviderError {
  return { name: "SerializationException", message: String(Object(error).message), status: 400 };
}

/**
 * What an SDK call threw, as facts. What breaks after a 200 (an error event, a reset, a body that is no JSON) has a name
 * and no status.
 *
 * ECONNRESET on a kept-alive socket that the peer closed while the sandbox was frozen arrives here too. Node cannot
 * prove that no byte of the request was sent, so it is not repeated here: it is a transient attempt like any other,
 * counted, and the retry schedule brings the next one.
 */
export function providerError(error: unknown): ProviderError {
  const seen: Readonly<Record<string, unknown>> = Object(error);
  const answered = numberAt(seen.$metadata, "httpStatusCode");
  const status = answered !== undefined && answered >= 300 ? answered : undefined;
  const code = textAt(seen, "code") ?? (seen.name === "TimeoutError" ? "TimeoutError" : undefined);
  const originalStatus = numberAt(seen, "originalStatusCode");
  const expectedQueueDelayMs = numberAt(seen, "expectedQueueDelayInMs");
  const headers = waitHeaders(seen.$response);
  return {
    name: nameOf(seen, status, code),
    message: messageOf(seen),
    ...(status === undefined ? {} : { status }),
    ...(headers === undefined ? {} : { headers }),
    ...(originalStatus === undefined ? {} : { originalStatus }),
    ...(expectedQueueDelayMs === undefined ? {} : { expectedQueueDelayMs }),
    ...(code === undefined ? {} : { code }),
    ...(isUnsent(error) ? { unsent: true } : {}),
  };
}

function nameOf(seen: Readonly<Record<string, unknown>>, status: number | undefined, code: string | undefined): string {
  if (seen.$fault !== undefined || seen instanceof StreamEndedEarly) return String(seen.name);
  // The HTTP handler calls resets TimeoutError, and Node calls them Error: the code says what it was.
  if (code !== undefined) return code;
  // A proxy's HTML instead of an error body: what failed is the server, not our parser.
  if (status !== undefined) return errorType(seen.$response) ?? `Http${status}`;
  // No JSON, a frame with a wrong checksum: the SDK throws these without a name of their own.
  return seen instanceof SyntaxError || seen.name === "Error" ? "UnreadableResponse" : String(seen.name);
}

/** A parser quotes what it could not read, and the SDK adds where to look: neither is for a reply. */
function messageOf(seen: Readonly<Record<string, unknown>>): string {
  if (seen instanceof SyntaxError) return "the response is not JSON";
  return String(seen.message).split("\n  Deserialization error:")[0] ?? "";
}

function errorType(response: unknown): string | undefined {
  return textAt(Object(response).headers, "x-amzn-errortype")?.split(/[:#]/)[0];
}

function waitHeaders(response: unknown): Record<string, string> | undefined {
  const sent: unknown = Object(response).headers;
  const waits = ["retry-after", "x-amz-retry-after"].flatMap((name) => {
    const value = textAt(sent, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return waits.length > 0 ? Object.fromEntries(waits) : undefined;
}

function textAt(holder: unknown, key: string): string | undefined {
  const value: unknown = Object(holder)[key];
  return typeof value === "string" ? value : undefined;
}

/** Headers and loose bodies give numbers as text now and then. */
function numberAt(holder: unknown, key: string): number | undefined {
  const value: unknown = Object(holder)[key];
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

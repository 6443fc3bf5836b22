import { pauseMsMax } from "./limits.ts";

/**
 * What failed, by what it means for the job. `hung` is our own attempt bound or Bedrock's; everything else is told by
 * the provider's error name and status.
 */
export type FailureKind = "throttled" | "daily" | "not-ready" | "transient" | "hung" | "target" | "context" | "fatal";

export interface Failure {
  readonly kind: FailureKind;
  /** The provider's name for it, `ThrottlingException`; safe to log. */
  readonly name: string;
  readonly status?: number;
  /** What the server asked us to wait: its own answer wins over our schedule. 0–900,000 ms. */
  readonly retryAfterMs?: number;
  /** The provider's own words, for the reply alone: they may quote the request, so they are never logged. */
  readonly text?: string;
}

/** An error of a Bedrock call as plain facts; adapters fill in what they saw and interpret nothing. */
export interface ProviderError {
  readonly name: string;
  readonly message: string;
  readonly status?: number;
  /** Lower-cased response headers that may speak of waiting: `retry-after`, `x-amz-retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** ModelErrorException's originalStatusCode. */
  readonly originalStatus?: number;
  readonly expectedQueueDelayMs?: number;
  /** A Node or SDK error code: `ECONNRESET`, `TimeoutError`. */
  readonly code?: string;
  /** No connection came about: not a byte of the request has left. */
  readonly unsent?: true;
}

/** A failure of the provider, or of what stands below us: then the message comes again and nobody is answered. */
export type Classified = Failure | { readonly kind: "infra"; readonly name: string };

/** Total: an error that cannot be understood is transient. `nowMs` (epoch) is what a Retry-After date is counted from. */
export function classify(error: ProviderError, nowMs: number): Classified {
  try {
    return judge(error, nowMs);
  } catch {
    return { kind: "transient", name: "Unreadable" };
  }
}

/** An answer that is none: the model ran out of window before it had finished. */
export function failureOfStop(stopReason: string | undefined): Failure | undefined {
  return stopReason === "model_context_window_exceeded" ? { kind: "context", name: stopReason } : undefined;
}

/**
 * Whether a model may have worked on a request that failed so, and be paid for it. What has a status is Bedrock's answer in
 * the place of a model's, and so is a refusal that comes as an event of a stream, under its 200. Anything else broke off,
 * before a word of the answer or in the middle of it.
 */
export function mayHaveBegun(kind: FailureKind, { status, unsent }: ProviderError): boolean {
  return unsent !== true && status === undefined && (kind === "transient" || kind === "hung");
}

function judge(error: ProviderError, nowMs: number): Classified {
  const name = shortName(error.name);
  const kind = kindByName(name, error) ?? (error.status === 401 ? "infra" : kindByStatus(error.status, error.message));
  if (kind === "infra") return { kind, name };
  const retryAfterMs = speaksOfCapacity(kind, error.status, name) ? askedToWaitMs(error, nowMs) : undefined;
  return {
    kind,
    name,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(error.message === "" ? {} : { text: error.message }),
  };
}

/** `com.amazonaws.bedrock#ThrottlingException:http://…`, and `throttlingException` of an event inside a stream. */
function shortName(name: string): string {
  const bare = name.replace(/.*#/, "").replace(/:.*/, "").trim();
  return bare === "" ? "UnknownError" : bare.charAt(0).toUpperCase() + bare.slice(1);
}

function kindByName(name: string, error: ProviderError): FailureKind | "infra" | undefined {
  switch (name) {
    case "ThrottlingException":
    case "Throttling":
    case "ThrottledException":
    case "TooManyRequestsException":
    case "RequestLimitExceeded":
      return throttledOrDaily(error.message);
    case "ServiceQuotaExceededException":
      return "daily";
    case "ModelNotReadyException":
      return "not-ready";
    case "ModelTimeoutException":
      return "hung";
    case "InternalServerException":
    case "InternalFailure":
      return "transient";
    case "ServiceUnavailableException":
    case "ServiceUnavailable":
      return kindByStatus(503, error.message);
    // The stream had begun, so the request was good: whatever broke it but a throttle is worth another try.
    case "ModelStreamErrorException":
      return error.originalStatus === 429 ? throttledOrDaily(error.message) : "transient";
    case "ModelErrorException":
      return kindByStatus(error.originalStatus, error.message);
    case "AccessDeniedException":
    case "AccessDenied":
    case "NotAuthorized":
    case "ResourceNotFoundException":
    case "FTUFormNotFilled":
      return "target";
    case "ValidationException":
      return kindByText(error.message);
    // A 400 without a name of its own: a proxy or a stream's error frame has swallowed it.
    case "Error":
    case "UnknownError":
      return error.status === 400 ? kindByText(error.message) : undefined;
    // Ours to mend, never the job's fault: the credentials, the clock, the signature.
    case "ExpiredTokenException":
    case "ExpiredToken":
    case "UnrecognizedClientException":
    case "InvalidClientTokenId":
    case "InvalidSignatureException":
    case "SignatureDoesNotMatch":
    case "IncompleteSignature":
    case "IncompleteSignatureException":
    case "MissingAuthenticationToken":
    case "MissingAuthenticationTokenException":
    case "RequestExpired":
    case "RequestTimeTooSkewed":
    case "CredentialsProviderError":
    case "TokenProviderError":
      return "infra";
    default:
      return undefined;
  }
}

/** Without a status nothing came back (a reset, a hang-up, the SDK's own timeout), or a stream broke off under its 200. */
function kindByStatus(status: number | undefined, message: string): FailureKind {
  if (status === undefined) return "transient";
  if (status === 429) return throttledOrDaily(message);
  if (status === 503 && /too many connections/i.test(message)) return "throttled";
  if (status === 408) return "hung";
  if (status === 401 || status === 403 || status === 404) return "target";
  // 424 is ModelErrorException's own: the model failed, not the request.
  return status >= 400 && status < 500 && status !== 424 ? "fatal" : "transient";
}

/** `Too many tokens per day, please wait before trying again.`: no pause of seconds helps. */
function throttledOrDaily(message: string): FailureKind {
  return /\bper[ -]day\b|\bdaily\b/i.test(message) ? "daily" : "throttled";
}

/** Only a ValidationException is read: everything else has a name. */
function kindByText(message: string): FailureKind {
  if (contextWordings.some((wording) => wording.test(message))) return "context";
  if (targetWordings.some((wording) => wording.test(message))) return "target";
  return "fatal";
}

/** As Bedrock and the model hosts behind it have been seen to write it. */
const contextWordings: readonly RegExp[] = [
  /input is too long/i, // Claude on Bedrock: Input is too long for requested model.
  /prompt is too long/i, // Claude: prompt is too long: 206456 tokens > 200000 maximum
  /exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context (?:limit|length|window|size)/i, // input length and `max_tokens` exceed context limit
  /maximum context length/i, // Llama, Mistral: This model's maximum context length is 8192 tokens.
  /context window exceeds limit/i,
  /input tokens exceeded/i, // Nova: Input Tokens Exceeded: Number of input tokens exceeds maximum length.
  /too many (?:input )?tokens/i, // Titan: Too many input tokens. Max input tokens: 8192; Cohere: too many tokens
  /too many total text bytes/i,
  /expected maxLength: \d+, actual: \d+/i, // Titan: Malformed input request: expected maxLength: 50000, actual: 52611
  /input token count.*exceeds the maximum/i,
  /range of input length should be/i, // Qwen
  /maximum prompt length/i,
];

/** What the model's place does not offer: another place may. AWS writes its apostrophes both ways. */
const targetWordings: readonly RegExp[] = [
  /on-demand throughput isn['’]t supported/i,
  /\bdo(?:es not|esn['’]t) support (?:on-demand throughput|(?:the|this) model)/i, // This action doesn't support the model that you provided.
  /account is not authorized to invoke/i, // model access, in one of its older words
  /^operation not allowed/i, // an account or a region that may not use the model
  /not available for this model/i, // data retention mode 'default' is not available for this model
  /service tier|^reservation not found/i, // the tier is the config's, and models differ in theirs
  /model (?:identifier|id)\b.*\b(?:is )?(?:invalid|not supported|not enabled)/i, // The provided model identifier is invalid.
  /this model do(?:es not|esn['’]t) support/i, // This model doesn't support tool use in streaming mode.
  /use case details/i,
  /maximum tokens you requested exceeds?|maximum allowed number of output tokens/i, // its configured maxTokens is above what the model gives
  /reached the end of its life/i,
];

/** Retry-After on anything else is no statement about capacity. */
function speaksOfCapacity(kind: FailureKind, status: number | undefined, name: string): boolean {
  return (
    kind === "throttled" ||
    kind === "daily" ||
    kind === "not-ready" ||
    status === 503 ||
    name.startsWith("ServiceUnavailable")
  );
}

/** The first answer that can be read: x-amz-retry-after is ms, Retry-After seconds or a date, the queue's delay ms. */
function askedToWaitMs({ headers, expectedQueueDelayMs }: ProviderError, nowMs: number): number | undefined {
  const answers = [
    millis(headers?.["x-amz-retry-after"], 1),
    millis(headers?.["retry-after"], 1_000) ?? millisUntil(headers?.["retry-after"], nowMs),
    expectedQueueDelayMs !== undefined && expectedQueueDelayMs >= 0 ? expectedQueueDelayMs : undefined,
  ];
  const waitMs = answers.find((answer) => answer !== undefined);
  return waitMs === undefined ? undefined : Math.ceil(Math.min(Math.max(waitMs, 0), pauseMsMax));
}

/** `12`, `0.5`, `500ms`; anything else is no number. */
function millis(text: string | undefined, unitMs: number): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*(ms)?\s*$/i.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (unit === undefined ? unitMs : 1);
}

/** Only an HTTP date is one: `Date.parse` would read a year into almost any text. */
function millisUntil(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\s*[A-Za-z]{3,9}, \d{2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT\s*$/.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

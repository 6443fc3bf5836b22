import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classify, failureOfStop, mayHaveBegun } from "../../lib/core/failure.ts";
import type { Classified, ProviderError } from "../../lib/core/failure.ts";
import { t0 } from "../a.ts";

const error = (facts: Partial<ProviderError>): ProviderError => ({ name: "UnknownError", message: "", ...facts });
const kindOf = (facts: Partial<ProviderError>) => classify(error(facts), t0).kind;

describe("a failure is told by its name and status", () => {
  test.each<[says: string, facts: Partial<ProviderError>, kind: string]>([
    ["a throttle", { name: "ThrottlingException", status: 429, message: "Too many requests" }, "throttled"],
    ["a throttle without a status, inside a stream", { name: "throttlingException" }, "throttled"],
    ["a throttle with its namespace", { name: "com.amazonaws.bedrock#ThrottlingException:http://x" }, "throttled"],
    ["a throttle by its older names", { name: "TooManyRequestsException", status: 400 }, "throttled"],
    ["a 429 without a name", { status: 429 }, "throttled"],
    ["a 503 that speaks of connections", { status: 503, message: "Too many connections, please wait" }, "throttled"],
    [
      "the same by name, inside a stream",
      { name: "serviceUnavailableException", message: "Too many connections" },
      "throttled",
    ],
    ["another service's speech of connections is none", { status: 500, message: "Too many connections" }, "transient"],

    [
      "tokens per day in a throttle",
      { name: "ThrottlingException", message: "Too many tokens per day, please wait" },
      "daily",
    ],
    ["tokens per day in a nameless 429", { status: 429, message: "Too many tokens per day" }, "daily"],
    ["a daily limit at the beginning of a sentence", { status: 429, message: "Daily limit reached" }, "daily"],
    ["a throttle with blanks around its name", { name: "x# ThrottlingException :y" }, "throttled"],
    [
      "an operation that is not allowed, told in the middle of a sentence",
      { name: "ValidationException", message: "In tool 1 operation not allowed" },
      "fatal",
    ],
    [
      "tokens a minute are no day",
      { name: "ThrottlingException", message: "Too many tokens, please wait" },
      "throttled",
    ],
    ["a quota, though it comes as a 400", { name: "ServiceQuotaExceededException", status: 400 }, "daily"],
    ["a model that loads, though it comes as a 429", { name: "ModelNotReadyException", status: 429 }, "not-ready"],

    ["a 500", { status: 500 }, "transient"],
    ["a 502", { status: 502 }, "transient"],
    [
      "a 503",
      { name: "ServiceUnavailableException", status: 503, message: "Bedrock is unable to process" },
      "transient",
    ],
    ["a 504", { status: 504 }, "transient"],
    ["a 529", { status: 529 }, "transient"],
    ["an internal error", { name: "InternalServerException", status: 500 }, "transient"],
    ["an internal error inside a stream", { name: "internalServerException" }, "transient"],
    ["a reset", { name: "ECONNRESET", code: "ECONNRESET", message: "read ECONNRESET" }, "transient"],
    ["a hang-up", { name: "Error", message: "socket hang up" }, "transient"],
    ["the SDK's own timeout", { name: "TimeoutError", code: "TimeoutError" }, "transient"],
    ["a stream that broke off under its 200", { name: "Error", status: 200 }, "transient"],
    ["a stream that ended early", { name: "StreamEndedEarly" }, "transient"],
    ["an error event of the stream", { name: "ModelStreamErrorException", status: 424 }, "transient"],
    [
      "an error event is tried again whatever the model said",
      { name: "ModelStreamErrorException", originalStatus: 400 },
      "transient",
    ],
    ["an error event of a throttled model", { name: "ModelStreamErrorException", originalStatus: 429 }, "throttled"],
    ["a 424 without a name", { status: 424 }, "transient"],

    ["a model's error of unknown origin", { name: "ModelErrorException", status: 424 }, "transient"],
    ["a model's error that was a 500", { name: "ModelErrorException", status: 424, originalStatus: 500 }, "transient"],
    ["a model's error that was a 429", { name: "ModelErrorException", status: 424, originalStatus: 429 }, "throttled"],
    ["a model's error that was a 408", { name: "ModelErrorException", status: 424, originalStatus: 408 }, "hung"],
    ["a model's error that was a 400", { name: "ModelErrorException", status: 424, originalStatus: 400 }, "fatal"],
    [
      "a model's error that was a 401 is not our credentials'",
      { name: "ModelErrorException", status: 424, originalStatus: 401 },
      "target",
    ],

    ["a model that took too long", { name: "ModelTimeoutException", status: 408 }, "hung"],
    ["a model that took too long, inside a stream", { name: "modelTimeoutException" }, "hung"],
    ["a 408 without a name", { status: 408 }, "hung"],

    ["no access to the model", { name: "AccessDeniedException", status: 403 }, "target"],
    ["a 403 without a name", { status: 403 }, "target"],
    ["a model that is not there", { name: "ResourceNotFoundException", status: 404 }, "target"],
    ["a 404 without a name", { status: 404 }, "target"],

    ["expired credentials", { name: "ExpiredTokenException", status: 403 }, "infra"],
    ["credentials that nobody knows", { name: "UnrecognizedClientException", status: 403 }, "infra"],
    ["no credentials at all", { name: "CredentialsProviderError" }, "infra"],
    ["a wrong signature", { name: "InvalidSignatureException", status: 403 }, "infra"],
    ["a 401", { status: 401 }, "infra"],

    [
      "a refused request",
      { name: "ValidationException", status: 400, message: "messages: roles must alternate" },
      "fatal",
    ],
    ["params that cannot be written as a request", { name: "SerializationException", status: 400 }, "fatal"],
    ["a conflict", { name: "ConflictException", status: 409 }, "fatal"],
    ["a request that is too big", { status: 413 }, "fatal"],
    ["a 499", { status: 499 }, "fatal"],
  ])("%s", (_says, facts, kind) => expect(kindOf(facts)).toBe(kind));
});

describe("a failure has more names than one", () => {
  test.each<[kind: string, names: string[]]>([
    [
      "throttled",
      ["ThrottlingException", "Throttling", "ThrottledException", "TooManyRequestsException", "RequestLimitExceeded"],
    ],
    [
      "target",
      ["AccessDeniedException", "AccessDenied", "NotAuthorized", "ResourceNotFoundException", "FTUFormNotFilled"],
    ],
    [
      "infra",
      [
        "ExpiredTokenException",
        "ExpiredToken",
        "UnrecognizedClientException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "CredentialsProviderError",
        "TokenProviderError",
      ],
    ],
    ["transient", ["InternalServerException", "InternalFailure", "ServiceUnavailableException", "ServiceUnavailable"]],
  ])("%s", (kind, names) => expect(names.map((name) => kindOf({ name, status: 400 }))).toEqual(names.map(() => kind)));
});

describe("a refused request is the target's fault when its text says so", () => {
  test.each([
    "Invocation of model ID amazon.nova-lite-v1:0 with on-demand throughput isn't supported. Retry your request with an inference profile.",
    "Invocation of model ID amazon.nova-lite-v1:0 with on-demand throughput isn\u2019t supported. Retry your request with an inference profile.",
    "The provided model identifier is invalid.",
    "The model ID us.anthropic.claude-x is not supported in this Region.",
    "This action doesn't support the model that you provided. Try again with a supported text or chat model.",
    "This model doesn\u2019t support tool use in streaming mode.",
    "Model use case details have not been submitted for this account. Fill out the Anthropic use case details form.",
    "The maximum tokens you requested exceeds the model limit of 10000. Try again with a lower value.",
    "This model version has reached the end of its life.",
    "The provided model doesn't support on-demand throughput.",
    "This model does not support tool use.",
    "Your account is not authorized to invoke this API operation.",
    "Operation not allowed",
    "data retention mode 'default' is not available for this model",
    "service tier provided is invalid",
    "Reservation not found.",
    "The model returned the following errors: max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x",
  ])("%s", (message) => {
    expect(kindOf({ name: "ValidationException", status: 400, message })).toBe("target");
    expect(kindOf({ name: "ValidationException", status: 400, message: message.toUpperCase() })).toBe("target");
  });

  test.each([
    "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1",
    "A conversation must alternate between user and assistant roles.",
    "Malformed input request: #/messages/0: required key [content] not found, please reformat your input and try again.",
  ])("but not: %s", (message) => expect(kindOf({ name: "ValidationException", status: 400, message })).toBe("fatal"));
});

const tooLong = [
  "Input is too long for requested model.",
  "The model returned the following errors: prompt is too long: 206456 tokens > 200000 maximum",
  "The model returned the following errors: input length and `max_tokens` exceed context limit: 142422 + 64000 > 200000",
  "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
  "The model returned the following errors: This model's maximum context length is 8192 tokens. Please reduce the length of the prompt",
  "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9279",
  "too many tokens: total number of tokens in the prompt cannot exceed 4081",
  "messages: too many total text bytes",
  "Malformed input request: expected maxLength: 50000, actual: 52611, please reformat your input and try again.",
  "The input token count (200000) exceeds the maximum number of tokens",
  "Your input exceeds the context window of this model.",
  "context window exceeds limit (2013)",
  "Range of input length should be [1, 258048]",
  "This model's maximum prompt length is 131072",
];

describe("a prompt that is too long is known by its many wordings", () => {
  test.each(tooLong)("%s", (message) => {
    expect(kindOf({ name: "ValidationException", message })).toBe("context");
    expect(kindOf({ name: "ValidationException", message: message.toUpperCase() })).toBe("context");
  });

  test.each(["Error", "UnknownError", ""])("also when a frame or a proxy has left no name but '%s'", (name) =>
    expect(kindOf({ name, status: 400, message: "prompt is too long: 206456 tokens" })).toBe("context"),
  );

  test("but only a ValidationException is read: another name means what it says", () => {
    expect(tooLong.map((message) => kindOf({ name: "AccessDeniedException", message }))).not.toContain("context");
    expect(tooLong.map((message) => kindOf({ name: "ConflictException", status: 409, message }))).not.toContain(
      "context",
    );
    expect(tooLong.map((message) => kindOf({ name: "Error", status: 200, message }))).not.toContain("context");
  });

  test("an answer that stopped at the end of the window is such a failure too", () => {
    expect(failureOfStop("model_context_window_exceeded")).toEqual({
      kind: "context",
      name: "model_context_window_exceeded",
    });
    expect(
      ["end_turn", "max_tokens", "guardrail_intervened", "content_filtered", undefined].map(failureOfStop),
    ).toEqual(Array.from({ length: 5 }));
  });
});

const waitOf = (headers: Record<string, string>, facts: Partial<ProviderError> = {}) => {
  const failure = classify(error({ name: "ThrottlingException", headers, ...facts }), t0);
  return "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
};

describe("the server says how long to wait", () => {
  test.each<[says: string, headers: Record<string, string>, waitMs: number | undefined]>([
    ["in seconds", { "retry-after": "12" }, 12_000],
    ["in parts of a second", { "retry-after": " 0.5 " }, 500],
    ["not at all", { "retry-after": "0" }, 0],
    ["in ms, if it says so", { "retry-after": "1500ms" }, 1_500],
    ["as an HTTP date", { "retry-after": "Sun, 29 Nov 2026 12:00:30 GMT" }, 30_000],
    ["as an HTTP date of the old form", { "retry-after": "Sunday, 29-Nov-26 12:00:30 GMT" }, 30_000],
    ["as a date that is past", { "retry-after": "Sun, 29 Nov 2026 11:00:00 GMT" }, 0],
    ["in AWS's own header, in ms", { "x-amz-retry-after": "700" }, 700],
    ["in both: AWS's own is the finer one", { "retry-after": "1", "x-amz-retry-after": "700" }, 700],
    ["in both, one of them garbage", { "retry-after": "1", "x-amz-retry-after": "soon" }, 1_000],
    ["longer than 15 minutes, which is enough", { "retry-after": "86400" }, 900_000],
    ["in a number without end", { "retry-after": "9".repeat(400) }, 900_000],
    ["in a split millisecond, rounded up", { "x-amz-retry-after": "0.2" }, 1],
    ["in ms, in capitals", { "retry-after": "500MS" }, 500],
    ["as an HTTP date with blanks around it", { "retry-after": " Sun, 29 Nov 2026 12:00:30 GMT " }, 30_000],
    ["garbage", { "retry-after": "soon" }, undefined],
    ["garbage behind a number", { "retry-after": "12 minutes" }, undefined],
    ["garbage before a date", { "retry-after": "x Sun, 29 Nov 2026 12:00:30 GMT" }, undefined],
    ["garbage behind a date", { "retry-after": "Sun, 29 Nov 2026 12:00:30 GMT+1" }, undefined],
    ["garbage with a year in it", { "retry-after": "try 2027" }, undefined],
    ["a day that no calendar has", { "retry-after": "Sun, 99 Nov 2026 12:00:30 GMT" }, undefined],
    ["a negative number", { "retry-after": "-5" }, undefined],
    ["a number that is none", { "retry-after": "NaN" }, undefined],
    ["an empty header", { "retry-after": "" }, undefined],
    ["no header", {}, undefined],
  ])("%s", (_says, headers, waitMs) => expect(waitOf(headers)).toBe(waitMs));

  test("in the body, as the delay of its queue", () => {
    expect(waitOf({}, { expectedQueueDelayMs: 4_000 })).toBe(4_000);
    expect(waitOf({}, { expectedQueueDelayMs: 0 })).toBe(0);
    expect(waitOf({ "retry-after": "1" }, { expectedQueueDelayMs: 4_000 })).toBe(1_000);
    expect(waitOf({}, { expectedQueueDelayMs: -1 })).toBeUndefined();
    expect(waitOf({}, { expectedQueueDelayMs: Number.NaN })).toBeUndefined();
  });

  test.each<[says: string, facts: Partial<ProviderError>, waitMs: number | undefined]>([
    ["a spent day", { name: "ServiceQuotaExceededException" }, 2_000],
    ["a model that loads", { name: "ModelNotReadyException" }, 2_000],
    ["a 503", { name: "UnknownError", status: 503 }, 2_000],
    ["a 503 inside a stream", { name: "serviceUnavailableException" }, 2_000],
    ["a 500 says nothing about capacity", { name: "InternalServerException", status: 500 }, undefined],
    ["a refusal neither", { name: "ValidationException", status: 400 }, undefined],
    ["nor a reset", { name: "ECONNRESET" }, undefined],
  ])("it counts on capacity errors only: %s", (_says, facts, waitMs) =>
    expect(waitOf({ "retry-after": "2" }, facts)).toBe(waitMs),
  );
});

describe("a failure keeps what a reader needs", () => {
  test("the provider's name without its wrapping, the status, and its words", () =>
    expect(classify(error({ name: "x#validationException:y", status: 400, message: "no" }), t0)).toEqual({
      kind: "fatal",
      name: "ValidationException",
      status: 400,
      text: "no",
    }));

  test("and no field for what it does not know", () =>
    expect(classify(error({}), t0)).toStrictEqual({ kind: "transient", name: "UnknownError" }));

  test("an infra failure keeps no words: it ends in a log, never in a reply", () =>
    expect(classify(error({ name: "ExpiredTokenException", message: "the security token" }), t0)).toEqual({
      kind: "infra",
      name: "ExpiredTokenException",
    }));

  test("a name that is empty is still one", () => expect(classify(error({ name: "" }), t0).name).toBe("UnknownError"));

  const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true });

  test("whatever is thrown in, something comes out", () =>
    fc.assert(
      fc.property(
        fc.oneof(anything, fc.record({ name: anything, message: anything })),
        fc.double(),
        (thrown, nowMs) => {
          const classified: Classified = Reflect.apply(classify, undefined, [thrown, nowMs]);
          expect(classified.kind).toMatch(/^[a-z-]+$/);
        },
      ),
    ));

  test("a classifier that fails means transient", () =>
    expect(Reflect.apply(classify, undefined, [undefined, t0])).toEqual({ kind: "transient", name: "Unreadable" }));

  const facts = fc.record({
    name: fc.constantFrom("ThrottlingException", "ServiceQuotaExceededException", "ModelNotReadyException"),
    message: fc.string(),
    headers: fc.dictionary(
      fc.constantFrom("retry-after", "x-amz-retry-after"),
      fc.oneof(fc.string(), fc.double().map(String)),
    ),
    expectedQueueDelayMs: fc.double(),
  });

  test("a wait is whole milliseconds between none and 15 minutes", () =>
    fc.assert(
      fc.property(facts, (seen) => {
        const classified = classify(seen, t0);
        const waitMs = "retryAfterMs" in classified ? (classified.retryAfterMs ?? 0) : 0;
        expect(Number.isInteger(waitMs)).toBe(true);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(900_000);
      }),
    ));
});

describe("a model may have begun to work on a request", () => {
  test.each<[says: string, seen: Partial<ProviderError>, may: boolean]>([
    ["that was reset while its answer was waited for", { name: "ECONNRESET", code: "ECONNRESET" }, true],
    ["that met nothing but silence", { name: "TimeoutError", code: "TimeoutError" }, true],
    ["whose answer cannot be read", { name: "UnreadableResponse" }, true],
    ["whose stream ended with an error", { name: "ModelStreamErrorException" }, true],
    ["whose stream ended with Bedrock's own", { name: "internalServerException" }, true],
    ["at which the model ran out of time", { name: "modelTimeoutException" }, true],
    ["but not on one that Bedrock refused", { name: "ThrottlingException", status: 429 }, false],
    ["nor one that it failed with", { name: "InternalServerException", status: 500 }, false],
    ["nor one that was throttled inside its stream", { name: "throttlingException" }, false],
    ["nor one for which the day had no tokens left", { name: "throttlingException", message: "tokens per day" }, false],
    ["nor one whose model was throttled", { name: "ModelStreamErrorException", originalStatus: 429 }, false],
    ["nor one that met a full service there", { name: "serviceUnavailable", message: "Too many connections" }, false],
    ["nor one that was too long", { name: "validationException", message: "Input is too long" }, false],
    ["nor one that was bad", { name: "validationException", message: "Malformed input request" }, false],
    ["nor one that may not go there", { name: "accessDeniedException" }, false],
    ["nor one that was never sent", { name: "ECONNREFUSED", code: "ECONNREFUSED", unsent: true }, false],
  ])("%s", (_says, seen, may) => {
    const { kind } = classify(error(seen), t0);
    expect(kind !== "infra" && mayHaveBegun(kind, error(seen))).toBe(may);
  });
});

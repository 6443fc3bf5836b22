import { expect, test } from "vitest";
import { endings } from "../../lib/core/endings.ts";
import type { ReplyError } from "../../lib/core/reply.ts";

/** Each with what happened, and what to do. */
test.each<
  [says: string, ending: ReplyError, is: [code: string, kind: string | undefined, retryable: boolean], message: RegExp]
>([
  [
    "an envelope with a fault",
    endings.invalidEnvelope({ field: "lane", message: "lane must be one of rt, bg, bulk" }),
    ["invalid_envelope", "envelope", false],
    /^lane must be one of rt, bg, bulk\. Mend it/,
  ],
  [
    "an envelope with a question",
    endings.invalidEnvelope({ field: "lanes", message: "did you mean lane?" }),
    ["invalid_envelope", "envelope", false],
    /^did you mean lane\? Mend it/,
  ],
  [
    "a model that nobody knows",
    endings.notConfigured("novel"),
    ["model_not_configured", "envelope", false],
    /"novel"; add it to the config and deploy/,
  ],
  [
    "params that are not there",
    endings.paramsMissing("is not there"),
    ["params_missing", "envelope", false],
    /paramsRef names is not there; store the request there/,
  ],
  ["attempts that the bell cut", endings.bellCuts(), ["attempt_timeout", "hung", true], /^3 attempts .* fewer tokens/],
  [
    "a worker that died",
    endings.crashed("attempt=1/4"),
    ["worker_crashed", "crash", false],
    /died 5 times .* attempt=1\/4; look for out-of-memory/,
  ],
  [
    "a message that SQS gave up",
    endings.deadLettered("waiting", 50),
    ["dead_lettered", undefined, false],
    /after 50 receives, last at waiting; .* run it again/,
  ],
  [
    "a message that never came again",
    endings.messageLost(),
    ["deadline_exceeded", undefined, true],
    /Send the job under/,
  ],
  [
    "a bug of ours",
    endings.internal("TypeError"),
    ["internal_error", "internal", false],
    /\(TypeError\); the worker's log has it/,
  ],
])("%s ends a job", (_says, ending, is, message) => {
  expect([ending.code, ending.kind, ending.retryable]).toEqual(is);
  expect(ending.message).toMatch(message);
});

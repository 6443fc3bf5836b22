import type { Fault } from "./envelope.ts";
import { bellCutsMax, crashesMax } from "./limits.ts";
import type { ReplyError } from "./reply.ts";

/** The endings that no provider causes, each with what happened and what to do about it. */
export const endings = {
  invalidEnvelope: ({ message }: Fault): ReplyError => ({
    code: "invalid_envelope",
    kind: "envelope",
    message: `${message}${message.endsWith("?") ? "" : "."} Mend it, and send the job under another jobId.`,
    retryable: false,
  }),
  notConfigured: (name: string): ReplyError => ({
    code: "model_not_configured",
    kind: "envelope",
    message: `no worker knows the model "${name}"; add it to the config and deploy, or send another model`,
    retryable: false,
  }),
  paramsMissing: (why: string): ReplyError => ({
    code: "params_missing",
    kind: "envelope",
    message: `the object that paramsRef names ${why}; store the request there as JSON and send the job under a new jobId`,
    retryable: false,
  }),
  bellCuts: (): ReplyError => ({
    code: "attempt_timeout",
    kind: "hung",
    message: `${bellCutsMax} attempts outlasted their invocation; ask for fewer tokens or give typicalMs of the target its true value`,
    retryable: true,
  }),
  crashed: (inFlight: string): ReplyError => ({
    code: "worker_crashed",
    kind: "crash",
    message: `the worker died ${crashesMax} times while it ran this job, last at ${inFlight}; look for out-of-memory or timeout lines in its log`,
    retryable: false,
  }),
  deadLettered: (inFlight: string, receives: number): ReplyError => ({
    code: "dead_lettered",
    message: `SQS gave the message up after ${receives} receives, last at ${inFlight}; it waits in the parked queue: mend what kept it from an answer, then run it again from there, under the jobId that it gets`,
    retryable: false,
  }),
  messageLost: (): ReplyError => ({
    code: "deadline_exceeded",
    message:
      "The job was handed back to wait, and its message never came again: it was purged, deleted or lost. Send the job under another jobId.",
    retryable: true,
  }),
  unstorable: (): ReplyError => ({
    code: "internal_error",
    kind: "internal",
    message:
      "the answer is too big for the job table and for SQS, and S3 would not take it; look for `store the output in S3` in the worker's log, and send the job again under another jobId",
    retryable: true,
  }),
  internal: (errorClass: string): ReplyError => ({
    code: "internal_error",
    kind: "internal",
    message: `a bug in the worker ended this job (${errorClass}); the worker's log has it under this jobId`,
    retryable: false,
  }),
} as const;

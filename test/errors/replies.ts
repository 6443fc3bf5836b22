import { chainError, errorOf } from "../../lib/core/chain-error.ts";
import { endings } from "../../lib/core/endings.ts";
import type { Failure } from "../../lib/core/failure.ts";
import { hopesOf } from "../../lib/core/hope.ts";
import type { StepOutcome } from "../../lib/core/hope.ts";
import { noMeta, replyOf } from "../../lib/core/reply.ts";
import type { Ending, ReplyCode, ReplyError } from "../../lib/core/reply.ts";
import type { SkipReason } from "../../lib/core/plan.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { t0 } from "../a.ts";
import { aService, config } from "../worker/a-service.ts";
import type { Group } from "./entry.ts";

const west = "fast-text@us-west-2";
const east = "fast-text@us-east-1";

const skipped = (reason: SkipReason, step = west): StepOutcome => ({ step, kind: "skipped", reason });
const failed = (failure: Failure, step = west): StepOutcome => ({ step, kind: "failed", failure, atMs: t0 });

/** Of a chain whose steps went so, when there was no time left for any. */
function chain(...outcomes: readonly StepOutcome[]): ReplyError {
  return chainError(outcomes, hopesOf(outcomes, { nowMs: t0, requeues: 0 }));
}

function ended(ending: Ending): ReplyError {
  const reply = replyOf({ jobId: "order-8812-summary", metadata: {} }, ending, noMeta);
  if (reply.ok) throw new Error("the job succeeded");
  return reply.error;
}

/** Of a job that a worker has run. */
async function run(
  job: object,
  { object, script }: { object?: string; script?: ScriptText } = {},
): Promise<ReplyError> {
  const service = aService(script === undefined ? {} : { script });
  if (object !== undefined) service.world.objects.put("prompts", "job.json", object);
  service.send({ ...job });
  await service.drain();
  const reply = service.reply();
  if (reply === undefined || reply.ok) throw new Error("the job succeeded");
  return reply.error;
}

/** Of a task whose job has the id of another. */
async function taken(): Promise<ReplyError> {
  const { replies } = config;
  const service = aService({
    config: { ...config, replies: { ...replies, allow: { ...replies.allow, taskTokens: true } } },
  });
  service.send();
  service.send({ operation: "other", replyTo: { taskToken: "AAAAKgAAAAIAAA" } });
  await service.drain();
  const told = service.world.announcer.sent.at(-1);
  if (told === undefined) throw new Error("nobody was told");
  const { error }: { readonly error: ReplyError } = JSON.parse(told.reply);
  return error;
}

const byReference = { params: undefined, paramsRef: "s3://prompts/job.json" };
const throttled: Failure = { kind: "throttled", name: "ThrottlingException", status: 429 };
const denied: Failure = {
  kind: "target",
  name: "AccessDeniedException",
  status: 403,
  text: "You don't have access to the model with the specified model ID.",
};

type Ended = readonly [when: string, error: () => ReplyError | Promise<ReplyError>, remedy?: string];

const codes: Readonly<Record<ReplyCode, readonly Ended[]>> = {
  invalid_envelope: [
    ["A field of the envelope, as [above](#a-jobs-envelope).", () => run({ lane: "fast" })],
    ["Told to a Step Functions task that asked for what is another job's id. Its message is parked.", taken],
  ],
  model_not_configured: [
    ["Workers of another version had time to take it, and none did.", () => run({ model: "clever-text" })],
  ],
  params_missing: [
    ["", () => run(byReference)],
    ["", () => run(byReference, { object: "Say hello." })],
  ],
  deadline_exceeded: [
    ["Nothing else kept it from an answer: it waited for too long.", () => ended({ kind: "expired" })],
    ["Told by the sweeper, a quarter of an hour after the deadline.", () => endings.messageLost()],
    ["Every step takes longer than what is left.", () => chain(skipped({ kind: "too-slow" }))],
    ["", () => chain({ step: west, kind: "no-time" })],
  ],
  cancelled: [["", () => ended({ kind: "cancelled" })]],
  no_capacity: [
    [
      "No step had room until there was no time, or no attempt, left; each step with what kept it.",
      () =>
        chain(
          { step: west, kind: "no-lease" },
          { step: east, kind: "no-lease", ledger: "group:nova" },
          { step: "smart-text@us-west-2", kind: "quota-spent", untilMs: t0 + 30_000 },
          skipped({ kind: "paused", untilMs: t0 + 60_000 }, "smart-text@us-east-1"),
          skipped({ kind: "no-headroom" }, "large-text@us-west-2"),
          failed(throttled, "large-text@us-east-1"),
        ),
    ],
    ["One step was asked, and throttled to the end.", () => errorOf(throttled, west)],
    ["", () => chain({ step: west, kind: "above-quota", tokensMax: 4_000 })],
  ],
  circuit_open: [["", () => chain(skipped({ kind: "breaker-open", untilMs: t0 + 30_000 }))]],
  attempt_timeout: [
    ["A model that is slow, or hangs.", () => errorOf({ kind: "hung", name: "TimeoutError" }, west)],
    ["", () => chain({ step: west, kind: "cut" })],
    ["The same in several deliveries.", () => endings.bellCuts()],
  ],
  context_too_small: [
    [
      "Bedrock says so, or the tokens were counted.",
      () =>
        chain(
          skipped({ kind: "prompt-too-long", estimated: false }, east),
          failed({
            kind: "context",
            name: "ValidationException",
            status: 400,
            text: "Input is too long for requested model.",
          }),
        ),
    ],
  ],
  target_unavailable: [
    [
      "Every step is denied, does not exist, or cannot do what the request needs.",
      () =>
        chain(
          skipped({ kind: "op-not-served" }, east),
          skipped({ kind: "feature-missing", feature: "tools" }, "smart-text@us-west-2"),
          failed(denied),
        ),
    ],
    ["", () => chain(skipped({ kind: "taken-out" }))],
  ],
  provider_error: [
    [
      "Errors of the provider that may pass, until there was no attempt left.",
      () => errorOf({ kind: "transient", name: "InternalServerException", status: 500 }, west),
    ],
    [
      "The request itself is wrong, whoever is asked. Bedrock's words stand beside the message, for they may quote the request.",
      () =>
        errorOf(
          {
            kind: "fatal",
            name: "ValidationException",
            status: 400,
            text: "The value at inferenceConfig.topP is wrong.",
          },
          west,
        ),
    ],
  ],
  budget_exhausted: [
    [
      "A job of a lane with a `dailyBudgetUsd`, with how its steps went before.",
      () => chain(failed(throttled), skipped({ kind: "budget-spent", untilMs: t0 + 3_600_000 }, east)),
    ],
  ],
  worker_crashed: [["Out of memory, most often.", () => endings.crashed(`attempt=1/4 on ${west}`)]],
  dead_lettered: [
    ["No worker came to its end in all of its receives.", () => endings.deadLettered(`waiting on ${west}`, 200)],
  ],
  internal_error: [
    ["A bug, three times in a row.", () => endings.internal("TypeError")],
    ["", () => endings.unstorable()],
  ],
};

export const replyErrors: readonly Group[] = Object.entries(codes).map(([code, errors]) => ({
  title: `\`${code}\``,
  about: "",
  entries: errors.map(([when, error, ...remedy]) => [
    when,
    async () => {
      const { code: told, message } = await error();
      if (told !== code) throw new Error(`${told} instead of ${code}: ${message}`);
      return message;
    },
    ...remedy,
  ]),
}));

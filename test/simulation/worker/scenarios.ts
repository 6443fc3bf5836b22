import { checkConfig } from "../../../lib/config.ts";
import { t0 } from "../../a.ts";
import { configOf, job, params, scenario, scriptOf, target } from "./a-scenario.ts";
import { answerMark } from "./marks.ts";
import type { Scenario } from "./scenario.ts";

const [second, minute] = [1_000, 60_000];
const beforeMidnightMs = Date.UTC(2026, 10, 29, 23, 57);
const price = { inputPerMTok: 0, outputPerMTok: 2_000 };
const everywhere = { modelId: "*" };

export const scenarios: readonly Scenario[] = [
  scenario({ name: "one job that somebody waits for", sends: [job("j-1", {}, { lane: "rt" })] }),

  scenario({
    name: "one job that is tried again",
    sends: [job("j-1", { op: "invoke_model" })],
    script: scriptOf({ rules: [{ when: { nth: { to: 2 } }, do: { kind: "fail", error: "overloaded" } }] }),
  }),

  scenario({
    name: "a batch of five",
    sends: [1, 2, 3, 4, 5].map((number) => job(`j-${number}`)),
  }),

  scenario({
    name: "copies of one message, in a batch and after it",
    sends: [0, 0, 300, 3_000].map((atMs) => job("j-1", {}, { atMs })),
    batchSize: 2,
  }),

  scenario({
    name: "a chain of fallbacks",
    sends: [job("j-1"), job("j-2", { op: "converse_stream" })],
    script: scriptOf({
      rules: [
        { when: { region: "us-west-2", modelId: "amazon.*" }, do: { kind: "fail", error: "denied" } },
        { when: { region: "us-east-1", nth: { to: 5 } }, do: { kind: "stream-error", error: "stream" } },
      ],
    }),
  }),

  scenario({
    name: "requeues while everything is throttled",
    sends: [job("j-1"), job("j-2", { operation: "summarise" })],
    script: scriptOf({
      rules: [{ when: { toMs: 25 * second }, do: { kind: "fail", error: "throttled", retryAfter: "9" } }],
    }),
  }),

  scenario({
    name: "a breaker opens, and a probe closes it",
    sends: [0, 100, 20_000, 45_000].map((atMs, number) =>
      job(`j-${number}`, { model: "fast@west", fallback: "none" }, { atMs }),
    ),
    script: scriptOf({
      latency: 300,
      rules: [{ when: { toMs: 40 * second }, do: { kind: "fail", error: "internal" } }],
    }),
    batchSize: 1,
  }),

  scenario({
    name: "several limits, and the quota of a minute",
    sends: [1, 2, 3, 4].map((number) => job(`j-${number}`, { operation: "summarise" })),
    configs: [
      configOf(
        {
          operations: { summarise: { limitMax: 2 } },
          quotaGroups: { nova: { limitMax: 3 } },
          global: { limitMax: 3 },
        },
        { quotaGroup: "nova", requestsPerMinute: 30, tokensPerMinute: 9_000 },
      ),
    ],
    batchSize: 2,
  }),

  scenario({
    name: "lanes share a small limit",
    sends: [
      ...[1, 2, 3].map((number) => job(`bulk-${number}`, { fallback: "none", model: "fast@west" }, { lane: "bulk" })),
      ...[1, 2].map((number) =>
        job(`rt-${number}`, { fallback: "none", model: "fast@west" }, { lane: "rt", atMs: 900 * number }),
      ),
    ],
    configs: [configOf({ lanes: { bulk: { share: 0.5 } } }, { limit: { start: 2, max: 2 } })],
  }),

  scenario({
    name: "a poison job beside healthy ones",
    sends: [job("j-1"), job("poison", {}, { fates: ["failed: worker_crashed"] }), job("j-2")],
    poison: "poison",
  }),

  scenario({
    name: "cancelled while running, while waiting, and before it came",
    sends: [
      job("running", { model: "fast@east" }, { fates: ["cancelled"] }),
      job("waiting", { model: "smart", fallback: "none" }, { fates: ["cancelled"] }),
      job("early", {}, { atMs: 40 * second, fates: ["cancelled"] }),
    ],
    script: scriptOf({
      rules: [
        { when: { modelId: "anthropic.*" }, do: { kind: "fail", error: "throttled", retryAfter: "600" } },
        { when: {}, do: { kind: "hang" } },
      ],
    }),
    cancels: [
      { jobId: "running", atMs: 5 * second },
      { jobId: "waiting", atMs: 12 * second },
      { jobId: "early", atMs: 20 * second },
    ],
  }),

  scenario({
    name: "a deadline that comes first",
    sends: [
      job("asking", { deadlineAt: t0 + 4 * second }, { fates: ["expired"] }),
      job(
        "backing-off",
        { model: "smart", deadlineAt: t0 + 30 * second },
        { fates: ["failed: circuit_open", "failed: provider_error", "failed: no_capacity", "expired"] },
      ),
      job("over", { deadlineAt: t0 + second }, { atMs: 2 * second, fates: ["expired"] }),
    ],
    script: scriptOf({
      rules: [
        { when: { modelId: "anthropic.*" }, do: { kind: "fail", error: "unavailable" } },
        { when: everywhere, do: { kind: "hang" } },
      ],
    }),
  }),

  scenario({
    name: "a model that only newer workers know",
    sends: [
      job("j-1", { model: "novel" }),
      job(
        "nobody-knows",
        { model: "fats", deadlineAt: t0 + 2 * minute },
        { fates: ["failed: model_not_configured", "expired"] },
      ),
    ],
    configs: [
      configOf({
        models: { fast: { targets: { west: target("us-west-2") } }, novel: { targets: { west: target("us-west-2") } } },
      }),
      configOf(),
    ],
    batchSize: 1,
  }),

  scenario({
    name: "damaged messages beside good ones",
    sends: [
      job("j-1", {}, { fates: ["succeeded", "failed: invalid_envelope", "parked: job_id_reused"] }),
      { lane: "bg", atMs: 0, body: '{"jobId":"torn', fates: ["parked: not_an_envelope"] },
      job("invalid", { modle: "fast" }, { fates: ["failed: invalid_envelope"] }),
      job("j-1", { modle: "fast" }, { atMs: 100, fates: ["parked: invalid_envelope", "failed: invalid_envelope"] }),
      job(
        "j-1",
        { model: "smart" },
        { atMs: 200, fates: ["parked: job_id_reused", "failed: invalid_envelope", "succeeded"] },
      ),
      job("j-2"),
    ],
  }),

  scenario({
    name: "params and outputs that lie in S3",
    sends: [
      job("j-1", { params: null, paramsRef: "s3://prompts/good" }),
      job("missing", { params: null, paramsRef: "s3://prompts/nothing" }, { fates: ["failed: params_missing"] }),
      job("junk", { params: null, paramsRef: "s3://prompts/junk" }, { fates: ["failed: params_missing"] }),
    ],
    configs: [configOf({ replies: { inlineBytesMax: 100 } })],
    objects: { good: JSON.stringify(params), junk: "{" },
  }),

  scenario({
    name: "replies that somebody waits to be told of",
    sends: [
      job("j-1", { replyTo: { eventBus: "default" } }),
      job("j-2", { replyTo: { taskToken: "token", heartbeatSeconds: 8 } }),
      job("j-2", { replyTo: { taskToken: "another" } }, { atMs: 5 * second }),
    ],
    configs: [configOf({ replies: { allow: { eventBuses: ["default"], taskTokens: true } } })],
  }),

  scenario({
    name: "a destination that does not answer",
    sends: [job("j-1", { replyTo: { eventBus: "default" } })],
    configs: [configOf({ replies: { allow: { eventBuses: ["default"] } } })],
    faults: [{ call: "announcer.announce", nth: 1, kind: "refused" }],
  }),

  scenario({
    name: "messages that SQS gives up",
    sends: [
      job(
        "j-1",
        { replyTo: { eventBus: "default" } },
        { fates: ["parked: dead_lettered", "failed: dead_lettered", "succeeded"] },
      ),
      { lane: "bg", atMs: 0, body: '{"jobId":"torn', fates: ["parked: not_an_envelope"] },
    ],
    configs: [configOf({ replies: { allow: { eventBuses: ["default"] } } })],
    script: scriptOf({ rules: [{ when: {}, do: { kind: "fail", error: "throttled", retryAfter: "20" } }] }),
    receivesMax: 2,
  }),

  scenario({
    name: "messages that an operator purges",
    sends: [
      job(
        "j-1",
        { deadlineAt: t0 + 3 * minute, replyTo: { eventBus: "default" } },
        { fates: ["expired", "succeeded"] },
      ),
    ],
    configs: [configOf({ replies: { allow: { eventBuses: ["default"] } } })],
    script: scriptOf({ rules: [{ when: {}, do: { kind: "fail", error: "throttled", retryAfter: "30" } }] }),
    purgedAtMs: 20 * second,
  }),

  scenario({
    name: "a reply that only the replies queue takes",
    sends: [job("j-1", { replyTo: { eventBus: "default" } }), job("j-2")],
    configs: [configOf({ replies: { allow: { eventBuses: ["default"] } } })],
    faults: [{ call: "jobs.complete", nth: 1, kind: "down" }],
  }),

  scenario({
    name: "a reply that at first nobody takes",
    sends: [job("j-1")],
    faults: [
      { call: "jobs.complete", nth: 1, kind: "down" },
      { call: "outbox.send", nth: 1, kind: "down" },
    ],
  }),

  scenario({
    name: "prompts that Bedrock counts",
    sends: [job("j-1"), job("j-2", { op: "converse_stream" })],
    configs: [
      configOf(
        {},
        { countTokens: true, tokensPerMinute: 20_000, contextWindow: 10_000, limit: { start: 40, max: 40 } },
      ),
    ],
    script: scriptOf({ rules: [{ when: { op: "count_tokens", nth: 2 }, do: { kind: "fail", error: "no-count" } }] }),
  }),

  scenario({
    name: "a model that hangs until the bell",
    sends: [job("j-1", {}, { fates: ["succeeded", "failed: attempt_timeout"] }), job("j-2", { model: "smart" })],
    timeoutMs: 20 * second,
    script: scriptOf({ rules: [{ when: { toMs: 30 * second, modelId: "amazon.*" }, do: { kind: "hang" } }] }),
  }),

  scenario({
    name: "an answer that takes a minute and a half",
    sends: [job("j-1")],
    script: scriptOf({ latency: 90 * second }),
  }),

  scenario({
    name: "budgets that are spent before midnight",
    startMs: beforeMidnightMs,
    sends: [
      // Two USD each; those that come when these are spent cost a dime.
      ...[0, 1, 2].map((atS) => job(`bulk-${atS}`, {}, { lane: "bulk", atMs: atS * second })),
      ...[20, 40].map((atS) => job(`late-${atS}`, {}, { lane: "bulk", atMs: atS * second })),
      job(
        "late-in-haste",
        { deadlineAt: beforeMidnightMs + 90 * second },
        { lane: "bulk", atMs: 21 * second, fates: ["failed: budget_exhausted", "expired", "succeeded"] },
      ),
      job("late-lowered", { lane: "bulk" }, { lane: "rt", atMs: 22 * second, fates: ["succeeded", "expired"] }),
      job("rt-0", {}, { lane: "rt" }),
      job("rt-30", {}, { lane: "rt", atMs: 30 * second, fates: ["failed: budget_exhausted", "succeeded", "expired"] }),
    ],
    configs: [
      checkConfig({
        models: {
          fast: { targets: { west: target("us-west-2", { price }), east: target("us-east-1", { price }) } },
        },
        lanes: { rt: { dailyBudgetUsd: 1 }, bulk: { dailyBudgetUsd: 5 } },
      }),
    ],
    script: scriptOf({
      rules: ["late-*", "*"].map((jobId) => ({
        when: { jobId },
        do: { kind: "answer", content: [{ text: answerMark }], outputTokens: jobId === "*" ? 1_000 : 50 },
      })),
    }),
  }),

  scenario({
    name: "what an operator sets",
    sends: [0, 3, 12, 25, 26].map((atS) => job(`j-${atS}`, {}, { atMs: atS * second })),
    overrides: [
      { atMs: 2 * second, kind: "lane", name: "bg", override: { pausedUntilMs: t0 + 10 * second } },
      { atMs: 8 * second, kind: "ledger", name: "fast@west", override: { out: true } },
      { atMs: 18 * second, kind: "ledger", name: "fast@west", override: { limit: 1 } },
      { atMs: 18 * second, kind: "model", name: "fast", override: { chain: ["smart", "fast@east"] } },
      { atMs: 60 * second, kind: "ledger", name: "fast@west" },
    ],
  }),
];

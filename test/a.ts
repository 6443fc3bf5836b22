/** Builders: each test states the facts that differ, these supply the rest. */
import type { Addition } from "../lib/core/budget.ts";
import type { Config } from "../lib/core/config.ts";
import { ops } from "../lib/core/config.ts";
import { noProgress } from "../lib/core/claim.ts";
import type { ClaimAsk, JobRow } from "../lib/core/claim.ts";
import type { Envelope } from "../lib/core/envelope.ts";
import type { Delivery, Job } from "../lib/core/job.ts";
import { holdMs } from "../lib/core/limits.ts";
import { noMeta } from "../lib/core/reply.ts";
import type { ReplyMeta } from "../lib/core/reply.ts";
import type { Step } from "../lib/core/plan.ts";

export const t0 = Date.UTC(2026, 10, 29, 12);

let containers = 0;

export const a = {
  /** By a container of its own. */
  addition: (nanoUsd: number, facts: Partial<Addition> = {}): Addition => ({
    nanoUsd,
    by: `a-${String((containers += 1)).padStart(10, "0")}`,
    number: 1,
    ...facts,
  }),

  delivery: (facts: Partial<Delivery> = {}): Delivery => ({
    messageId: "m-1",
    receiptHandle: "r-1",
    body: "{}",
    lane: "bg",
    enqueuedAtMs: t0,
    receives: 1,
    receivedAtMs: t0,
    ...facts,
  }),

  envelope: (facts: Partial<Envelope> = {}): Envelope => ({
    jobId: "order-8812-summary",
    model: "fast-text",
    op: "converse",
    params: { kind: "inline", params: { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] } },
    fallback: "default",
    metadata: {},
    ...facts,
  }),

  job: (facts: Partial<Job> = {}): Job => ({
    ...a.envelope(),
    lane: "bg",
    enqueuedAtMs: t0,
    deadlineAtMs: t0 + 3_600_000,
    contentHash: "h-1",
    ...facts,
  }),

  step: (facts: Partial<Step> = {}): Step => ({
    name: "fast-text@us-west-2",
    model: "fast-text",
    target: "us-west-2",
    modelId: "us.amazon.nova-lite-v1:0",
    region: "us-west-2",
    maxTokens: 4_096,
    requireHeadroom: false,
    limit: { start: 20, max: 60 },
    ops,
    lacks: [],
    fallbackOn: [],
    ...facts,
  }),

  /** Two models, `fast-text` with two targets and a fallback on `smart-text`. */
  config: (facts: Partial<Config> = {}): Config => ({
    models: {
      "fast-text": {
        targets: {
          "us-west-2": target("us.amazon.nova-lite-v1:0", "us-west-2"),
          "us-east-1": target("us.amazon.nova-lite-v1:0", "us-east-1"),
        },
        fallback: ["smart-text@us-west-2"],
      },
      "smart-text": {
        targets: {
          "us-west-2": target("us.anthropic.claude-sonnet-4-6", "us-west-2"),
          "us-east-1": target("us.anthropic.claude-sonnet-4-6", "us-east-1"),
        },
      },
    },
    operations: {},
    quotaGroups: {},
    lanes: { rt: { share: 1 }, bg: { share: 0.95 }, bulk: { share: 0.9 } },
    replies: {
      ttlDays: 7,
      inlineBytesMax: 32_768,
      allow: { sqs: [], eventBuses: [], sns: [], taskTokens: false },
    },
    paramsRef: { buckets: [] },
    logPayloads: false,
    ...facts,
  }),

  claimAsk: (facts: Partial<ClaimAsk> = {}): ClaimAsk => ({
    jobId: "order-8812-summary",
    contentHash: "h-1",
    holder: "holder-1",
    nowMs: t0,
    heldUntilMs: (facts.nowMs ?? t0) + holdMs,
    deadlineAtMs: t0 + 3_600_000,
    enqueuedAtMs: t0,
    lane: "bg",
    worker: "worker-1",
    ...facts,
  }),

  /** A row that says no more than a row must. */
  bareRow: (facts: Partial<JobRow> = {}): JobRow => ({
    ...noProgress,
    jobId: "order-8812-summary",
    format: 1,
    fence: 1,
    givenBack: 0,
    cancelAsked: false,
    announced: [],
    unannounced: [],
    ...facts,
  }),

  /** A row with the first claim on it. */
  row: (facts: Partial<JobRow> = {}): JobRow => ({
    ...a.bareRow(),
    contentHash: "h-1",
    state: "running",
    holder: "holder-1",
    heldUntilMs: t0 + holdMs,
    deadlineAtMs: t0 + 3_600_000,
    enqueuedAtMs: t0,
    startedAtMs: t0,
    stage: "waiting",
    stageAtMs: t0,
    stageBefore: "queued",
    lane: "bg",
    worker: "worker-1",
    ...facts,
  }),

  meta: (facts: Partial<ReplyMeta> = {}): ReplyMeta => ({
    ...noMeta,
    model: "fast-text",
    attempts: 1,
    deliveries: 1,
    worker: "worker-1",
    workerVersion: "0.1.0",
    ...facts,
  }),
};

function target(modelId: string, region: string) {
  return { modelId, region, limit: { start: 20, max: 60 }, maxTokens: 4_096 };
}

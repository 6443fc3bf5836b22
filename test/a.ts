/** Builders: each test states the facts that differ, these supply the rest. */
import type { Envelope } from "../lib/core/envelope.ts";
import type { Delivery, Job } from "../lib/core/job.ts";

export const t0 = Date.UTC(2026, 10, 29, 12);

export const a = {
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
};

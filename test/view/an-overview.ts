/** Builders of what is shown: each test states the facts that differ. */
import type { JobView, LedgerView, Overview } from "../../lib/core/overview.ts";
import { t0 } from "../a.ts";

export const an = {
  overview: (facts: Partial<Overview> = {}): Overview => ({
    atMs: t0,
    lanes: [
      { lane: "rt", depth: { visible: 0, hidden: 0 }, deadLetters: { visible: 0, hidden: 0 } },
      { lane: "bg", depth: { visible: 0, hidden: 0 }, deadLetters: { visible: 0, hidden: 0 } },
      { lane: "bulk", depth: { visible: 0, hidden: 0 }, deadLetters: { visible: 0, hidden: 0 } },
    ],
    jobs: [],
    missing: "none",
    ledgers: [an.ledger()],
    chains: [],
    parked: { visible: 0, hidden: 0 },
    replies: { visible: 0, hidden: 0 },
    ...facts,
  }),

  job: (facts: Partial<JobView> = {}): JobView => ({
    jobId: "order-8812-summary",
    lane: "bg",
    stage: "waiting",
    enqueuedAtMs: t0 - 65_000,
    deadlineAtMs: t0 + 3_600_000,
    attempts: 1,
    requeues: 0,
    deliveries: 1,
    doing: "waiting",
    why: "all 20 leases of fast-text@us-west-2 are out",
    ...facts,
  }),

  ledger: (facts: Partial<LedgerView> = {}): LedgerView => ({
    name: "fast-text@us-west-2",
    kind: "target",
    inUse: 0,
    limit: 20,
    limitMax: 60,
    leases: [],
    fullFor: [],
    isOut: false,
    region: "us-west-2",
    modelId: "us.amazon.nova-lite-v1:0",
    ...facts,
  }),
};

/** What a reader sees of it: no tags, entities as what they stand for, white space as one blank. */
export function seen(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&#96;", "`")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ (?=[,.;])/g, "");
}

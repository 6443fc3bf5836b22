/** What plain `npm start` runs: one job for each thing that can happen to a job, and the script that makes it happen. */
import type { Job, JobOf } from "../../../lib/client/index.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import type { ScriptText } from "../../../lib/memory/bedrock-script.ts";

/** `shows` is for the person who watches. */
export type Sample = { readonly shows: string } & (
  | { readonly kind: "job"; readonly job: Job }
  /** Sent once its job has been answered. */
  | { readonly kind: "again"; readonly job: Job }
  /** Cancelled before it is sent. */
  | { readonly kind: "cancelled"; readonly job: Job }
  /** A body as some other sender might write it; with a jobId it is answered, whatever else is wrong with it. */
  | { readonly kind: "body"; readonly lane: Lane; readonly body: string; readonly jobId?: string }
);

/** Near enough to its deadline for an unknown model to be answered at its second delivery, not after 20 releases. */
const unknownModelDeadlineMs = 30_000;

export function firstSamples(nowMs: number): readonly Sample[] {
  const hello = ask("hello", "fast-text", "Say hello to Ada 👋");
  return [
    { kind: "job", shows: "an ordinary job", job: hello },
    { kind: "again", shows: "a duplicate, suppressed: the stored reply stands", job: hello },
    {
      kind: "job",
      shows: "rt lane, stream: somebody is waiting",
      job: {
        ...ask("urgent", "fast-text", "Translate “good morning” into Danish."),
        op: "converse_stream",
        lane: "rt",
      },
    },
    {
      kind: "job",
      shows: "bulk lane: whenever",
      job: { ...ask("overnight", "smart-text", "Sort these notes by urgency."), lane: "bulk" },
    },
    {
      kind: "job",
      shows: "asked again a second after a server error",
      job: ask("blip", "fast-text@us-east-1", "Name three rivers."),
    },
    {
      kind: "job",
      shows: "fallback: both targets of fast-text time out",
      job: ask("fallback", "fast-text", "Summarise order 8812."),
    },
    {
      kind: "job",
      shows: "requeued: throttled for 6 s, no other step, nobody pays for the wait",
      job: { ...ask("throttled", "smart-text@us-east-1", "Draft a reply to the customer."), fallback: "none" },
    },
    {
      kind: "job",
      shows: "left to other workers until its deadline: a model nobody configured",
      job: { ...ask("unknown-model", "fast-txt", "Say hello."), deadlineAt: nowMs + unknownModelDeadlineMs },
    },
    {
      kind: "job",
      shows: "not asked again: a request that Bedrock refuses",
      job: ask("refused-by-bedrock", "fast-text", "Say nothing."),
    },
    {
      kind: "job",
      shows: "no request is made: too late before it began",
      job: { ...ask("too-late", "fast-text", "Say goodbye."), deadlineAt: nowMs - 1_000 },
    },
    { kind: "cancelled", shows: "cancelled before it arrived", job: ask("cancelled", "fast-text", "Never mind.") },
    {
      kind: "body",
      shows: "a typo in a field, named in its reply",
      lane: "bg",
      jobId: "typo",
      body: JSON.stringify({ ...ask("typo", "fast-text", "Say hello."), lan: "rt" }),
    },
    { kind: "body", shows: "kept for an operator: a body that is no job", lane: "bg", body: "{ not: json" },
  ];
}

export const firstScript: ScriptText = {
  seed: 7,
  latency: { meanMs: 700, sigma: 0.4 },
  rules: [
    { when: { jobId: "blip", nth: { to: 1, of: "job" } }, do: { kind: "fail", error: "internal" } },
    { when: { jobId: "fallback", modelId: "us.amazon.*" }, do: { kind: "fail", error: "model-timeout" } },
    {
      when: { jobId: "throttled", nth: { to: 1, of: "job" } },
      do: { kind: "fail", error: "throttled", retryAfter: "6" },
    },
    { when: { jobId: "refused-by-bedrock" }, do: { kind: "fail", error: "invalid" } },
  ],
};

function ask(jobId: string, model: string, prompt: string): JobOf<"converse"> {
  return {
    jobId,
    model,
    op: "converse",
    params: { messages: [{ role: "user", content: [{ text: prompt }] }], inferenceConfig: { maxTokens: 200 } },
  };
}

import { describe, expect, test } from "vitest";
import type { JobRow } from "../../lib/core/claim.ts";
import { whyOpen } from "../../lib/core/why-open.ts";
import type { LedgerAt, Standing } from "../../lib/core/why-open.ts";
import { a, t0 } from "../a.ts";

const step = "fast-text@us-west-2";
const row = a.bareRow();
const running: Partial<JobRow> = { state: "running", heldUntilMs: t0 + 20_000, step };
const queued: Partial<JobRow> = { state: "queued", givenBack: 1, step };
const room: LedgerAt = { inUse: 3, limit: 20, isOut: false };

type Facts = { readonly lanePausedUntilMs?: number; readonly budgetUntilMs?: number; readonly at?: Partial<LedgerAt> };
type Row = [
  says: string,
  row: { readonly [Name in keyof JobRow]?: JobRow[Name] | undefined },
  facts: Facts,
  standing: Standing,
];

const rows: Row[] = [
  [
    "a job whose request is at a target",
    { ...running, stage: "attempt=2/4" },
    {},
    { doing: "asking", why: "fast-text@us-west-2 works on it, attempt 2 of 4" },
  ],
  [
    "a job that somebody wants cancelled while it runs",
    { ...running, stage: "attempt=1/4", cancelAsked: true },
    {},
    {
      doing: "asking",
      why: "fast-text@us-west-2 works on it, attempt 1 of 4; its worker has been asked to cancel it",
    },
  ],
  [
    "a job between two attempts",
    { ...running, stage: "backoff" },
    {},
    { doing: "backoff", why: "an attempt at fast-text@us-west-2 failed; it is asked again in a moment" },
  ],
  [
    "a job that waits for a lease of a full limit",
    { ...running, stage: "waiting" },
    { at: { inUse: 20 } },
    { doing: "waiting", why: "all 20 leases of fast-text@us-west-2 are out" },
  ],
  [
    "a job that waits where a lease was free when it was looked at",
    { ...running, stage: "waiting" },
    {},
    { doing: "waiting", why: "waits for a lease on fast-text@us-west-2" },
  ],
  [
    "a job that waits at a step of which nothing is known",
    { ...running, stage: "waiting", step: "gone@away" },
    {},
    { doing: "waiting", why: "waits for a lease on gone@away" },
  ],
  [
    "a job that waits at a target which an operator has taken out",
    { ...running, stage: "waiting" },
    { at: { isOut: true, paused: { untilMs: t0 + 1 } } },
    { doing: "waiting", why: "fast-text@us-west-2 has been taken out by an operator" },
  ],
  [
    "a job that waits at a paused target",
    { ...running, stage: "waiting" },
    { at: { paused: { untilMs: t0 + 1 }, inUse: 20 } },
    { doing: "waiting", why: "fast-text@us-west-2 is paused", untilMs: t0 + 1 },
  ],
  [
    "a job that waits at a target whose pause has just ended",
    { ...running, stage: "waiting" },
    { at: { paused: { untilMs: t0 } } },
    { doing: "waiting", why: "waits for a lease on fast-text@us-west-2" },
  ],
  [
    "a job that waits at an open breaker",
    { ...running, stage: "waiting" },
    { at: { breaker: { kind: "open", openUntilMs: t0 + 9_000 }, inUse: 20 } },
    { doing: "waiting", why: "the breaker of fast-text@us-west-2 is open", untilMs: t0 + 9_000 },
  ],
  [
    "a job of which the row tells no more than its claim",
    { state: "running", heldUntilMs: t0 + 20_000, stage: "waiting" },
    {},
    { doing: "claimed", why: "a worker has just begun with it" },
  ],
  [
    "a job that is about to be cancelled as it begins",
    { ...running, stage: "queued", cancelAsked: true },
    {},
    { doing: "claimed", why: "a worker has just begun with it; its worker has been asked to cancel it" },
  ],
  [
    "a job at a step that another version of the worker named no attempt of",
    { ...running, stage: "last attempt=1/4 or so" },
    {},
    { doing: "claimed", why: "a worker has just begun with it" },
  ],
  [
    "a job at an attempt that its row does not place",
    { ...running, stage: "attempt=1/4", step: undefined },
    {},
    { doing: "asking", why: "a step works on it, attempt 1 of 4" },
  ],
  [
    "a job whose worker never gave it back",
    { ...running, stage: "attempt=1/4", heldUntilMs: t0 - 2_001 },
    {},
    { doing: "abandoned", why: "its worker died or was frozen; its message comes again by itself" },
  ],
  [
    "a requeued job, with the cause",
    { ...queued, notBeforeMs: t0 + 5_000, cause: "capacity" },
    {},
    {
      doing: "requeued",
      why: "no step had room for it: their leases were out, or Bedrock throttled",
      untilMs: t0 + 5_000,
    },
  ],
  [
    "a requeued job, by a worker of another version with a cause of its own",
    { ...queued, notBeforeMs: t0 + 5_000, cause: "toString" },
    {},
    { doing: "requeued", why: "it was handed back", untilMs: t0 + 5_000 },
  ],
  [
    "a requeued job of a lane that is paused for longer",
    { ...queued, notBeforeMs: t0 + 5_000, lane: "bg" },
    { lanePausedUntilMs: t0 + 5_000 },
    { doing: "requeued", why: "its lane bg is paused", untilMs: t0 + 5_000 },
  ],
  [
    "a job of a paused lane that was handed back without a delay",
    { ...queued, lane: "bg" },
    { lanePausedUntilMs: t0 + 1 },
    { doing: "requeued", why: "its lane bg is paused", untilMs: t0 + 1 },
  ],
  [
    "a job that waits though nobody has claimed or released it",
    { state: "queued", fence: 0, releases: 0, notBeforeMs: t0 + 1 },
    {},
    { doing: "requeued", why: "it was handed back", untilMs: t0 + 1 },
  ],
  [
    "a requeued job of a lane that has no money left, whatever it was handed back for",
    { ...queued, notBeforeMs: t0 + 5_000, lane: "bg", cause: "quota" },
    { budgetUntilMs: t0 + 60_000 },
    { doing: "requeued", why: "its lane bg has spent its money for the day", untilMs: t0 + 60_000 },
  ],
  [
    "one of which the operator has paused the lane too",
    { ...queued, lane: "bg" },
    { budgetUntilMs: t0 + 60_000, lanePausedUntilMs: t0 + 1 },
    { doing: "requeued", why: "its lane bg is paused", untilMs: t0 + 1 },
  ],
  [
    "a job of which not even the lane is known, in a paused one",
    queued,
    { lanePausedUntilMs: t0 + 1 },
    { doing: "requeued", why: "its lane is paused", untilMs: t0 + 1 },
  ],
  [
    "a job whose worker has missed a heartbeat, as it began",
    { ...running, stage: "queued", heldUntilMs: t0 + 17_999 },
    {},
    {
      doing: "claimed",
      why: "a worker has begun with it; its worker has missed a heartbeat: if it died, the job comes again by itself",
    },
  ],
  [
    "a job whose worker has missed a heartbeat, at Bedrock",
    { ...running, stage: "attempt=1/4", heldUntilMs: t0 + 1 },
    {},
    {
      doing: "asking",
      why: "fast-text@us-west-2 works on it, attempt 1 of 4; its worker has missed a heartbeat: if it died, the job comes again by itself",
    },
  ],
  [
    "a job whose worker is as late as a heartbeat may be",
    { ...running, stage: "queued", heldUntilMs: t0 + 18_000 },
    {},
    { doing: "claimed", why: "a worker has just begun with it" },
  ],
  [
    "a running job of which no stage is known",
    { ...running, stage: undefined },
    {},
    { doing: "claimed", why: "a worker has just begun with it" },
  ],
  [
    "a job at an attempt in the words of another version, longer",
    { ...running, stage: "attempt=1/4 again" },
    {},
    { doing: "claimed", why: "a worker has just begun with it" },
  ],
  [
    "a requeued job of a lane whose pause ends before its own",
    { ...queued, notBeforeMs: t0 + 5_000, cause: "quota" },
    { lanePausedUntilMs: t0 + 4_999 },
    { doing: "requeued", why: "the minute's quota of its target was spent", untilMs: t0 + 5_000 },
  ],
  [
    "a job whose delay is over",
    { ...queued, notBeforeMs: t0, cause: "quota" },
    {},
    { doing: "due", why: "its time has come; SQS delivers it next, or a worker has it in hand already" },
  ],
  [
    "a job whose model nobody knew, once",
    { state: "queued", fence: 0, releases: 1 },
    {},
    {
      doing: "released",
      why: "no worker that saw it knows its model, once so far; add it to the config, or cancel the job",
    },
  ],
  [
    "a job whose model nobody knew, several times",
    { state: "queued", fence: 0, releases: 3 },
    {},
    {
      doing: "released",
      why: "no worker that saw it knows its model, 3 times so far; add it to the config, or cancel the job",
    },
  ],
  [
    "a job that was released once and has run since",
    { ...queued, releases: 1, notBeforeMs: t0 + 1, cause: "bell" },
    {},
    { doing: "requeued", why: "the invocation was about to end while it ran", untilMs: t0 + 1 },
  ],
];

/** What each cause is to a person. */
const causes: readonly [cause: string, why: RegExp][] = [
  ["capacity", /no step had room/],
  ["quota", /quota .* was spent/],
  ["paused", /step .* was paused/],
  ["budget", /spent its money/],
  ["circuit_open", /breakers .* open/],
  ["taken-out", /operator .* out/],
  ["transient", /error that passes/],
  ["hung", /no answer in time/],
  ["bell", /invocation was about to end/],
  ["no-time", /too little time left/],
  ["memory", /no room in its worker's memory/],
  ["trouble", /trouble; the log/],
];

test.each(causes)("a job that was handed back for %s says so", (cause, why) => {
  const around = { nowMs: t0, lanePausedUntilMs: undefined, ledgerAt: () => undefined };
  expect(whyOpen({ ...row, ...queued, cause, notBeforeMs: t0 + 1 }, around).why).toMatch(why);
});

describe("why a job has no reply yet", () => {
  test.each(rows)("%s", (_says, facts, { at = {}, ...paused }, standing) => {
    const ledgerAt = (name: string) => (name === step ? { ...room, ...at } : undefined);
    const known = Object.entries(facts).filter(([, value]) => value !== undefined);
    const around = { nowMs: t0, lanePausedUntilMs: undefined, ...paused, ledgerAt };
    expect(whyOpen({ ...row, ...Object.fromEntries(known) }, around)).toEqual(standing);
  });
});

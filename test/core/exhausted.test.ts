import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorOf } from "../../lib/core/chain-error.ts";
import type { ChainEnd, Exhausted } from "../../lib/core/exhausted.ts";
import { exhausted } from "../../lib/core/exhausted.ts";
import type { StepOutcome } from "../../lib/core/hope.ts";
import type { Failure, FailureKind } from "../../lib/core/failure.ts";
import type { SkipReason } from "../../lib/core/plan.ts";
import type { ReplyError } from "../../lib/core/reply.ts";
import { t0 } from "../a.ts";

/** A bg job with an hour left, at the end of its first walk in its first delivery. */
const calm: ChainEnd = {
  lane: "bg",
  nowMs: t0,
  walk: 1,
  requeues: 0,
  bellCuts: 0,
  lifeAttemptsLeft: 8,
  deadlineLeftMs: 3_600_000,
  invocationLeftMs: 200_000,
  attemptMs: 9_000,
  sleptMs: 0,
};
/** The same for somebody who waits. */
const rt: Partial<ChainEnd> = { lane: "rt", deadlineLeftMs: 50_000, invocationLeftMs: 60_000 };

const a = "fast-text@us-west-2";
const b = "fast-text@us-east-1";
const failed = (kind: FailureKind, facts: Partial<Failure> = {}, step = a): StepOutcome => ({
  step,
  kind: "failed",
  failure: { kind, name: "SomeException", ...facts },
  atMs: t0,
});
const skipped = (reason: SkipReason, step = a): StepOutcome => ({ step, kind: "skipped", reason });
const full = (step = a): StepOutcome => ({ step, kind: "no-lease" });
const unleased = (waitMs: number, step = a): StepOutcome => ({ step, kind: "no-lease", untilMs: t0 + waitMs });
const spent = (waitMs: number, step = a): StepOutcome => ({ step, kind: "quota-spent", untilMs: t0 + waitMs });
const above = (step = a): StepOutcome => ({ step, kind: "above-quota", tokensMax: 6_000 });
const paused = (waitMs: number, step = a) => skipped({ kind: "paused", untilMs: t0 + waitMs }, step);
const budget = (waitMs: number, step = a) => skipped({ kind: "budget-spent", untilMs: t0 + waitMs }, step);
const open = (waitMs: number, step = a) => skipped({ kind: "breaker-open", untilMs: t0 + waitMs }, step);
const out = (step = a) => skipped({ kind: "taken-out" }, step);
const estimated = (step = a) => skipped({ kind: "prompt-too-long", estimated: true }, step);
const tooLong = (step = a) => skipped({ kind: "prompt-too-long", estimated: false }, step);
const noHeadroom = (step = a) => skipped({ kind: "no-headroom" }, step);
const cut: StepOutcome = { step: a, kind: "cut" };
const noTime = (step = a): StepOutcome => ({ step, kind: "no-time" });

/** What follows, in one line: `requeue capacity`, `requeue paused in 60000`, `walk fast-text@us-west-2 in 0`, `fail no_capacity`. */
function follows(tried: readonly StepOutcome[], at: Partial<ChainEnd> = {}): string {
  const next: Exhausted = exhausted(tried, { ...calm, ...at });
  switch (next.kind) {
    case "walk-again":
      return `walk ${next.steps.join(" ")} in ${next.delayMs}`;
    case "requeue":
      return `requeue ${next.cause}${next.knownWaitMs === undefined ? "" : ` in ${next.knownWaitMs}`}`;
    case "fail": {
      const { code, retryable, retryAfterMs } = next.error;
      return `fail ${code}${retryable ? "" : " for good"}${retryAfterMs === undefined ? "" : ` until ${retryAfterMs}`}`;
    }
  }
}

type Row = [says: string, tried: StepOutcome[], at: Partial<ChainEnd>, follows: string];

describe("when the chain is through, a patient job", () => {
  test.each<Row>([
    ["that found no lease goes back to the queue", [full(), full(b)], {}, "requeue capacity"],
    ["that needed headroom and had none too", [noHeadroom()], {}, "requeue capacity"],
    ["that was throttled too", [failed("throttled")], {}, "requeue capacity"],
    [
      "that was told how long the throttle lasts, until then",
      [failed("throttled", { retryAfterMs: 40_000 })],
      {},
      "requeue capacity in 40000",
    ],
    [
      "counts that from when it was told",
      [failed("throttled", { retryAfterMs: 40_000 })],
      { nowMs: t0 + 15_000 },
      "requeue capacity in 25000",
    ],
    [
      "and not below nothing",
      [failed("throttled", { retryAfterMs: 4_000 })],
      { nowMs: t0 + 15_000 },
      "requeue capacity in 0",
    ],
    ["whose model was loading goes back", [failed("not-ready")], {}, "requeue capacity"],
    ["whose day was spent comes back in 15 min", [failed("daily")], {}, "requeue paused in 900000"],
    ["or when the server says", [failed("daily", { retryAfterMs: 60_000 })], {}, "requeue paused in 60000"],
    ["that met only blips goes back", [failed("transient")], {}, "requeue transient"],
    ["that met only hung targets goes back", [failed("hung"), failed("hung", {}, b)], {}, "requeue hung"],
    ["that the bell cut goes back at once", [cut], { invocationLeftMs: 0, bellCuts: 1 }, "requeue bell in 0"],
    ["that no attempt fitted in goes back at once", [noTime()], { invocationLeftMs: 8_000 }, "requeue no-time in 0"],
    [
      "whose breakers are all open comes back with the earliest probe",
      [open(30_000), open(9_000, b)],
      {},
      "requeue circuit_open in 9000",
    ],
    ["does not sleep for a probe, however near", [open(1_000)], {}, "requeue circuit_open in 1000"],
    [
      "whose steps are all paused comes back with the earliest",
      [paused(60_000), paused(20_000, b)],
      {},
      "requeue paused in 20000",
    ],
    ["sleeps through a short pause", [paused(60_000), paused(4_000, b)], {}, `walk ${a} ${b} in 4000`],
    ["also when the pause came with the refusal of a lease", [unleased(4_000)], {}, `walk ${a} in 4000`],
    ["whose lane has spent its money comes back tomorrow", [budget(60_000)], {}, "requeue budget in 60000"],
    ["whatever its other steps would do", [failed("transient"), budget(60_000, b)], {}, "requeue budget in 60000"],
    ["sleeps through the last seconds of a day", [budget(4_000), budget(4_000, b)], {}, `walk ${a} ${b} in 4000`],
    [
      "fails near its deadline by the budget's name",
      [budget(60_000)],
      { deadlineLeftMs: 10_000 },
      "fail budget_exhausted until 60000",
    ],
    ["sleeps a second at least: the pause is read once a second", [paused(1)], {}, `walk ${a} in 1000`],
    ["whose quota is spent goes back until it is not, however soon", [spent(300)], {}, "requeue quota in 300"],
    ["or for the step that is free first", [spent(60_000), paused(20_000, b)], {}, "requeue paused in 20000"],
    ["above the whole quota of one step waits for another", [above(), full(b)], {}, "requeue capacity"],
    ["above the whole quota of every step fails at once", [above(), above(b)], {}, "fail no_capacity for good"],
    ["also where the other steps can never serve it", [failed("context"), above(b)], {}, "fail no_capacity for good"],
    ["sleeps 5 s", [paused(5_000)], {}, `walk ${a} in 5000`],
    [
      "and does not walk again where nothing can have changed",
      [paused(5_000), skipped({ kind: "op-not-served" }, b)],
      {},
      `walk ${a} in 5000`,
    ],
    ["is not ended by cuts of earlier deliveries", [full()], { bellCuts: 3 }, "requeue capacity"],
    ["and no longer", [paused(5_001)], {}, "requeue paused in 5001"],
    [
      "sleeps only where an attempt still fits in",
      [paused(5_000)],
      { invocationLeftMs: 13_999 },
      "requeue paused in 5000",
    ],
    ["and within the backoff of a delivery", [paused(5_000)], { sleptMs: 15_001 }, "requeue paused in 5000"],
    [
      "whose steps an operator has taken out goes back, for they may come again",
      [out(), out(b)],
      {},
      "requeue taken-out",
    ],
    ["waits for whatever else may serve it first", [out(), paused(600_000, b)], {}, "requeue paused in 600000"],
    [
      "fails when no step can ever serve it",
      [failed("target"), failed("target", {}, b)],
      {},
      "fail target_unavailable for good",
    ],
  ])("%s", (_says, tried, at, next) => expect(follows(tried, at)).toBe(next));
});

describe("when the chain is through, a job that somebody waits for", () => {
  test.each<Row>([
    ["walks the chain a second time for a lease", [full(), full(b)], { walk: 1 }, `walk ${a} ${b} in 0`],
    ["and a third", [full()], { walk: 2 }, `walk ${a} in 0`],
    ["is told when an operator has taken out all its steps", [out()], {}, "fail target_unavailable until 5000"],
    ["but not while another step is only full", [out(), full(b)], { walk: 3 }, "fail no_capacity until 5000"],
    ["and then has no capacity", [full()], { walk: 3 }, "fail no_capacity until 5000"],
    [
      "has none where no attempt would fit in either",
      [full()],
      { invocationLeftMs: 8_999 },
      "fail no_capacity until 5000",
    ],
    ["waits before it asks for headroom again", [noHeadroom()], {}, `walk ${a} in 2000`],
    ["unless it has waited in a line already", [noHeadroom(), full(b)], {}, `walk ${a} ${b} in 0`],
    ["stood in no line where the ledger is paused", [noHeadroom(), unleased(3_000, b)], {}, `walk ${a} ${b} in 2000`],
    ["sleeps until a breaker's probe within 2 s", [open(2_000)], {}, `walk ${a} in 2000`],
    ["and fails where the earliest is later", [open(30_000), open(2_001, b)], {}, "fail circuit_open until 2001"],
    ["sleeps through a short pause", [paused(3_000)], {}, `walk ${a} in 3000`],
    ["sleeps until the quota is free again", [spent(3_000)], {}, `walk ${a} in 3000`],
    ["a second at least, for it is not alone", [spent(110)], {}, `walk ${a} in 1000`],
    ["goes back where that is too long", [spent(20_000)], {}, "requeue quota in 20000"],
    ["and fails where it is too long for that too", [spent(45_000)], {}, "fail no_capacity until 45000"],
    ["goes back for a longer one that leaves time", [paused(39_999)], {}, "requeue paused in 39999"],
    ["and fails for one that does not", [paused(40_000)], {}, "fail no_capacity until 40000"],
    [
      "fails at once when its lane has spent its money",
      [budget(86_400_000)],
      {},
      "fail budget_exhausted until 86400000",
    ],
    ["and goes back where midnight leaves time", [budget(39_999)], {}, "requeue budget in 39999"],
    ["goes back for a throttle", [failed("throttled")], {}, "requeue capacity"],
    [
      "fails for one that outlasts it",
      [failed("throttled", { retryAfterMs: 60_000 })],
      {},
      "fail no_capacity until 60000",
    ],
    ["goes back for a blip", [failed("transient")], {}, "requeue transient"],
    [
      "but not without time for a second delivery",
      [failed("transient")],
      { deadlineLeftMs: 15_000 },
      "fail provider_error",
    ],
    ["and just with it", [failed("transient")], { deadlineLeftMs: 15_001 }, "requeue transient"],
    ["fails where every target hangs", [failed("hung"), failed("hung", {}, b)], {}, "fail attempt_timeout"],
    ["goes back at once when the bell cuts it", [cut], { invocationLeftMs: 0, bellCuts: 1 }, "requeue bell in 0"],
    ["fails when its day is spent", [failed("daily")], {}, "fail no_capacity until 900000"],
  ])("%s", (_says, tried, at, next) => expect(follows(tried, { ...rt, ...at })).toBe(next));
});

describe("of several outcomes the most hopeful decides", () => {
  test.each<Row>([
    ["a blip beside a denied target", [failed("target"), failed("transient", {}, b)], {}, "requeue transient"],
    ["a full step beside one that cannot serve", [skipped({ kind: "op-not-served" }), full(b)], {}, "requeue capacity"],
    [
      "a short throttle beside a long pause",
      [paused(60_000), failed("throttled", { retryAfterMs: 9_000 }, b)],
      {},
      "requeue capacity in 9000",
    ],
    [
      "an unknown wait, of 5 s at first, beside a longer one",
      [paused(9_000), failed("transient", {}, b)],
      {},
      "requeue transient",
    ],
    [
      "but the known one, when the unknown has doubled past it",
      [paused(9_000), failed("transient", {}, b)],
      { requeues: 1 },
      "requeue paused in 9000",
    ],
    ["the chain's order, when two are alike", [failed("hung"), failed("transient", {}, b)], {}, "requeue hung"],
    ["what may go back, for somebody who waits", [failed("hung"), failed("transient", {}, b)], rt, "requeue transient"],
    [
      "a pause to sleep through beside a failure that is not asked again",
      [failed("transient"), paused(3_000, b)],
      {},
      `walk ${b} in 3000`,
    ],
    ["the shorter of two sleeps", [open(2_000), paused(1_500, b)], rt, `walk ${a} ${b} in 1500`],
    ["a line for a lease before a sleep", [full(), paused(1_500, b)], rt, `walk ${a} ${b} in 0`],
    [
      "a throttle is not walked again: it had its attempts",
      [failed("throttled", { retryAfterMs: 10 })],
      {},
      "requeue capacity in 10",
    ],
    [
      "the last outcome of a step that was walked twice",
      [full(), full(b), failed("target")],
      { ...rt, walk: 3 },
      "fail no_capacity until 5000",
    ],
    [
      "all of it hopeless: a later deadline helps first",
      [skipped({ kind: "too-slow" }), failed("context", {}, b)],
      {},
      "fail deadline_exceeded",
    ],
    ["then a shorter prompt", [failed("target"), failed("context", {}, b)], {}, "fail context_too_small for good"],
    [
      "a window known to be too small counts as one",
      [failed("target"), tooLong(b)],
      {},
      "fail context_too_small for good",
    ],
    [
      "then nothing but an operator",
      [failed("target"), skipped({ kind: "feature-missing", feature: "tools" }, b)],
      {},
      "fail target_unavailable for good",
    ],
    ["a refused request before all", [failed("fatal"), failed("context", {}, b)], {}, "fail provider_error for good"],
  ])("%s", (_says, tried, at, next) => expect(follows(tried, at)).toBe(next));
});

describe("an estimate rules no step out", () => {
  test.each<Row>([
    [
      "what only it has skipped is tried when nothing else is left",
      [estimated(), failed("target", {}, b)],
      {},
      `walk ${a} in 0`,
    ],
    ["by itself too", [estimated()], {}, `walk ${a} in 0`],
    ["but once", [estimated(), failed("target", {}, b)], { walk: 2 }, "fail context_too_small for good"],
    ["and not while a larger window may come free", [estimated(), full(b)], {}, "requeue capacity"],
    ["it is walked with the others", [estimated(), full(b)], rt, `walk ${a} ${b} in 0`],
    [
      "a window that has refused is not tried again",
      [tooLong(), failed("target", {}, b)],
      {},
      "fail context_too_small for good",
    ],
  ])("%s", (_says, tried, at, next) => expect(follows(tried, at)).toBe(next));
});

describe("nothing lasts", () => {
  test.each<Row>([
    [
      "10 s before its deadline a job fails with the true reason",
      [failed("transient")],
      { deadlineLeftMs: 10_000 },
      "fail provider_error",
    ],
    ["with a bit more it goes back", [failed("transient")], { deadlineLeftMs: 10_001 }, "requeue transient"],
    ["the reason may be the capacity", [full()], { deadlineLeftMs: 10_000 }, "fail no_capacity until 5000"],
    ["or the breakers", [open(30_000)], { deadlineLeftMs: 10_000 }, "fail circuit_open until 30000"],
    ["or a hung target", [failed("hung")], { deadlineLeftMs: 10_000 }, "fail attempt_timeout"],
    ["or the bell", [cut], { deadlineLeftMs: 10_000, invocationLeftMs: 0, bellCuts: 1 }, "fail attempt_timeout"],
    ["or the time itself", [noTime()], { deadlineLeftMs: 10_000, invocationLeftMs: 0 }, "fail deadline_exceeded"],
    ["a short pause is slept even then", [paused(3_000)], { deadlineLeftMs: 10_000 }, `walk ${a} in 3000`],
    ["the third cut of the bell is the last", [cut], { bellCuts: 3 }, "fail attempt_timeout"],
    ["also beside a step that could wait", [full(b), cut], { bellCuts: 3 }, "fail attempt_timeout"],
    ["the second is not", [cut], { bellCuts: 2, invocationLeftMs: 0 }, "requeue bell in 0"],
    [
      "a spent life ends with the true error",
      [failed("transient", { name: "InternalServerException" })],
      { lifeAttemptsLeft: 0 },
      "fail provider_error",
    ],
    ["a life that the bell has spent too", [cut], { lifeAttemptsLeft: 0, bellCuts: 1 }, "fail attempt_timeout"],
    ["one attempt left is a life", [failed("transient")], { lifeAttemptsLeft: 1 }, "requeue transient"],
  ])("%s", (_says, tried, at, next) => expect(follows(tried, at)).toBe(next));
});

function errorIn(next: Exhausted): ReplyError {
  if (next.kind !== "fail") throw new Error(`the chain goes on: ${next.kind}`);
  return next.error;
}
const messageOf = (tried: readonly StepOutcome[], at: Partial<ChainEnd> = {}) => {
  const next = exhausted(tried, { ...calm, deadlineLeftMs: 10_000, ...at });
  return next.kind === "fail" ? next.error.message : next.kind;
};

describe("an error tells the person who reads it at night what happened, where, and what to do", () => {
  test.each<[says: string, tried: StepOutcome[], message: string]>([
    [
      "no capacity",
      [
        full(),
        paused(60_000, b),
        failed("throttled", { name: "ThrottlingException", status: 429 }, "smart-text@us-west-2"),
      ],
      "no step had room: fast-text@us-west-2 limit full, fast-text@us-east-1 paused, smart-text@us-west-2 ThrottlingException (429); raise the targets' limits or quotas, or send the job again with a later deadline",
    ],
    [
      "a spent budget",
      [budget(60_000), budget(60_000, b)],
      "the lane has spent its money for the day; raise its dailyBudgetUsd, or budgetUsd on its row in the lease table, or send the job again after midnight UTC",
    ],
    [
      "one that was spent by the job itself",
      [failed("hung", { name: "AttemptTimeout" }), budget(60_000, b)],
      "the lane has spent its money for the day, after fast-text@us-west-2 AttemptTimeout; raise its dailyBudgetUsd, or budgetUsd on its row in the lease table, or send the job again after midnight UTC",
    ],
    [
      "limits and quotas",
      [
        { step: a, kind: "no-lease", ledger: "group:nova" },
        spent(60_000, b),
        { step: "smart-text@us-west-2", kind: "above-quota", tokensMax: 6_000 },
      ],
      "no step had room: fast-text@us-west-2 limit of group:nova full, fast-text@us-east-1 quota of the minute spent, smart-text@us-west-2 takes 6000 tokensPerMinute; raise the targets' limits or quotas, or send the job again with a later deadline",
    ],
    [
      "a prompt above every quota",
      [above()],
      "the prompt, with the longest answer it allows, is more than any step takes in a minute: fast-text@us-west-2 takes 6000 tokensPerMinute; shorten it, ask for fewer tokens, or raise tokensPerMinute with the quota",
    ],
    [
      "open breakers",
      [open(60_000)],
      "every target that could serve the job fails too often: fast-text@us-west-2 breaker open; look at their errors, then send the job again",
    ],
    [
      "a provider's error, with its name",
      [failed("transient", { name: "InternalServerException", status: 500 })],
      "fast-text@us-west-2 kept failing: InternalServerException (500); look at the region's health, or send the job again later",
    ],
    [
      "a hung target",
      [failed("hung", { name: "AttemptTimeout" })],
      "fast-text@us-west-2 gave no answer in the time of an attempt: AttemptTimeout; ask for fewer tokens, or send the job again later",
    ],
    [
      "a cut at the deadline's edge",
      [cut, noTime(b)],
      "the attempt outlasted its invocation and no other may follow: fast-text@us-west-2 cut by the invocation's end, fast-text@us-east-1 not begun; ask for fewer tokens, or send the job again with a later deadline",
    ],
    [
      "no time",
      [noTime()],
      "the deadline is too near for an attempt: fast-text@us-west-2 not begun; send the job again with a later deadline",
    ],
    [
      "too slow",
      [skipped({ kind: "too-slow" })],
      "no step can answer in the time left: fast-text@us-west-2 too slow for the time left; send the job again with a later deadline",
    ],
    [
      "a window too small",
      [tooLong(), failed("context", { name: "ValidationException", status: 400, text: "prompt is too long" }, b)],
      "the prompt fits no step's context window: fast-text@us-west-2 window too small, fast-text@us-east-1 ValidationException (400), whose words are in error.providerMessage; shorten it, ask for fewer tokens, or add a step with a larger window",
    ],
    [
      "no target",
      [
        skipped({ kind: "op-not-served" }),
        skipped({ kind: "feature-missing", feature: "tools" }, b),
        failed("target", { name: "AccessDeniedException", status: 403, text: "no access" }, "smart-text@us-west-2"),
      ],
      "no step can serve this job: fast-text@us-west-2 does not serve the op, fast-text@us-east-1 has no tools, smart-text@us-west-2 AccessDeniedException (403), whose words are in error.providerMessage; check model access, model ids and regions in the config",
    ],
    [
      "a refused request",
      [failed("fatal", { name: "ValidationException", status: 400, text: "roles must alternate" })],
      "fast-text@us-west-2 refused the request: ValidationException (400), whose words are in error.providerMessage; correct the params and send them under a new jobId",
    ],
  ])("%s", (_says, tried, message) => expect(messageOf(tried)).toBe(message));

  test.each<[says: string, tried: StepOutcome[], message: string]>([
    [
      "targets that an operator has taken out",
      [out()],
      "an operator has taken out every target that could serve the job: fast-text@us-west-2 taken out; bring one back, or send the job again later",
    ],
    [
      "a pause that a lease met, and a lack of headroom",
      [unleased(60_000), noHeadroom(b)],
      "no step had room: fast-text@us-west-2 paused, fast-text@us-east-1 no headroom; raise the targets' limits or quotas, or send the job again with a later deadline",
    ],
    [
      "a refusal without words",
      [failed("fatal", { name: "ValidationException", status: 400 })],
      "fast-text@us-west-2 refused the request: ValidationException (400); correct the params and send them under a new jobId",
    ],
  ])("%s", (_says, tried, message) => expect(messageOf(tried, { ...rt, walk: 3 })).toBe(message));

  test.each<[says: string, tried: StepOutcome[], kind: string]>([
    ["a full limit is a want of capacity", [full()], "capacity"],
    ["so is a prompt above every quota", [above()], "capacity"],
    ["a throttle is one", [failed("throttled")], "throttled"],
    ["an open breaker is one", [open(60_000)], "breaker"],
    ["targets that are out are the targets'", [out()], "target"],
    ["a cut is a target that hung", [cut], "hung"],
  ])("%s, by its kind", (_says, tried, kind) =>
    expect(exhausted(tried, { ...calm, ...rt, walk: 3, deadlineLeftMs: 9_000 })).toMatchObject({
      kind: "fail",
      error: { kind },
    }),
  );

  test("a spent budget is told by its own kind, so that nobody takes it for a full limit", () =>
    expect(exhausted([budget(60_000)], { ...calm, deadlineLeftMs: 10_000 })).toMatchObject({
      error: { code: "budget_exhausted", kind: "budget", retryable: true, retryAfterMs: 60_000 },
    }));

  test("the wait that a server told is counted from when it was", () =>
    expect(
      exhausted([failed("transient", { retryAfterMs: 5_000 })], { ...calm, nowMs: t0 + 2_000, deadlineLeftMs: 9_000 }),
    ).toMatchObject({ kind: "fail", error: { retryAfterMs: 3_000 } }));

  test("a single failure that ends a job has an error of its own", () => {
    const kinds: FailureKind[] = ["throttled", "daily", "not-ready", "transient", "hung", "target", "context", "fatal"];
    const errors = kinds.map((kind) => errorOf({ kind, name: "X", retryAfterMs: 7 }, a));
    expect(errors.map(({ code, kind, retryable, retryAfterMs }) => [kind, code, retryable, retryAfterMs])).toEqual([
      ["throttled", "no_capacity", true, 7],
      ["daily", "no_capacity", true, 7],
      ["not-ready", "no_capacity", true, 7],
      ["transient", "provider_error", true, 7],
      ["hung", "attempt_timeout", true, undefined],
      ["target", "target_unavailable", false, undefined],
      ["context", "context_too_small", false, undefined],
      ["fatal", "provider_error", false, undefined],
    ]);
    expect(errors.every(({ message }) => message.includes(a) && message.includes("X"))).toBe(true);
  });

  test.each<FailureKind>(["fatal", "target", "context"])(
    "the provider's own words about a %s failure stand beside the message, cut to 300 characters",
    (kind) => {
      const failure = { kind, name: "X", text: "é".repeat(1_000) };
      const errors = [errorOf(failure, a), errorIn(exhausted([failed(kind, failure)], { ...calm, ...rt }))];
      for (const error of errors) {
        expect(error).toMatchObject({ kind, providerMessage: "é".repeat(300) });
        expect(error.message).not.toContain("é");
        expect(error.message).toContain("X, whose words are in error.providerMessage; ");
      }
    },
  );

  test("the message leads to no words where there are none", () => {
    const error = errorOf({ kind: "fatal", name: "X" }, a);
    expect(error).not.toHaveProperty("providerMessage");
    expect(error.message).not.toContain("providerMessage");
  });

  test("and they stay out where they are no help", () => {
    const kinds: FailureKind[] = ["throttled", "daily", "not-ready", "transient", "hung"];
    const errors = kinds.flatMap((kind) => [
      errorIn(exhausted([failed(kind, { text: "a secret" })], { ...calm, ...rt, walk: 3, deadlineLeftMs: 9_000 })),
      errorOf({ kind, name: "X", text: "a secret" }, a),
    ]);
    expect(JSON.stringify(errors)).not.toContain("a secret");
  });
});

describe("over all chains", () => {
  const wait = fc.integer({ min: -60_000, max: 1_000_000 });
  const reason: fc.Arbitrary<SkipReason> = fc.oneof(
    fc.record({ kind: fc.constantFrom("breaker-open", "paused", "budget-spent"), untilMs: wait.map((ms) => t0 + ms) }),
    fc.record({ kind: fc.constantFrom("no-headroom", "op-not-served", "too-slow", "taken-out") }),
    fc.record({ kind: fc.constant("prompt-too-long"), estimated: fc.boolean() }),
    fc.record({ kind: fc.constant("feature-missing"), feature: fc.constantFrom("tools", "documents") }),
  );
  const kind = fc.constantFrom<FailureKind>(
    "throttled",
    "daily",
    "not-ready",
    "transient",
    "hung",
    "target",
    "context",
  );
  const outcome = (step: string): fc.Arbitrary<StepOutcome> =>
    fc.oneof(
      reason.map((why) => skipped(why, step)),
      wait.map((ms) => unleased(ms, step)),
      wait.map((ms) => spent(ms, step)),
      fc.constantFrom(full(step), above(step), noTime(step), { ...cut, step }),
      fc
        .tuple(kind, fc.option(fc.nat(900_000)))
        .map(([failure, asked]) => failed(failure, asked === null ? {} : { retryAfterMs: asked }, step)),
    );
  const tried = fc
    .uniqueArray(fc.constantFrom(a, b, "smart-text@us-west-2", "smart-text@us-east-1"), { minLength: 1 })
    .chain((steps) => fc.tuple(...steps.map(outcome)));
  const at: fc.Arbitrary<ChainEnd> = fc.record({
    lane: fc.constantFrom("rt", "bg", "bulk"),
    nowMs: wait.map((ms) => t0 + ms),
    walk: fc.integer({ min: 1, max: 4 }),
    requeues: fc.nat(100),
    bellCuts: fc.nat(4),
    lifeAttemptsLeft: fc.integer({ min: 0, max: 12 }),
    deadlineLeftMs: fc.integer({ min: -10_000, max: 100_000 }),
    invocationLeftMs: fc.integer({ min: -5_000, max: 300_000 }),
    attemptMs: fc.integer({ min: 100, max: 300_000 }),
    sleptMs: fc.nat(25_000),
  });

  test("a throttled or transient job that can wait, with time left and attempts in its life, never ends as an error", () =>
    fc.assert(
      fc.property(
        tried,
        at,
        fc.constantFrom<FailureKind>("throttled", "not-ready", "transient", "daily", "hung"),
        (others, end, met) => {
          fc.pre(end.lane !== "rt" && end.lifeAttemptsLeft > 0 && end.deadlineLeftMs > 10_000 && end.bellCuts < 3);
          expect(exhausted([...others, failed(met, {}, "one@more")], end).kind).not.toBe("fail");
        },
      ),
      { numRuns: 1_000 },
    ));

  test("nobody sleeps longer than 5 s, past the deadline or past the bell, and somebody is always walked", () =>
    fc.assert(
      fc.property(tried, at, (chain, end) => {
        const next = exhausted(chain, end);
        if (next.kind !== "walk-again") return;
        expect(next.delayMs).toBeGreaterThanOrEqual(0);
        expect(next.delayMs).toBeLessThanOrEqual(5_000);
        expect(next.delayMs).toBeLessThan(end.deadlineLeftMs);
        expect(next.delayMs + end.attemptMs).toBeLessThanOrEqual(end.invocationLeftMs);
        expect(next.steps.length).toBeGreaterThan(0);
        expect(chain.map(({ step }) => step)).toEqual(expect.arrayContaining([...next.steps]));
      }),
      { numRuns: 1_000 },
    ));

  test("walking again ends: every further walk sleeps, or is one of three", () =>
    fc.assert(
      fc.property(tried, at, (chain, end) => {
        const next = exhausted(chain, end);
        expect(next.kind === "walk-again" && next.delayMs < 1_000 && end.walk >= 3).toBe(false);
      }),
      { numRuns: 1_000 },
    ));

  test("nothing is requeued with 10 s or less left", () =>
    fc.assert(
      fc.property(tried, at, (chain, end) => {
        fc.pre(end.deadlineLeftMs <= 10_000);
        expect(exhausted(chain, end).kind).not.toBe("requeue");
      }),
      { numRuns: 1_000 },
    ));
});

import { describe, expect, test } from "vitest";
import { phasesOf, timelineMarkup } from "../../lib/view/timeline.ts";
import type { Heard } from "../../lib/view/timeline.ts";
import { t0 } from "../a.ts";
import { seen } from "./an-overview.ts";

const at = (afterMs: number, kind: string, facts: Heard["facts"] = {}): Heard => ({ atMs: t0 + afterMs, kind, facts });
const stage = (afterMs: number, text: string) =>
  at(afterMs, "stage", { stage: text, model: "fast-text", target: "us-west-2" });

const life: readonly Heard[] = [
  at(0, "claimed", { fence: 1, queueMs: 90 }),
  stage(10, "waiting"),
  stage(210, "attempt=1/4"),
  at(900, "attempted", {
    outcome: "transient",
    name: "InternalServerException",
    tookMs: 690,
    model: "fast-text",
    target: "us-west-2",
  }),
  stage(910, "backoff"),
  stage(1_910, "attempt=2/4"),
  stage(2_600, "requeued until 2026-11-29T12:00:12.000Z"),
  at(2_610, "requeued", { cause: "capacity", delayS: 10 }),
  stage(12_700, "waiting"),
  stage(12_710, "attempt=1/4"),
  stage(13_500, "succeeded"),
  at(13_510, "replied", { status: "succeeded" }),
];

describe("the phases of a job's life", () => {
  test("go from one stage to the next, each what the overview calls it", () => {
    expect(phasesOf(life).map(({ doing, fromMs, toMs = NaN }) => [doing, toMs - fromMs])).toEqual([
      ["waiting", 200],
      ["asking", 700],
      ["backoff", 1_000],
      ["asking", 690],
      ["requeued", 10_100],
      ["waiting", 10],
      ["asking", 790],
      ["ended", NaN],
    ]);
  });

  test("the last one lasts until now", () => {
    const html = timelineMarkup(life.slice(0, 3), t0 + 5_210).text;
    expect(seen(html)).toContain("waits for a lease 0.2 s at Bedrock, attempt 1/4 5.0 s");
    expect(html.match(/<rect class="p-(\w+)"/g)).toHaveLength(2);
  });

  test("without any there is no bar", () =>
    expect(timelineMarkup([at(0, "parked", { reason: "job_id_reused" })], t0).text).not.toContain("<svg"));
});

describe("what was said", () => {
  const said = seen(timelineMarkup(life, t0 + 20_000).text);

  test.each([
    "0.0 s claimed, delivery 1",
    "0.9 s the attempt at fast-text@us-west-2 ended: transient, InternalServerException, after 0.7 s",
    "0.9 s backing off at fast-text@us-west-2",
    "2.6 s handed back to SQS for 10 s: capacity",
    "13.5 s succeeded",
    "13.5 s reply stored: succeeded",
  ])("%s", (line) => expect(said).toContain(line));

  test.each<[heard: Heard, line: string]>([
    [at(0, "delivered", { lane: "bg", receives: 3 }), "delivered to a worker of bg, receive 3"],
    [
      at(0, "step-skipped", { reason: "breaker-open", model: "fast-text", target: "us-east-1" }),
      "fast-text@us-east-1 skipped: breaker-open",
    ],
    [at(0, "lease-refused", { reason: "full", model: "fast-text" }), "no lease at fast-text: full"],
    [at(0, "fallback"), "falls back to the next step"],
    [at(0, "duplicate", { why: "done" }), "another message of this job, acknowledged: done"],
    [at(0, "replied", { status: "failed", code: "no_capacity" }), "reply stored: failed, no_capacity"],
    [at(0, "lease-lost", { lane: "bg", fence: 2 }), "lease-lost"],
    [at(0, "something-new", { jobId: "x", what: "happened", count: 2 }), "something-new what happened, count 2"],
  ])("%j", (heard, line) => expect(seen(timelineMarkup([heard], t0).text)).toContain(line));

  test("stays text, whatever it is", () => {
    const hostile = "<img src=x onerror=alert(1)>";
    const html = timelineMarkup(
      [at(0, hostile, { [hostile]: hostile }), at(1, "stage", { stage: hostile, model: hostile })],
      t0,
    ).text;
    expect(html).not.toContain("<img");
  });
});

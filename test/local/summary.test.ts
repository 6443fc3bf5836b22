import { describe, expect, test } from "vitest";

import type { Outcome } from "../../infra/local/run.ts";
import { isClean, jsonLine, summaryLines, unsuccessfulLines } from "../../infra/local/summary.ts";
import type { Result } from "../../infra/local/summary.ts";
import own from "../../infra/sluice.config.ts";
import { checkConfig } from "../../lib/config.ts";

const config = checkConfig(own);

const calm: Outcome = {
  jobs: 3,
  succeeded: 3,
  failed: 0,
  expired: 0,
  cancelled: 0,
  unanswered: 0,
  notSent: 0,
  codes: {},
  unsuccessful: [],
  messages: 3,
  parked: 0,
  parkReasons: [],
  messagesHidden: 0,
  leasesLeft: 0,
  totalMsP50: 1_000,
  totalMsP99: 2_000,
  wallMs: 2_500,
};

function result(outcome: Partial<Outcome>, facts: Partial<Result> = {}): Result {
  const workers = { started: 1, died: 0, invocations: 3, rssBytesMax: 104_857_600 };
  return { outcome: { ...calm, ...outcome }, linesRefused: 0, config, bedrock: undefined, workers, ...facts };
}

const summary = (...given: Parameters<typeof result>) => summaryLines(result(...given)).join("\n");

describe("the summary", () => {
  test("says what came of the jobs, and whose latency it is", () =>
    expect(summary({})).toBe(
      [
        "3 jobs in 3 messages, 2.5 s: 3 succeeded",
        "  latency    p50 1.0 s, p99 2.0 s from queue to reply, of the succeeded",
        "  leases     all returned",
        "  workers    1 process, 3 invocations, at most 100 MB each",
      ].join("\n"),
    ));

  test("tells jobs that were not sent from those that nobody answered", () => {
    const outcome = { succeeded: 0, unanswered: 3, notSent: 2 };
    expect(summary(outcome)).toContain(": 0 succeeded, 2 not sent, 1 unanswered\n");
    expect(isClean(result(outcome))).toBe(false);
  });

  test.each(["interrupted", "time is up"] as const)("of a run that was cut short (%s) finds no fault", (cutShort) => {
    const said = summary({ succeeded: 1, unanswered: 2, messagesHidden: 4, leasesLeft: 2, cutShort });
    expect(said).toContain(`; ${cutShort}: 2 unanswered, 1 succeeded\n`);
    expect(said).toContain("leases     2 out, of requests that were cut off");
    expect(said).not.toContain("hidden");
  });

  test("finds the fault of one that was not", () => {
    const said = summary({ messagesHidden: 1, leasesLeft: 2 });
    expect(said).toContain("leases     2 NOT returned");
    expect(said).toContain("hidden     1 copy of answered jobs");
  });

  test("is laid out for 80 columns", () => {
    const calls = { now: 0, max: 60, calls: 1_000, outcomes: {}, inputTokens: 0, outputTokens: 0 };
    const places = Object.values(config.models).flatMap(({ targets }) => Object.values(targets));
    const targets = Object.fromEntries(places.map(({ modelId, region }) => [`${modelId}@${region}`, calls]));
    const codes = Object.fromEntries(Array.from({ length: 9 }, (_, place) => [`some_long_code_${place}`, 100]));
    const facts = { codes, messagesHidden: 1_000, parked: 9, parkReasons: Array<string>(9).fill("not_an_envelope") };
    const lines = summaryLines(result(facts, { bedrock: { now: 0, max: 60, targets, jobs: {}, calls: [] } }));
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.join("\n").match(/some_long_code/g)).toHaveLength(9);
    expect(lines.join("\n").match(/60 of \d+/g)).toHaveLength(places.length);
  });
});

test("jobs that did not succeed are named, and counted where there are more", () => {
  const unsuccessful = [
    { jobId: "a", code: "provider_error", message: "Bedrock\nrefuses it" },
    { jobId: "longer", code: "unanswered", message: "" },
  ];
  expect(unsuccessfulLines(result({ jobs: 10, succeeded: 3, unsuccessful }))).toEqual([
    "Did not succeed",
    "  a       provider_error        Bedrock refuses it",
    "  longer  unanswered",
    "  and 5 more",
  ]);
  expect(unsuccessfulLines(result({}))).toEqual([]);
});

test("a program reads how many were parked and not sent, too", () =>
  expect(JSON.parse(jsonLine(result({ parked: 2, unanswered: 1, notSent: 1 }, { linesRefused: 3 })))).toMatchObject({
    refused: 5,
    parked: 2,
    unanswered: 1,
    notSent: 1,
  }));

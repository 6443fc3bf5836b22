import { describe, expect, test } from "vitest";

import { createHistory, jsonLine } from "../../../infra/local/page/history.ts";
import type { JsonLine } from "../../../infra/local/page/history.ts";

const line = (facts: JsonLine = {}): JsonLine => ({
  level: "INFO",
  message: "stage",
  timestamp: "2026-11-29T12:00:00.000Z",
  service: "sluice",
  jobId: "order-1",
  stage: "waiting",
  ...facts,
});

describe("the history of jobs", () => {
  test("keeps what workers said of a job, by time, without what every line says", () => {
    const history = createHistory();
    history.hear(line({ timestamp: "2026-11-29T12:00:01.000Z", stage: "attempt=1/4" }));
    history.hear(line());
    expect(history.of("order-1")).toEqual([
      { atMs: Date.UTC(2026, 10, 29, 12), kind: "stage", facts: { stage: "waiting" } },
      { atMs: Date.UTC(2026, 10, 29, 12, 0, 1), kind: "stage", facts: { stage: "attempt=1/4" } },
    ]);
    expect(history.of("order-2")).toEqual([]);
  });

  test("keeps no content, nor anything deeper than a word", () => {
    const history = createHistory();
    history.hear(line({ message: "payload", params: { messages: ["secret"] }, output: { text: "secret" } }));
    history.hear(line({ usage: { inputTokens: 3 }, long: "x".repeat(500), fallbackUsed: true }));
    expect(history.of("order-1")).toEqual([
      {
        atMs: Date.UTC(2026, 10, 29, 12),
        kind: "stage",
        facts: { stage: "waiting", long: "x".repeat(200), fallbackUsed: "true" },
      },
    ]);
  });

  test.each<[says: string, facts: JsonLine]>([
    ["is of no job", { jobId: undefined }],
    ["has no time", { timestamp: "soon" }],
    ["has no word", { message: 3 }],
  ])("does not keep a line that %s", (_says, facts) => {
    const history = createHistory();
    history.hear(line(facts));
    expect(history.of("order-1")).toEqual([]);
  });

  test("keeps the beginning and the latest of a job that says the same for hours", () => {
    const history = createHistory();
    for (let place = 0; place < 1_000; place += 1) history.hear(line({ place }));
    const places = history.of("order-1").map(({ facts }) => facts["place"]);
    expect(places).toHaveLength(80);
    expect(places.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, place) => place));
    expect(places.at(-1)).toBe(999);
  });

  test("forgets the oldest of very many jobs", () => {
    const history = createHistory();
    for (let place = 0; place < 20_001; place += 1) history.hear(line({ jobId: `job-${place}` }));
    expect(history.of("job-0")).toEqual([]);
    expect(history.of("job-1")).toHaveLength(1);
  });

  test("forgets what has ended first, however long another has been open", () => {
    const history = createHistory({ jobsMax: 3, eventsMax: 100 });
    const hear = (jobId: string, message = "stage") => history.hear(line({ jobId, message, status: "succeeded" }));
    for (const jobId of ["long", "first", "second"]) hear(jobId);
    hear("second", "replied");
    hear("first", "replied");
    hear("third");
    expect(["long", "first", "second", "third"].map((jobId) => history.of(jobId).length)).toEqual([1, 2, 0, 1]);
  });

  const atWork = { message: "stage" };
  const replied = { message: "replied", status: "succeeded" };
  describe("of three jobs at most", () => {
    test.each<[says: string, lines: readonly JsonLine[]]>([
      ["a job that is announced after it was forgotten makes no room of an open one", [{ message: "announced" }]],
      ["nor does one that is told in vain", [{ message: "announcement-failed" }, { message: "announcement-given-up" }]],
      ["nor a late copy of its message", [{ message: "duplicate", why: "done" }]],
      ["nor what failed beside it", [{ message: "trouble", what: "hook ended" }]],
      ["nor one that ended and was announced", [{ message: "claimed" }, atWork, replied, { message: "announced" }]],
      ["nor one whose envelope was refused", [{ message: "refused", field: "op" }]],
    ])("%s", (_says, lines) => {
      const history = createHistory({ jobsMax: 3, eventsMax: 1_000 });
      const hear = (jobId: string, facts: JsonLine) => history.hear(line({ jobId, ...facts }));
      for (const jobId of ["open-1", "open-2"]) hear(jobId, atWork);
      for (let late = 0; late < 5; late += 1) for (const facts of lines) hear(`late-${late}`, facts);
      expect(["open-1", "open-2", "late-3", "late-4"].map((jobId) => history.of(jobId).length)).toEqual([
        1,
        1,
        0,
        lines.length,
      ]);
    });

    test.each<[says: string, facts: JsonLine]>([
      ["claimed", { message: "claimed" }],
      ["at work", atWork],
      ["asking", { message: "attempted", outcome: "transient" }],
      ["waiting for a lease", { message: "lease-refused", reason: "full" }],
      ["handed back", { message: "requeued", cause: "capacity" }],
      ["hidden", { message: "hidden", why: "paused" }],
    ])("one that is %s is open, though nothing is kept of its beginning", (_says, facts) => {
      const history = createHistory({ jobsMax: 3, eventsMax: 1_000 });
      history.hear(line(facts));
      for (let job = 0; job < 5; job += 1) history.hear(line({ jobId: `job-${job}`, ...replied }));
      expect(history.of("order-1")).toHaveLength(1);
    });

    test("one that is claimed again after its end is open again", () => {
      const history = createHistory({ jobsMax: 3, eventsMax: 1_000 });
      for (const facts of [atWork, replied, { message: "claimed" }]) history.hear(line(facts));
      for (let job = 0; job < 5; job += 1) history.hear(line({ jobId: `job-${job}`, ...replied }));
      expect(history.of("order-1")).toHaveLength(3);
    });
  });

  test("keeps so many lines of all jobs, of those that are open to the last", () => {
    const history = createHistory({ jobsMax: 100, eventsMax: 12 });
    for (let place = 0; place < 5; place += 1) history.hear(line({ jobId: "long", place }));
    for (let job = 0; job < 50; job += 1) {
      history.hear(line({ jobId: `job-${job}` }));
      history.hear(line({ jobId: `job-${job}`, message: "replied", status: "succeeded" }));
    }
    const kept = ["long", ...Array.from({ length: 50 }, (_, job) => `job-${job}`)].map((id) => history.of(id).length);
    expect(kept[0]).toBe(5);
    expect(kept.reduce((all, count) => all + count, 0)).toBeLessThanOrEqual(12);
    expect(kept.at(-1)).toBe(2);
  });

  test("knows which jobs ended last, each once", () => {
    const history = createHistory();
    for (let place = 0; place < 20; place += 1)
      history.hear(line({ message: "replied", jobId: `job-${place}`, status: "succeeded" }));
    history.hear(line({ message: "replied", jobId: "job-15", status: "succeeded" }));
    expect(history.ended().map(({ jobId }) => jobId)).toEqual(
      [15, 19, 18, 17, 16, 14, 13, 12, 11, 10, 9, 8].map((place) => `job-${place}`),
    );
  });
});

test.each(["", "plain words", "{ not json", "[1]", '"{"'])("%j is no line of ours", (text) =>
  expect(jsonLine(text)).toBeUndefined(),
);

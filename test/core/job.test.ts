import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import type { Envelope } from "../../lib/core/envelope.ts";
import { contentOf, jobOf } from "../../lib/core/job.ts";
import type { Delivery, Job } from "../../lib/core/job.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { a, t0 } from "../a.ts";
import { arbitraryEnvelope } from "../arbitrary.ts";

const minutes = 60_000;
const hours = 60 * minutes;

describe("a job is its envelope with what the delivery adds", () => {
  const rows: [says: string, envelope: Partial<Envelope>, delivery: Partial<Delivery>, job: Partial<Job>][] = [
    ["the queue's lane is the default", {}, { lane: "rt" }, { lane: "rt" }],
    ["a job may lower its lane", { lane: "bulk" }, { lane: "rt" }, { lane: "bulk" }],
    ["one step too", { lane: "bg" }, { lane: "rt" }, { lane: "bg" }],
    ["never raise it", { lane: "rt" }, { lane: "bulk" }, { lane: "bulk" }],
    ["not by one step", { lane: "rt" }, { lane: "bg" }, { lane: "bg" }],
    ["without a deadline rt has a minute", {}, { lane: "rt" }, { deadlineAtMs: t0 + 1 * minutes }],
    ["bg an hour", {}, { lane: "bg" }, { deadlineAtMs: t0 + 1 * hours }],
    ["bulk a day", {}, { lane: "bulk" }, { deadlineAtMs: t0 + 24 * hours }],
    [
      "counted from its enqueueing, not from now",
      {},
      { enqueuedAtMs: t0 - 9_000, receivedAtMs: t0 },
      { enqueuedAtMs: t0 - 9_000, deadlineAtMs: t0 - 9_000 + 1 * hours },
    ],
    ["a deadline of its own counts", { deadlineAtMs: t0 + 7_000 }, {}, { deadlineAtMs: t0 + 7_000 }],
    ["also one that has passed", { deadlineAtMs: t0 - 1 }, {}, { deadlineAtMs: t0 - 1 }],
    [
      "rt waits five minutes at most",
      { deadlineAtMs: t0 + 1 * hours },
      { lane: "rt" },
      { deadlineAtMs: t0 + 5 * minutes },
    ],
    [
      "counted from its enqueueing too",
      { deadlineAtMs: t0 + 48 * hours },
      { receivedAtMs: t0 + 9_000 },
      { deadlineAtMs: t0 + 12 * hours },
    ],
    ["bg twelve hours", { deadlineAtMs: t0 + 48 * hours }, { lane: "bg" }, { deadlineAtMs: t0 + 12 * hours }],
    ["bulk a day and a half", { deadlineAtMs: t0 + 48 * hours }, { lane: "bulk" }, { deadlineAtMs: t0 + 36 * hours }],
    ["a lowered lane brings its own times", { lane: "bg" }, { lane: "rt" }, { deadlineAtMs: t0 + 1 * hours }],
    ["the message group is the tenant", {}, { tenant: "acme" }, { tenant: "acme" }],
    ["unless the envelope names one", { tenant: "acme" }, { tenant: "other" }, { tenant: "acme" }],
  ];
  test.each(rows)("%s", (_says, envelope, delivery, job) =>
    expect(jobOf(a.envelope(envelope), a.delivery(delivery), "h-1")).toMatchObject({
      ...a.envelope(),
      contentHash: "h-1",
      ...job,
    }),
  );
});

const content = (facts: Partial<Envelope> = {}) => contentOf(a.envelope(facts));
const inline = (params: JsonObject): Partial<Envelope> => ({ params: { kind: "inline", params } });

describe("the content of a job", () => {
  const same: [says: string, facts: Partial<Envelope>][] = [
    ["its name", { jobId: "other" }],
    ["its lane", { lane: "bulk" }],
    ["its deadline", { deadlineAtMs: t0 }],
    ["its tenant", { tenant: "acme" }],
    ["its metadata", { metadata: { k: "v" } }],
    ["who waits for it", { replyTo: { kind: "taskToken", token: "t" } }],
  ];
  test.each(same)("leaves out %s", (_says, facts) => expect(content(facts)).toBe(content()));

  const other: [says: string, facts: Partial<Envelope>][] = [
    ["the model", { model: "smart-text" }],
    ["the target", { model: "fast-text@us-west-2" }],
    ["the op", { op: "converse_stream" }],
    ["the params", inline({ messages: [] })],
    ["their place", { params: { kind: "ref", bucket: "b", key: "k" } }],
    ["the operation", { operation: "summarise" }],
    ["the fallback", { fallback: "none" }],
    ["its steps", { fallback: ["smart-text"] }],
  ];
  test.each(other)("changes with %s", (_says, facts) => expect(content(facts)).not.toBe(content()));
  test("and each of them differently", () => {
    expect(new Set(other.map(([, facts]) => content(facts))).size).toBe(other.length);
  });

  test("has one spelling, whatever the order of keys at any depth", () => {
    const params = { b: [{ y: 1, x: { q: null, p: "t" } }], a: 2, 10: 1, 9: 1 };
    const swapped = { 9: 1, 10: 1, a: 2, b: [{ x: { p: "t", q: null }, y: 1 }] };
    expect(content(inline(swapped))).toBe(content(inline(params)));
  });

  test("keeps the order of a list", () => {
    expect(content(inline({ list: [1, 2] }))).not.toBe(content(inline({ list: [2, 1] })));
    expect(content({ fallback: ["a", "b"] })).not.toBe(content({ fallback: ["b", "a"] }));
  });

  test("tells a list from an object with its indices", () => {
    expect(content(inline({ x: ["a"] }))).not.toBe(content(inline({ x: { 0: "a" } })));
  });

  test("tells a key from a missing one, and __proto__ from none", () => {
    const proto: JsonObject = JSON.parse('{"__proto__":{"a":1}}');
    expect(content(inline({ a: null }))).not.toBe(content(inline({})));
    expect(content(inline(proto))).not.toBe(content(inline({})));
  });

  test("is that of the same request, however its keys were shuffled", () => {
    fc.assert(
      fc.property(arbitraryEnvelope, (envelope) => {
        expect(contentOf(reversed(envelope))).toBe(contentOf(envelope));
      }),
    );
  });
});

/** The same value with the keys of every object in the opposite order. */
function reversed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toReversed())
      : inner,
  );
}

test("a job without a tenant has no field for one", () =>
  expect(jobOf(a.envelope(), a.delivery(), "h-1")).not.toHaveProperty("tenant"));

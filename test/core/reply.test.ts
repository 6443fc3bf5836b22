import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { noUsage } from "../../lib/core/attempt.ts";
import {
  costUsd,
  echoing,
  endingOf,
  hasCode,
  isReplyStatus,
  metaOfRow,
  noMeta,
  ownSentence,
  replyCodes,
  replyIn,
  replyOf,
  replyText,
  replyTtlS,
} from "../../lib/core/reply.ts";
import type { Ending, Reply, ReplyError } from "../../lib/core/reply.ts";
import { a, t0 } from "../a.ts";

const job = { jobId: "order-8812-summary", metadata: { order: "8812" } };
const error: ReplyError = {
  code: "no_capacity",
  message: "no lease",
  kind: "throttled",
  retryable: true,
  retryAfterMs: 5,
};

function boom(): never {
  throw new Error("boom");
}

describe("a job that", () => {
  const rows: [says: string, ending: Ending, reply: Partial<Reply> & object][] = [
    [
      "has an answer carries it",
      { kind: "succeeded", output: { a: 1 } },
      { ok: true, status: "succeeded", output: { a: 1 } },
    ],
    ["failed says why", { kind: "failed", error }, { ok: false, status: "failed", error }],
  ];
  test.each(rows)("%s", (_says, ending, reply) => {
    expect(replyOf(job, ending, a.meta())).toEqual({ ...job, meta: a.meta(), ...reply });
  });

  test("was cancelled is not to be tried again; one that came too late may be", () => {
    expect(replyOf(job, { kind: "cancelled" }, a.meta())).toMatchObject({
      ok: false,
      status: "cancelled",
      error: { code: "cancelled", message: expect.stringContaining("another jobId"), retryable: false },
    });
    expect(replyOf(job, { kind: "expired" }, a.meta())).toMatchObject({
      ok: false,
      status: "expired",
      error: { code: "deadline_exceeded", message: expect.stringContaining("later deadlineAt"), retryable: true },
    });
  });
});

describe("what an operator is shown of an error is our own sentence", () => {
  test.each<[says: string, message: string, shown: string]>([
    ["all of it", "fast-text refused it: X (400); correct it", "fast-text refused it: X (400); correct it"],
    [
      "without the provider's words that an older reply quotes",
      'fast-text refused it: X (400): "the prompt "Ada"; no\nmore"; correct it',
      "fast-text refused it: X (400); correct it",
    ],
    ["a name in quotes is none of them", 'no worker knows "a"; add it', 'no worker knows "a"; add it'],
    ["nor is what nothing follows", 'it is: "a"', 'it is: "a"'],
  ])("%s", (_says, message, shown) => expect(ownSentence(message)).toBe(shown));
});

describe("a reply that was written by one who had no message in hand is told", () => {
  const metadata = { order: "8812" };
  const meta = a.meta();
  const text = (ending: Ending, more: object = {}) =>
    JSON.stringify({ ...replyOf({ ...job, metadata: {} }, ending, meta), ...more });
  const cancelled = text({ kind: "cancelled" });

  test.each<[says: string, reply: string]>([
    ["that was cancelled", cancelled],
    ["that expired", text({ kind: "expired" })],
    ["whose metadata are not there", text({ kind: "cancelled" }, { metadata: undefined })],
  ])("with the metadata of the message, one %s", (_says, reply) =>
    expect(JSON.parse(echoing(reply, metadata))).toEqual({ ...JSON.parse(reply), metadata }),
  );

  test.each<[says: string, reply: string]>([
    ["that has metadata of its own", text({ kind: "cancelled" }, { metadata: { order: "1" } })],
    ["that has an answer", text({ kind: "succeeded", output: {} })],
    ["that is forgotten", text({ kind: "cancelled" }, { forgottenAtMs: t0 })],
    ["that cannot be read", "{"],
  ])("but one %s as it is stored", (_says, reply) => expect(echoing(reply, metadata)).toBe(reply));

  test("and so is any where the message has none", () => expect(echoing(` ${cancelled}`, {})).toBe(` ${cancelled}`));
});

describe("as text", () => {
  const rows: [says: string, value: unknown, back: unknown][] = [
    ["undefined is left out", { a: undefined, b: [undefined] }, { b: [null] }],
    ["nothing at all is null", undefined, null],
    ["a Date is its ISO text", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["an invalid Date is null", { at: new Date(Number.NaN) }, { at: null }],
    ["NaN and Infinity are null", [Number.NaN, Infinity], [null, null]],
    ["a BigInt is its digits", { n: 2n ** 64n }, { n: "18446744073709551616" }],
    ["bytes are base64", { bytes: new Uint8Array([0, 255, 16]) }, { bytes: "AP8Q" }],
    ["so are a Buffer's", { bytes: Buffer.from("Ada") }, { bytes: "QWRh" }],
    ["bytes alone are too", new Uint8Array([1]), "AQ=="],
    ["half a surrogate pair comes back as it was", { text: "\uD83D" }, { text: "\uD83D" }],
  ];
  test.each(rows)("%s", (_says, value, back) => {
    expect(JSON.parse(replyText(value))).toEqual(back);
  });

  test("a cycle is cut, and all beside it stays", () => {
    const output: Record<string, unknown> = {
      text: "Ada",
      none: null,
      at: new Date(0),
      never: new Date(Number.NaN),
      big: 1n,
      bytes: new Uint8Array([1]),
    };
    output["self"] = output;
    output["twice"] = [output["at"], output["at"]];
    expect(JSON.parse(replyText({ ok: true, output }))).toEqual({
      ok: true,
      output: {
        text: "Ada",
        none: null,
        at: "1970-01-01T00:00:00.000Z",
        never: null,
        big: "1",
        bytes: "AQ==",
        self: "[cycle]",
        twice: ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"],
      },
    });
  });

  test("what throws when it is read says so, and all beside it stays", () => {
    const output = {
      text: "Ada",
      get broken() {
        return boom();
      },
      odd: { toJSON: boom, b: 2 },
    };
    expect(JSON.parse(replyText({ output }))).toEqual({
      output: { text: "Ada", broken: "[unreadable]", odd: { b: 2 } },
    });
  });

  test("what is nested beyond all reason is cut, not lost", () => {
    let output: unknown = "the bottom";
    for (let depth = 0; depth < 50_000; depth++) output = [output];
    expect(replyText({ ok: true, output })).toContain("[too deep]");
  });

  test("500 levels are not beyond it", () => {
    const deepest = (levels: number) => {
      let inner: unknown = 1n;
      for (let level = 0; level < levels; level++) inner = [inner];
      return replyText(Object.assign([inner], { toJSON: boom }));
    };
    expect(deepest(499)).toContain('["1"]');
    expect(deepest(500)).toContain('["[too deep]"]');
  });

  test("a value that is nothing but unreadable is null", () =>
    expect(replyText(Object.assign(() => 1, { toJSON: boom }))).toBe("null"));

  test("any JSON stays what it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(replyText(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test("anything is JSON", () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withTypedArray: true, withNullPrototype: true });
    fc.assert(
      fc.property(anything, (value) => {
        expect(() => void JSON.parse(replyText({ output: value }))).not.toThrow();
      }),
    );
  });
});

describe("a stored reply", () => {
  const failed = replyText(replyOf(job, { kind: "failed", error }, a.meta()));
  test.each<[says: string, reply: string | undefined, has: boolean]>([
    ["has the code it failed with", failed, true],
    ["has no other code", failed.replaceAll("no_capacity", "cancelled"), false],
    ["has none if it succeeded", replyText(replyOf(job, { kind: "succeeded", output: {} }, a.meta())), false],
    ["has none if it is damaged", failed.slice(1), false],
    ["has none if there is none", undefined, false],
  ])("%s", (_says, reply, has) => expect(hasCode(reply, "no_capacity")).toBe(has));
});

describe("the cost", () => {
  const usage = { ...noUsage, inputTokens: 1_000_000, outputTokens: 500_000, possiblyBilledTokens: 9_999_999 };

  test("is what was surely billed, by the price for a million", () => {
    expect(costUsd(usage, { inputPerMTok: 0.06, outputPerMTok: 0.24 })).toBeCloseTo(0.18, 12);
  });

  test("of cached tokens is theirs, or that of input", () => {
    const cached = { ...noUsage, cacheReadTokens: 1_000_000, cacheWriteTokens: 1_000_000 };
    expect(costUsd(cached, { inputPerMTok: 3, outputPerMTok: 15 })).toBe(6);
    expect(
      costUsd(cached, { inputPerMTok: 3, outputPerMTok: 15, cacheReadPerMTok: 0.3, cacheWritePerMTok: 3.75 }),
    ).toBe(4.05);
  });
});

describe("a job without an answer", () => {
  test.each<[code: ReplyError["code"], status: string]>([
    ["deadline_exceeded", "expired"],
    ["no_capacity", "failed"],
    ["provider_error", "failed"],
  ])("that ends with %s has %s, and says why", (code, status) => {
    const because: ReplyError = { code, message: "because", retryable: true };
    expect(replyOf({ jobId: "j", metadata: {} }, endingOf(because), a.meta())).toMatchObject({
      status,
      error: because,
    });
  });
});

test("a reply ends with one of four statuses, and fails with one of these codes", () => {
  const statuses = ["succeeded", "failed", "cancelled", "expired", "queued", "", undefined];
  expect(statuses.filter(isReplyStatus)).toEqual(["succeeded", "failed", "cancelled", "expired"]);
  expect(replyCodes.join(" ")).toBe(
    "invalid_envelope model_not_configured params_missing deadline_exceeded cancelled no_capacity circuit_open " +
      "attempt_timeout context_too_small target_unavailable provider_error budget_exhausted worker_crashed " +
      "dead_lettered internal_error",
  );
});

test("a row goes some days after its job's end, in whole seconds, never before", () => {
  expect(replyTtlS(1_000_000, 7)).toBe(1_000 + 604_800);
  expect(replyTtlS(1_000_001, 1)).toBe(1_001 + 86_400);
});

describe("a reply by one who did not run the job", () => {
  const by = { worker: "sweeper", workerVersion: "3" };

  test("tells of a job without a row that nothing has happened", () => {
    expect(metaOfRow(undefined, t0, by)).toEqual({ ...noMeta, ...by });
    const { usage, steps, ...told } = noMeta;
    expect([usage, steps]).toEqual([noUsage, []]);
    expect(Object.values(told).filter(Boolean)).toEqual([]);
  });

  test("tells what the row knows", () => {
    const usage = { ...noUsage, inputTokens: 12 };
    const spent = { requests: 3, leaseWaitMs: 4, providerMs: 5, sleptMs: 6, usage };
    const times = { enqueuedAtMs: t0 - 900, startedAtMs: t0 - 700 };
    expect(metaOfRow(a.row({ ...spent, ...times, fence: 2, step: "fast-text@us-west-2" }), t0, by)).toEqual({
      ...noMeta,
      ...by,
      model: "fast-text",
      attempts: 3,
      deliveries: 2,
      queueMs: 200,
      leaseWaitMs: 4,
      providerMs: 5,
      totalMs: 900,
      sleptMs: 6,
      usage,
    });
  });

  test("takes a clock that stands back for no time at all", () =>
    expect(metaOfRow(a.row({ enqueuedAtMs: t0 + 9, startedAtMs: t0 }), t0, by)).toMatchObject({
      queueMs: 0,
      totalMs: 0,
    }));
});

describe("a row's reply", () => {
  test("is read as it was stored", () => {
    const reply = replyOf(job, { kind: "cancelled" }, a.meta());
    expect(replyIn(a.row({ reply: replyText(reply) }))).toEqual(reply);
  });

  test("is none while the job is open", () => expect(replyIn(a.row({}))).toBeUndefined());
});

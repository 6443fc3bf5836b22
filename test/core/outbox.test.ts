import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { noProgress } from "../../lib/core/claim.ts";
import { encodeUnstored, readUnstored } from "../../lib/core/outbox.ts";
import type { UnstoredReply } from "../../lib/core/outbox.ts";
import { replyText } from "../../lib/core/reply.ts";
import { arbitraryReplyTo } from "../arbitrary.ts";

const unstored = (facts: Partial<UnstoredReply> = {}): UnstoredReply => ({
  jobId: "j-1",
  contentHash: "h-1",
  status: "succeeded",
  lane: "bg",
  reply: '{"jobId":"j-1","ok":true,"status":"succeeded","output":{"text":"Hello Ada"},"meta":{}}',
  progress: { ...noProgress, attempts: 2, usage: { ...noProgress.usage, inputTokens: 12 } },
  ...facts,
});

describe("a reply in the replies queue", () => {
  test("is read back as it was sent, whatever the answer", () => {
    const facts = fc.record(
      {
        jobId: fc.stringMatching(/^[A-Za-z0-9_.:/=+~-]{1,128}$/),
        contentHash: fc.stringMatching(/^[0-9a-f]{64}$/),
        status: fc.constantFrom("succeeded", "failed", "cancelled", "expired"),
        output: fc.jsonValue(),
        replyTo: arbitraryReplyTo,
      },
      { requiredKeys: ["jobId", "contentHash", "status", "output"] },
    );
    fc.assert(
      fc.property(facts, ({ output, ...more }) => {
        const reply = replyText({ jobId: more.jobId, status: more.status, output, meta: {}, error: {} });
        const sent = unstored({ ...more, reply });
        const message = encodeUnstored(sent);
        expect(readUnstored(message)).toEqual({ kind: "reply", unstored: sent });
      }),
    );
  });

  test("holds no character that SQS refuses", () => {
    const reply = replyText({ jobId: "j-1", status: "succeeded", output: "a\u0000\uD800\uFFFE\uFFFFz", meta: {} });
    const message = encodeUnstored(unstored({ reply }));
    expect(message).not.toMatch(/[\uFFFE\uFFFF\uD800-\uDFFF]/);
    expect(readUnstored(message)).toMatchObject({ unstored: { reply } });
  });

  test("is one JSON object that names its job and holds the reply as it is", () =>
    expect(JSON.parse(encodeUnstored(unstored()))).toMatchObject({
      contentHash: "h-1",
      reply: { jobId: "j-1", output: { text: "Hello Ada" } },
    }));

  const without = (change: object, field: string) => [field, JSON.stringify({ ...asJson, ...change })] as const;
  const asJson = JSON.parse(encodeUnstored(unstored()));
  test.each<readonly [field: string, message: string]>([
    ["body", "{ torn"],
    ["body", "[]"],
    without({ contentHash: 1 }, "contentHash"),
    without({ contentHash: "" }, "contentHash"),
    without({ reply: "text" }, "reply"),
    without({ reply: { status: "succeeded" } }, "reply.jobId"),
    without({ reply: { jobId: "", status: "succeeded", meta: {} } }, "reply.jobId"),
    without({ reply: { jobId: "j-1", status: "done" } }, "reply.status"),
    without({ reply: { jobId: "j-1", status: "succeeded" } }, "reply.meta"),
    without({ reply: { jobId: "j-1", status: "failed", meta: {} } }, "reply.error"),
  ])("names %s where that cannot be read", (field, message) =>
    expect(readUnstored(message)).toEqual({ kind: "fault", field }),
  );

  test.each([
    { progress: undefined },
    { progress: { attempts: "many", usage: 1 } },
    { replyTo: { pigeon: "coo" } },
    { lane: "fast" },
  ])("is not kept from its job by %j", (change) => {
    const read = readUnstored(JSON.stringify({ ...asJson, ...change }));
    expect(read).toMatchObject({ kind: "reply", unstored: { jobId: "j-1" } });
    expect(read).not.toHaveProperty("unstored.replyTo");
  });

  test("counts as nothing what its progress does not tell", () =>
    expect(readUnstored(JSON.stringify({ ...asJson, progress: { requests: 2 } }))).toMatchObject({
      unstored: { progress: { ...noProgress, requests: 2 } },
    }));
});

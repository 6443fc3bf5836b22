import { expect, test } from "vitest";
import { forgetting } from "../../lib/core/forget.ts";
import { noMeta, replyOf } from "../../lib/core/reply.ts";
import type { Ending } from "../../lib/core/reply.ts";
import { t0 } from "../a.ts";

const job = { jobId: "j-1", metadata: { patient: "Ada" } };
const meta = { ...noMeta, model: "fast-text", attempts: 2 };
const stored = (ending: Ending, more: object = {}) => JSON.stringify({ ...replyOf(job, ending, meta), ...more });
const answer = { text: "Hello, Ada." };
const left = { jobId: "j-1", meta, metadata: {}, forgottenAtMs: t0 };
const error = {
  code: "provider_error",
  kind: "transient",
  message: "Bedrock kept failing.",
  retryable: true,
  retryAfterMs: 5,
} as const;
const quoting = { ...error, message: 'west refused the request: X (400): "Ada; no"; correct it' };

test.each<[says: string, reply: string, left: object]>([
  [
    "an answer leaves that there was one",
    stored({ kind: "succeeded", output: answer }),
    { ok: true, status: "succeeded" },
  ],
  ["a failure leaves its error", stored({ kind: "failed", error }), { ok: false, status: "failed", error }],
  [
    "a cancel leaves its own",
    stored({ kind: "cancelled" }),
    { ok: false, status: "cancelled", error: { code: "cancelled" } },
  ],
  [
    "the provider's words about it go, which may quote the prompt",
    stored({ kind: "failed", error: { ...error, providerMessage: "Ada" } }),
    { ok: false, status: "failed", error },
  ],
  [
    "and so they do where the message quotes them",
    stored({ kind: "failed", error: quoting }),
    { ok: false, status: "failed", error: { ...error, message: "west refused the request: X (400); correct it" } },
  ],
  [
    "what a later version adds to an error goes",
    stored({ kind: "failed", error }, { error: { ...error, hint: "Ada" } }),
    { ok: false, status: "failed", error },
  ],
  [
    "a message that is none goes",
    stored({ kind: "failed", error }, { error: { ...error, message: { text: "Ada" } } }),
    { ok: false, status: "failed", error: { code: "provider_error" } },
  ],
  ["an error that is none goes", stored({ kind: "failed", error }, { error: "Ada" }), { ok: false, status: "failed" }],
  [
    "what a later version adds may be content, and goes",
    stored({ kind: "succeeded", output: answer }, { thoughts: "Ada" }),
    { ok: true, status: "succeeded" },
  ],
])("of a forgotten job %s", (_says, reply, what) => {
  const next = forgetting(reply, t0);
  if (next.kind === "forgotten") throw new Error("it was not forgotten before");
  expect(JSON.parse(next.left)).toMatchObject({ ...left, ...what });
  expect(next.left).not.toContain("Ada");
  expect(next.outputRef).toBeUndefined();
});

test("an output that lies apart is named, to be removed, and named no more", () => {
  const outputRef = "s3://b-1/outputs/j-1/0.json";
  const next = forgetting(stored({ kind: "succeeded", output: answer }, { output: undefined, outputRef }), t0);
  expect(next).toEqual({
    kind: "to-forget",
    outputRef,
    left: JSON.stringify({ jobId: "j-1", ok: true, status: "succeeded", meta, metadata: {}, forgottenAtMs: t0 }),
  });
});

test("nothing is forgotten twice", () => {
  const once = forgetting(stored({ kind: "cancelled" }), t0);
  expect(once.kind === "to-forget" && forgetting(once.left, t0 + 1)).toEqual({ kind: "forgotten" });
});

test.each(["", "[]", "{"])("%j is no reply, of which something could be left", (reply) => {
  expect(() => forgetting(reply, t0)).toThrow("no JSON object");
});

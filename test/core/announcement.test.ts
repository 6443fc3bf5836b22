import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventOf, notificationOf, taskEndOf } from "../../lib/core/announcement.ts";
import {
  announcementBytesMax,
  taskCauseBytesMax,
  taskErrorLengthMax,
  taskOutputBytesMax,
} from "../../lib/core/limits.ts";

const meta = { attempts: 2 };
const ok = { jobId: "j-1", ok: true, status: "succeeded", output: { text: "hello" }, meta, metadata: { k: "v" } };
const failed = { jobId: "j-1", ok: false, status: "failed", error: { code: "no_capacity", message: "full" }, meta };
const text = (reply: object) => JSON.stringify(reply);
/** A text that is so many bytes longer for it. */
const filler = (bytes: number) => "x".repeat(bytes);
const bytes = (told: string) => Buffer.byteLength(told);

describe("a reply is told whole", () => {
  test("in an event", () =>
    expect(eventOf(text(ok))).toEqual({ source: "sluice", detailType: "Sluice Job Completed", detail: text(ok) }));

  test("in a notification, with what filters can choose by", () =>
    expect(notificationOf(text(failed))).toEqual({
      message: text(failed),
      attributes: { jobId: "j-1", status: "failed" },
    }));

  test("as the output of a task", () => expect(taskEndOf(text(ok))).toEqual({ kind: "success", output: text(ok) }));

  test("as the cause of a task's failure, whose error is its code", () =>
    expect(taskEndOf(text(failed))).toEqual({ kind: "failure", error: "no_capacity", cause: text(failed) }));

  test("without the two characters that SQS refuses, behind a bus or a topic", () =>
    expect(notificationOf(text({ ...ok, output: "\uFFFE\uFFFF" })).message).toContain('"\\ufffe\\uffff"'));
});

describe("to the last byte that is taken", () => {
  const empty = bytes(text({ ...ok, output: "" }));
  test.each([
    ["an event", announcementBytesMax, (reply: string) => eventOf(reply).detail],
    ["a notification", announcementBytesMax, (reply: string) => notificationOf(reply).message],
    ["an output", taskOutputBytesMax, outputOf],
  ])("%s", (_says, bytesMax, told) => {
    const fits = text({ ...ok, output: filler(bytesMax - empty) });
    expect(told(fits)).toBe(fits);
    expect(JSON.parse(told(text({ ...ok, output: filler(bytesMax - empty + 1) })))).toEqual({
      ...ok,
      output: undefined,
    });
    // Two bytes each.
    expect(JSON.parse(told(text({ ...ok, output: "ü".repeat(bytesMax / 2) })))).not.toHaveProperty("output");
  });

  test("a cause", () => {
    const metadata = (length: number) => text({ ...failed, metadata: { k: filler(length) } });
    const most = taskCauseBytesMax - bytes(metadata(0));
    expect(causeOf(metadata(most))).toBe(metadata(most));
    expect(causeOf(metadata(most + 1))).toBe(text(failed));
  });
});

describe("of a reply that is too big goes", () => {
  const big = filler(taskOutputBytesMax);

  test("the output first, and where it lies in S3 stays", () => {
    expect(JSON.parse(eventOf(text({ ...ok, output: big })).detail)).toEqual({ ...ok, output: undefined });
    const apart = { ...ok, output: undefined, outputRef: "s3://b/outputs/j-1" };
    expect(eventOf(text(apart)).detail).toBe(text(apart));
  });

  test("then the metadata", () => {
    const apart = { ...ok, output: undefined, outputRef: "s3://b/outputs/j-1" };
    expect(JSON.parse(outputOf(text({ ...apart, metadata: { big } })))).toEqual({ ...apart, metadata: undefined });
  });

  test("then the story", () => {
    expect(JSON.parse(causeOf(text({ ...failed, meta: { big } })))).toEqual({ ...failed, meta: undefined });
    const apart = { ...ok, output: undefined, outputRef: "s3://b/outputs/j-1", meta: { big }, metadata: undefined };
    expect(JSON.parse(outputOf(text(apart)))).toEqual({ ...apart, meta: undefined });
  });

  test("at last what its error says, and never its code", () =>
    expect(JSON.parse(causeOf(text({ ...failed, error: { code: "no_capacity", message: big } })))).toEqual({
      jobId: "j-1",
      ok: false,
      status: "failed",
      error: { code: "no_capacity" },
    }));
});

test.each([
  ["without a code", '{"ok":false,"error":{}}', "internal_error"],
  ["without an error", '{"ok":false}', "internal_error"],
  ["that cannot be read", "nonsense", "internal_error"],
  ["with a code of another version's", text({ ok: false, error: { code: filler(300) } }), filler(taskErrorLengthMax)],
])("a reply %s fails its task all the same", (_says, reply, error) =>
  expect(taskEndOf(reply)).toMatchObject({ kind: "failure", error }),
);

test.each(["nonsense", "[]", '{"jobId":"","status":7}'])("of %s there is nothing to filter by", (reply) =>
  expect(notificationOf(reply).attributes).toEqual({}),
);

test("whatever a reply holds, it is told as JSON within what is taken", () => {
  const characters = fc.constantFrom("x", "ü", "\u2028", "\uFFFF", '"');
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 40_000 }), characters, (output, length, character) => {
      const long = character.repeat(length);
      const reply = {
        jobId: "j-1",
        ok: false,
        status: "failed",
        output,
        error: { code: "no_capacity", message: long },
      };
      for (const told of [reply, { ...reply, metadata: long }, { ...reply, error: { code: long } }]) {
        const cause = causeOf(text(told));
        expect(bytes(cause)).toBeLessThanOrEqual(taskCauseBytesMax);
        expect(JSON.parse(cause)).toBeTypeOf("object");
      }
    }),
  );
});

function outputOf(reply: string): string {
  const end = taskEndOf(reply);
  return end.kind === "success" ? end.output : "";
}

function causeOf(reply: string): string {
  const end = taskEndOf(reply);
  return end.kind === "failure" ? end.cause : "";
}

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../lib/core/json.ts";
import { queueNameOf, readReplyTo, replyToText } from "../../lib/core/reply-to.ts";
import { arbitraryReplyTo } from "../arbitrary.ts";

describe("a destination", () => {
  test("is read back from its text, whatever it is", () => {
    fc.assert(
      fc.property(arbitraryReplyTo, (replyTo) => {
        expect(readReplyTo(parseJson(replyToText(replyTo)))).toEqual(replyTo);
      }),
    );
  });

  test("may be a token of 2,048 characters", () =>
    expect(readReplyTo({ taskToken: "x".repeat(2_048) })).toMatchObject({ kind: "taskToken" }));

  test("has one text, however it came about", () => {
    const token = { kind: "taskToken", token: "t", heartbeatSeconds: 9 } as const;
    expect(replyToText({ heartbeatSeconds: 9, token: "t", kind: "taskToken" })).toBe(replyToText(token));
  });

  test.each([undefined, null, 1, "sqs", [], {}, { sqs: 1 }, { sqs: "https://q", sns: "arn:aws:sns:a" }])(
    "is not read from %j",
    (value) => expect(readReplyTo(value)).toBeUndefined(),
  );
});

describe("a queue's URL", () => {
  test.each([
    ["https://sqs.us-west-2.amazonaws.com/123456789012/done", "us-west-2"],
    ["https://sqs.cn-north-1.amazonaws.com.cn/123456789012/done-2_b", "cn-north-1"],
  ])("%s names region, account and queue", (url, region) =>
    expect(queueNameOf(url)).toMatchObject({ region, account: "123456789012", name: expect.stringMatching(/^done/) }),
  );

  test.each([
    "https://sqs.us-west-2.amazonaws.com/123456789012/done.fifo",
    "https://sqs.us-west-2.amazonaws.com/1234/done",
    "https://sqs.us-west-2.amazonaws.com.evil.example/123456789012/done",
    "http://sqs.us-west-2.amazonaws.com/123456789012/done",
    "https://example.com/https://sqs.us-west-2.amazonaws.com/123456789012/done",
  ])("%s is none of a standard queue on AWS", (url) => expect(queueNameOf(url)).toBeUndefined());
});

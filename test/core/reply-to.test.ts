import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../lib/core/json.ts";
import { busPlaceOf, isBus, queueNameOf, readReplyTo, replyToText, topicPlaceOf } from "../../lib/core/reply-to.ts";
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

describe("an event bus", () => {
  test("is in the region that its ARN names", () =>
    expect(busPlaceOf("arn:aws:events:eu-west-1:123456789012:event-bus/team/done-2.b")).toEqual({
      region: "eu-west-1",
      account: "123456789012",
      name: "team/done-2.b",
    }));

  test("that is named alone is wherever its reader is", () => {
    expect(busPlaceOf("default")).toBeUndefined();
    expect(isBus("default")).toBe(true);
    expect(isBus("b".repeat(256))).toBe(true);
  });

  test.each([
    "",
    "a bus",
    "b".repeat(257),
    "arn:aws:events:eu-west-1:123456789012:rule/done",
    "arn:aws:events:eu-west-1:1234:event-bus/done",
    "arn:aws:events:eu-west-1:123456789012:event-bus/",
    "arn:aws:events:eu-west-1:123456789012:event-bus/done?",
    "see arn:aws:events:eu-west-1:123456789012:event-bus/done",
  ])("is not %j", (name) => expect(isBus(name)).toBe(false));
});

describe("a topic", () => {
  test("is in the region that its ARN names", () =>
    expect(topicPlaceOf("arn:aws-cn:sns:cn-north-1:123456789012:done-2_b")).toEqual({
      region: "cn-north-1",
      account: "123456789012",
      name: "done-2_b",
    }));

  test.each([
    "done",
    "arn:aws:sns:us-west-2:123456789012:done.fifo",
    "arn:aws:sns:us-west-2:1234:done",
    "arn:aws:sqs:us-west-2:123456789012:done",
    "see arn:aws:sns:us-west-2:123456789012:done",
  ])("of the standard kind is not %s", (arn) => expect(topicPlaceOf(arn)).toBeUndefined());
});

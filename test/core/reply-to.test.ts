import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../lib/core/json.ts";
import { readReplyTo, replyToText } from "../../lib/core/reply-to.ts";
import { arbitraryReplyTo } from "../arbitrary.ts";

describe("a destination", () => {
  test("is read back from its text, whatever it is", () => {
    fc.assert(
      fc.property(arbitraryReplyTo, (replyTo) => {
        expect(readReplyTo(parseJson(replyToText(replyTo)))).toEqual(replyTo);
      }),
    );
  });

  test("has one text, however it came about", () => {
    const token = { kind: "taskToken", token: "t", heartbeatSeconds: 9 } as const;
    expect(replyToText({ heartbeatSeconds: 9, token: "t", kind: "taskToken" })).toBe(replyToText(token));
  });

  test.each([undefined, null, 1, "sqs", [], {}, { sqs: 1 }, { sqs: "https://q", sns: "arn:aws:sns:a" }])(
    "is not read from %j",
    (value) => expect(readReplyTo(value)).toBeUndefined(),
  );
});

import type { Message } from "@aws-sdk/client-sqs";
import { describe, expect, test } from "vitest";

import { acknowledged, eventsOf, nextPoll, recordOf } from "../../infra/local/event-source-rules.ts";
import type { Invoked, Mapping, Poll } from "../../infra/local/event-source-rules.ts";

const batch = ["m-1", "m-2", "m-3"];
const none: string[] = [];
const returned = (value: unknown): Invoked => ({ kind: "returned", value });
const failing = (...items: unknown[]): Invoked => returned({ batchItemFailures: items });

const answers: [says: string, how: Invoked, gone: readonly string[]][] = [
  ["an empty list of failures acknowledges all", failing(), batch],
  ["so does a list that is null", returned({ batchItemFailures: null }), batch],
  ["an answer without a list", returned({}), batch],
  ["null", returned(null), batch],
  ["nothing at all", returned(undefined), batch],
  ["a failed record alone comes again", failing({ itemIdentifier: "m-2" }), ["m-1", "m-3"]],
  [
    "a record reported twice counts once",
    failing({ itemIdentifier: "m-2" }, { itemIdentifier: "m-2" }),
    ["m-1", "m-3"],
  ],
  ["an id that was not in the batch brings the whole batch again", failing({ itemIdentifier: "m-9" }), none],
  ["also beside a good one", failing({ itemIdentifier: "m-1" }, { itemIdentifier: "m-9" }), none],
  ["a wrong key brings the whole batch again", failing({ itemId: "m-1" }), none],
  ["an empty id too", failing({ itemIdentifier: "" }), none],
  ["an id that is null too", failing({ itemIdentifier: null }), none],
  ["an entry that is no object too", failing("m-1"), none],
  ["a list that is no list too", returned({ batchItemFailures: "m-1" }), none],
  ["an answer that is no object too", returned("done"), none],
  ["a throw brings the whole batch again", { kind: "threw", name: "TypeError" }, none],
  ["a timeout too", { kind: "timed-out" }, none],
];

describe("after an invocation", () => {
  test.each(answers)("%s", (_says, how, gone) => expect(acknowledged(batch, how, true)).toEqual(gone));

  test("a mapping without partial batch responses acknowledges whatever returns", () =>
    expect(acknowledged(batch, failing({ itemIdentifier: "m-2" }), false)).toEqual(batch));
});

const calm: Mapping = {
  queueUrl: "q",
  queueArn: "arn:aws:sqs:us-west-2:000000000000:q",
  visibilityS: 30,
  concurrencyMax: 2,
  reportsFailures: true,
  batchSize: 10,
  windowMs: 1_000,
};
const polls: [says: string, gathered: number, leftMs: number, mapping: Partial<Mapping>, next: Poll | undefined][] = [
  ["an empty batch waits as long as SQS lets it", 0, Infinity, {}, { messagesMax: 10, waitS: 20 }],
  ["a receive asks for no more than a batch holds", 0, Infinity, { batchSize: 5 }, { messagesMax: 5, waitS: 20 }],
  ["nor for more than SQS gives", 0, Infinity, { batchSize: 100 }, { messagesMax: 10, waitS: 20 }],
  ["a begun batch waits for the rest of its window", 4, 3_500, {}, { messagesMax: 6, waitS: 3 }],
  ["within the last second it polls short", 4, 900, {}, { messagesMax: 6, waitS: 0 }],
  ["a full batch goes at once", 10, 900, {}, undefined],
  ["a window that is over sends what there is", 1, 0, {}, undefined],
];

describe("gathering a batch", () => {
  test.each(polls)("%s", (_says, gathered, leftMs, mapping, next) =>
    expect(nextPoll(gathered, leftMs, { ...calm, ...mapping })).toEqual(next),
  );

  test("records beyond the payload limit go in an event of their own", () => {
    const [one, two, three] = ["a", "b", "c"].map((id) =>
      recordOf({ MessageId: id, ReceiptHandle: "r" }, calm.queueArn),
    );
    if (one === undefined || two === undefined || three === undefined) throw new Error("three records");
    const bytes = JSON.stringify(one).length;
    expect(eventsOf([one, two, three], 2 * bytes)).toEqual([[one, two], [three]]);
    expect(eventsOf([one, two], 1)).toEqual([[one], [two]]);
    expect(eventsOf([])).toEqual([]);
  });
});

describe("a record", () => {
  const message: Message = {
    MessageId: "m-1",
    ReceiptHandle: "r-1",
    Body: "{}",
    MD5OfBody: "99914b932bd37a50b983c5e7c90ae93b",
    Attributes: { ApproximateReceiveCount: "3", SentTimestamp: "1795953600000", SenderId: "me" },
    MessageAttributes: {
      lane: { DataType: "String", StringValue: "bg" },
      blob: { DataType: "Binary", BinaryValue: Uint8Array.of(1, 2, 3) },
    },
  };

  test("looks as Lambda's does", () =>
    expect(recordOf(message, calm.queueArn)).toEqual({
      messageId: "m-1",
      receiptHandle: "r-1",
      body: "{}",
      md5OfBody: "99914b932bd37a50b983c5e7c90ae93b",
      attributes: {
        ApproximateReceiveCount: "3",
        SentTimestamp: "1795953600000",
        SenderId: "me",
        ApproximateFirstReceiveTimestamp: "0",
      },
      messageAttributes: {
        lane: { dataType: "String", stringValue: "bg", stringListValues: [], binaryListValues: [] },
        blob: { dataType: "Binary", binaryValue: "AQID", stringListValues: [], binaryListValues: [] },
      },
      eventSource: "aws:sqs",
      eventSourceARN: calm.queueArn,
      awsRegion: "us-west-2",
    }));

  test("without its ids is none", () =>
    expect(() => recordOf({ Body: "{}" }, calm.queueArn)).toThrow("without its ids"));
});

import type { SQSBatchResponse, SQSRecord } from "aws-lambda";
import { describe, expect, test } from "vitest";
import { batchResponse, dedupe, deliveryOf } from "../../lib/core/batch.ts";
import type { SqsRecord } from "../../lib/core/batch.ts";
import { a, t0 } from "../a.ts";

/** In the shape that Lambda's own types give it. */
const lambdas: SQSRecord = {
  messageId: "m-1",
  receiptHandle: "r-1",
  body: "{}",
  attributes: {
    SentTimestamp: String(t0 - 800),
    ApproximateReceiveCount: "3",
    SenderId: "AIDAI",
    ApproximateFirstReceiveTimestamp: String(t0),
  },
  messageAttributes: {},
  md5OfBody: "99914b932bd37a50b983c5e7c90ae93b",
  eventSource: "aws:sqs",
  eventSourceARN: "arn:aws:sqs:us-west-2:123456789012:rt",
  awsRegion: "us-west-2",
};
const record: SqsRecord = lambdas;

describe("a batch", () => {
  test("is answered with exactly the ids that must come again, each once", () => {
    const response: SQSBatchResponse = batchResponse(["m-1", "m-3", "m-1"]);
    expect(response).toEqual({ batchItemFailures: [{ itemIdentifier: "m-1" }, { itemIdentifier: "m-3" }] });
    expect(batchResponse([])).toEqual({ batchItemFailures: [] });
  });

  test("keeps the first record of each message, in their order", () => {
    const copies = [{ ...record, messageId: "m-2" }, record, { ...record, receiptHandle: "r-2" }];
    expect(dedupe(copies).map(({ messageId, receiptHandle }) => [messageId, receiptHandle])).toEqual([
      ["m-2", "r-1"],
      ["m-1", "r-1"],
    ]);
  });
});

describe("a record of Lambda's", () => {
  test("is read as a delivery, with the queue's facts as numbers", () => {
    expect(deliveryOf(record, "rt", t0)).toEqual(a.delivery({ lane: "rt", enqueuedAtMs: t0 - 800, receives: 3 }));
  });

  test("may name a tenant and a trace", () => {
    const attributes = { MessageGroupId: "acme", AWSTraceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793" };
    expect(deliveryOf({ ...record, attributes }, "bg", t0)).toMatchObject({
      tenant: "acme",
      traceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793",
    });
  });

  test("may be as old as epoch", () => {
    const attributes = { SentTimestamp: "1", ApproximateReceiveCount: "1" };
    expect(deliveryOf({ ...record, attributes }, "bg", t0)).toMatchObject({ enqueuedAtMs: 1, receives: 1 });
  });

  const garbage: [says: string, attributes: SqsRecord["attributes"]][] = [
    ["no attributes", undefined],
    ["empty ones", {}],
    ["empty texts", { SentTimestamp: "", ApproximateReceiveCount: "" }],
    ["words", { SentTimestamp: "yesterday", ApproximateReceiveCount: "often" }],
    ["negative numbers", { SentTimestamp: "-5", ApproximateReceiveCount: "-1" }],
    ["numbers beyond all bounds", { SentTimestamp: "1e400", ApproximateReceiveCount: "1e400" }],
    ["a time that is still to come", { SentTimestamp: String(t0 + 5_000), ApproximateReceiveCount: "1" }],
  ];
  test.each(garbage)("with %s is a first receive of now", (_says, attributes) => {
    expect(deliveryOf({ ...record, attributes }, "bg", t0)).toEqual(a.delivery());
  });
});

import { describe, expect, test } from "vitest";
import { storeSettingsOf } from "../../lib/aws/settings.ts";
import { of, rightsOf } from "./one-function.ts";
import { template } from "./synth.ts";

const done = "https://sqs.us-west-2.amazonaws.com/123456789012/done";
const built = template({ replies: { allow: { sqs: [done] } } });

const its = (type: string) => of(built, "LlmReplyStore", type);

describe("the reply-store", () => {
  test("has 30 s", () => expect(its("AWS::Lambda::Function").properties.Timeout).toBe(30));

  test("is fed by the replies queue through its alias live, ten at a time, with partial batch responses", () => {
    const { properties } = its("AWS::Lambda::EventSourceMapping");
    expect(properties).toMatchObject({
      BatchSize: 10,
      ScalingConfig: { MaximumConcurrency: 5 },
      FunctionResponseTypes: ["ReportBatchItemFailures"],
    });
    expect(JSON.stringify(properties.EventSourceArn)).toMatch(/LlmRepliesQueue[0-9A-F]{8}/);
    expect(JSON.stringify(properties.FunctionName)).toContain(`{"Ref":"${its("AWS::Lambda::Alias").id}"}`);
  });

  test("is told all that its handler asks for", () => {
    const { Variables } = its("AWS::Lambda::Function").properties.Environment;
    expect(Object.keys(Variables).toSorted()).toEqual([
      "SLUICE_BUCKET",
      "SLUICE_JOB_TABLE",
      "SLUICE_PARKED_QUEUE_URL",
      "SLUICE_QUEUE_URL",
    ]);
    const told = Object.keys(Variables).map((name) => [name, name]);
    expect(storeSettingsOf(Object.fromEntries(told)).queueUrl).toBe("SLUICE_QUEUE_URL");
    expect(Variables.SLUICE_QUEUE_URL.Ref).toMatch(/^LlmRepliesQueue/);
  });

  test("may do this and nothing else", () =>
    expect(rightsOf(its("AWS::IAM::Policy"))).toEqual([
      'CreateLogStream PutLogEvents: {"Fn::GetAtt":["LlmReplyStoreLogs","Arn"]}',
      'ChangeMessageVisibility DeleteMessage GetQueueAttributes ReceiveMessage: {"Fn::GetAtt":["LlmRepliesQueue","Arn"]}',
      'GetItem UpdateItem: {"Fn::GetAtt":["LlmJobTable","Arn"]}',
      'SendMessage: [{"Fn::GetAtt":["LlmParkedQueue","Arn"]},{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":sqs:us-west-2:123456789012:done"]]}]',
      'PutObject: {"Fn::Join":["",[{"Fn::GetAtt":["LlmRepliesBucket","Arn"]},"/outputs/*"]]}',
    ]));
});

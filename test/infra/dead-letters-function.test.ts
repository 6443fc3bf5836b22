import { describe, expect, test } from "vitest";
import { deadLetterSettingsOf } from "../../lib/aws/settings.ts";
import { lanes } from "../../lib/core/lane.ts";
import { of, rightsOf } from "./one-function.ts";
import { template } from "./synth.ts";

const done = "https://sqs.eu-west-1.amazonaws.com/123456789012/done";
const built = template({ paramsRef: { buckets: ["in-box"] }, replies: { allow: { sqs: [done] } } });
const its = (type: string) => of(built, "LlmDeadLetters", type);

describe("the worker of the dead letters", () => {
  test("has a minute", () => expect(its("AWS::Lambda::Function").properties.Timeout).toBe(60));

  test("is fed by each lane's dead-letter queue through its alias live, with partial batch responses", () => {
    const mappings = Object.entries(built.findResources("AWS::Lambda::EventSourceMapping"))
      .filter(([id]) => id.startsWith("LlmDeadLetters"))
      .map(([, { Properties }]) => Properties);
    const queues = mappings.map(({ EventSourceArn }) =>
      JSON.stringify(EventSourceArn).replaceAll(/[0-9A-F]{8}(?=")/g, ""),
    );
    expect(queues).toEqual(["Rt", "Bg", "Bulk"].map((lane) => `{"Fn::GetAtt":["Llm${lane}QueueDeadLetters","Arn"]}`));
    for (const mapping of mappings) {
      expect(mapping).toMatchObject({
        BatchSize: 1,
        ScalingConfig: { MaximumConcurrency: 2 },
        FunctionResponseTypes: ["ReportBatchItemFailures"],
      });
      expect(JSON.stringify(mapping.FunctionName)).toContain(`{"Ref":"${its("AWS::Lambda::Alias").id}"}`);
    }
  });

  test("tells the lane by the queue that a message came by", () => {
    const { Variables } = its("AWS::Lambda::Function").properties.Environment;
    const told = Object.fromEntries(
      Object.entries<{ Ref?: string }>(Variables).map(([name, value]) => [name, `https://sqs/1/${value.Ref ?? ""}`]),
    );
    for (const lane of lanes) {
      const name = told[`SLUICE_${lane.toUpperCase()}_DEAD_LETTERS_URL`]?.split("/").at(-1);
      expect(name).toMatch(new RegExp(`^Llm${lane}QueueDeadLetters`, "i"));
      expect(deadLetterSettingsOf(told, `arn:aws:sqs:us-west-2:1:${name}`)).toMatchObject({
        lane,
        queueUrl: `https://sqs/1/${name}`,
      });
    }
    expect(() => deadLetterSettingsOf(told, "arn:aws:sqs:us-west-2:1:another")).toThrow("no lane's dead-letter queue");
  });

  test("may do this and nothing else", () =>
    expect(rightsOf(its("AWS::IAM::Policy"))).toEqual([
      'CreateLogStream PutLogEvents: {"Fn::GetAtt":["LlmDeadLettersLogs","Arn"]}',
      'ChangeMessageVisibility DeleteMessage GetQueueAttributes ReceiveMessage: [{"Fn::GetAtt":["LlmBgQueueDeadLetters","Arn"]},{"Fn::GetAtt":["LlmBulkQueueDeadLetters","Arn"]},{"Fn::GetAtt":["LlmRtQueueDeadLetters","Arn"]}]',
      'GetItem UpdateItem: {"Fn::GetAtt":["LlmJobTable","Arn"]}',
      'SendMessage: [{"Fn::GetAtt":["LlmParkedQueue","Arn"]},{"Fn::GetAtt":["LlmRepliesQueue","Arn"]},{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":sqs:eu-west-1:123456789012:done"]]}]',
      'GetObject: [{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":s3:::in-box/*"]]},{"Fn::Join":["",[{"Fn::GetAtt":["LlmRepliesBucket","Arn"]},"/params/*"]]}]',
      'ListBucket: {"Fn::GetAtt":["LlmRepliesBucket","Arn"]}',
      'ListBucket: {"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":s3:::in-box"]]}',
    ]));
});

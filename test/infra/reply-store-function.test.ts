import { describe, expect, test } from "vitest";
import { storeSettingsOf } from "../../lib/aws/settings.ts";
import { template } from "./synth.ts";

const done = "https://sqs.us-west-2.amazonaws.com/123456789012/done";
const built = template({ replies: { allow: { sqs: [done] } } });

/** The one resource of a type that belongs to the reply-store, with its logical id. */
function of(type: string) {
  const [found, ...more] = Object.entries(built.findResources(type)).filter(([id]) => id.startsWith("LlmReplyStore"));
  if (found === undefined || more.length > 0) throw new Error(`not one ${type}`);
  return { id: found[0], properties: found[1]["Properties"] };
}

describe("the reply-store", () => {
  test("has 30 s, Node 24 on arm64, and its log for 30 days", () => {
    expect(of("AWS::Lambda::Function").properties).toMatchObject({
      Timeout: 30,
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      Handler: "index.handler",
      LoggingConfig: { LogFormat: "JSON", LogGroup: { Ref: of("AWS::Logs::LogGroup").id } },
    });
    expect(of("AWS::Logs::LogGroup").properties.RetentionInDays).toBe(30);
  });

  test("is fed by the replies queue through its alias live, ten at a time, with partial batch responses", () => {
    const { properties } = of("AWS::Lambda::EventSourceMapping");
    expect(properties).toMatchObject({
      BatchSize: 10,
      ScalingConfig: { MaximumConcurrency: 5 },
      FunctionResponseTypes: ["ReportBatchItemFailures"],
    });
    expect(JSON.stringify(properties.EventSourceArn)).toMatch(/LlmRepliesQueue[0-9A-F]{8}/);
    expect(JSON.stringify(properties.FunctionName)).toContain(`{"Ref":"${of("AWS::Lambda::Alias").id}"}`);
  });

  test("is fed by a queue that gives nothing up", () => {
    const queue = Object.entries(built.findResources("AWS::SQS::Queue")).find(([id]) =>
      id.startsWith("LlmRepliesQueue"),
    );
    expect(queue?.[1]["Properties"]).toMatchObject({ VisibilityTimeout: 180, MessageRetentionPeriod: 1_209_600 });
    expect(queue?.[1]["Properties"]).not.toHaveProperty("RedrivePolicy");
  });

  test("is told all that its handler asks for", () => {
    const { Variables } = of("AWS::Lambda::Function").properties.Environment;
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

  test("may do this and nothing else", () => {
    interface Statement {
      readonly Action: string | readonly string[];
      readonly Resource: unknown;
    }
    const statements: readonly Statement[] = of("AWS::IAM::Policy").properties.PolicyDocument.Statement;
    const rights = statements.map(({ Action, Resource }) => {
      const actions = [Action].flat().map((action) => action.split(":")[1]);
      return `${actions.join(" ")}: ${JSON.stringify(Resource).replaceAll(/[0-9A-F]{8}(?=")/g, "")}`;
    });
    expect(rights).toEqual([
      'CreateLogStream PutLogEvents: {"Fn::GetAtt":["LlmReplyStoreLogs","Arn"]}',
      'ChangeMessageVisibility DeleteMessage GetQueueAttributes ReceiveMessage: {"Fn::GetAtt":["LlmRepliesQueue","Arn"]}',
      'GetItem UpdateItem: {"Fn::GetAtt":["LlmJobTable","Arn"]}',
      'SendMessage: [{"Fn::GetAtt":["LlmParkedQueue","Arn"]},{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":sqs:us-west-2:123456789012:done"]]}]',
      'PutObject: {"Fn::Join":["",[{"Fn::GetAtt":["LlmRepliesBucket","Arn"]},"/outputs/*"]]}',
    ]);
    expect(of("AWS::IAM::Role").properties).not.toHaveProperty("ManagedPolicyArns");
  });
});

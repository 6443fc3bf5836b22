import type { Stack } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import { examples } from "../../infra/examples/examples.ts";
import { readBody } from "../../lib/core/feeds.ts";
import { laneLimits } from "../../lib/core/limits.ts";
import { of, rightsOf } from "./one-function.ts";
import { Template, app, config, findings, smallEntry } from "./synth.ts";

const made = examples(app(), { config: config(), entryOf: smallEntry, bucketName: "in-box" });

/** The one resource of a type that is the example's own. */
const only = (stack: Stack, type: string) => of(Template.fromStack(stack), "", type).properties;
const queueArn = (lane: string) => ({ "Fn::GetAtt": [expect.stringMatching(`^Llm${lane}Queue[0-9A-F]+$`), "Arn"] });

/** What a lane's worker makes of a body. */
function jobOf(body: string) {
  const read = readBody(body);
  return read.kind === "envelope" ? read.envelope.jobId : read;
}

describe("the example", () => {
  test.each(Object.entries(made))("%s leaves cdk-nag nothing to find", (_name, stack) =>
    expect(findings(stack)).toEqual([]),
  );

  test("of a topic has its messages delivered raw to the queue of rt", () =>
    expect(only(made.topic, "AWS::SNS::Subscription")).toMatchObject({
      Protocol: "sqs",
      RawMessageDelivery: true,
      Endpoint: queueArn("Rt"),
    }));

  test("of a rule sends the whole event to the queue of bg", () =>
    expect(only(made.eventRule, "AWS::Events::Rule").Targets).toEqual([{ Id: "Target0", Arn: queueArn("Bg") }]));

  describe("of a schedule", () => {
    const { Target } = of(Template.fromStack(made.schedule), "Nightly", "AWS::Scheduler::Schedule").properties;
    test("sends by the role of its group to the queue of bulk", () =>
      expect(Target).toMatchObject({
        Arn: queueArn("Bulk"),
        RoleArn: { "Fn::GetAtt": [expect.stringMatching(/^JobsLlmbulk/), "Arn"] },
      }));
    test("makes one job of each time it is due", () =>
      expect(jobOf(Target.Input.replace("<aws.scheduler.scheduled-time>", "2026-11-29T03:00:00Z"))).toBe(
        "nightly/2026-11-29T03:00:00Z",
      ));
  });

  describe("of pipes", () => {
    const pipes = Template.fromStack(made.pipe);
    test("makes a job of each new row", () => {
      const { TargetParameters, SourceParameters } = of(pipes, "Rows", "AWS::Pipes::Pipe").properties;
      expect(SourceParameters.FilterCriteria.Filters).toEqual([{ Pattern: '{"eventName":["INSERT"]}' }]);
      const row = { "dynamodb.Keys.id.S": "n-1", "dynamodb.NewImage.text.S": "Say hello to Ada." };
      const body = Object.entries(row).reduce(
        (text, [path, value]) => text.replace(`<$.${path}>`, value),
        TargetParameters.InputTemplate,
      );
      expect(jobOf(body)).toBe("note/n-1");
    });
    test("hands on each message of another queue as it is", () => {
      const { Target, ...others } = of(pipes, "Messages", "AWS::Pipes::Pipe").properties;
      expect(Target).toEqual(queueArn("Bg"));
      expect(others).not.toHaveProperty("TargetParameters");
    });
    test("may read its sources and send, and no more", () =>
      expect(rightsOf(of(pipes, "PipeRole", "AWS::IAM::Policy"))).toEqual([
        'SendMessage: {"Fn::GetAtt":["LlmBgQueue","Arn"]}',
        'DescribeStream GetRecords GetShardIterator ListStreams: {"Fn::GetAtt":["Notes","StreamArn"]}',
        'ChangeMessageVisibility DeleteMessage GetQueueAttributes GetQueueUrl ReceiveMessage: {"Fn::GetAtt":["Theirs","Arn"]}',
      ]));
  });

  describe("of a bucket", () => {
    test("tells the queue of bulk of each new object, once the queue lets it", () => {
      const { NotificationConfiguration } = only(made.bucket, "Custom::S3BucketNotifications");
      expect(NotificationConfiguration.QueueConfigurations).toMatchObject([
        { Events: ["s3:ObjectCreated:*"], QueueArn: queueArn("Bulk") },
      ]);
      const [custom] = Object.values(Template.fromStack(made.bucket).findResources("Custom::S3BucketNotifications"));
      expect(custom?.["DependsOn"]).toContainEqual(expect.stringMatching(/^LlmBulkQueuePolicy/));
    });
    test("may only send for its owner's account", () => {
      const policy = of(Template.fromStack(made.bucket), "LlmBulkQueuePolicy", "AWS::SQS::QueuePolicy").properties;
      expect(policy.PolicyDocument.Statement).toContainEqual(
        expect.objectContaining({
          Principal: { Service: "s3.amazonaws.com" },
          Condition: expect.objectContaining({ StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } }),
        }),
      );
    });
    test("lets the workers read it", () =>
      expect(
        rightsOf(of(Template.fromStack(made.bucket), "LlmBulkWorkerRole", "AWS::IAM::Policy")).filter(
          (right) => right.startsWith("GetObject") && right.includes(":s3:::in-box/*"),
        ),
      ).toHaveLength(1));
  });

  describe("of an API", () => {
    const method = only(made.api, "AWS::ApiGateway::Method");
    test("encodes the body, for a form ends a value at an ampersand", () =>
      expect(method.Integration).toMatchObject({
        RequestTemplates: { "application/json": "Action=SendMessage&MessageBody=$util.urlEncode($input.body)" },
        RequestParameters: { "integration.request.header.Content-Type": "'application/x-www-form-urlencoded'" },
        PassthroughBehavior: "NEVER",
      }));
    test("may send to the queue of rt, and no more", () =>
      expect(rightsOf(of(Template.fromStack(made.api), "ApiRole", "AWS::IAM::Policy"))).toEqual([
        'SendMessage: {"Fn::GetAtt":["LlmRtQueue","Arn"]}',
      ]));
    test("tells a sender when SQS has not taken the job", () => {
      const { IntegrationResponses } = method.Integration;
      const statusOf = (sqs: string) =>
        IntegrationResponses.findLast(
          ({ SelectionPattern = "" }) => SelectionPattern === "" || new RegExp(`^${SelectionPattern}$`).test(sqs),
        ).StatusCode;
      expect(["200", "400", "403", "500", "503"].map(statusOf)).toEqual(["202", "502", "502", "502", "502"]);
    });
    test("asks for a signed request with the fields that every envelope has", () => {
      expect(method.AuthorizationType).toBe("AWS_IAM");
      expect(only(made.api, "AWS::ApiGateway::Model").Schema.required).toEqual(["jobId", "model", "op"]);
    });
  });

  describe("of a state machine", () => {
    const { DefinitionString } = only(made.stateMachine, "AWS::StepFunctions::StateMachine");
    const definition = JSON.parse(
      DefinitionString["Fn::Join"][1].map((part: unknown) => (typeof part === "string" ? part : "-")).join(""),
    );
    const { Ask } = definition.States;

    test("waits by a task token for as long as its job may take", () => {
      expect(Ask.Resource).toBe("arn:-:states:::sqs:sendMessage.waitForTaskToken");
      expect(Ask.TimeoutSeconds * 1_000).toBeGreaterThan(laneLimits.bg.deadlineMsDefault);
      expect(Ask).not.toHaveProperty("HeartbeatSeconds");
    });
    test("sends the envelope with the token, which hears of the reply", () => {
      const { envelope, ...token } = Ask.Parameters.MessageBody;
      const { "jobId.$": jobId, ...others } = envelope;
      expect([jobId, token]).toEqual(["$$.Execution.Name", { "taskToken.$": "$$.Task.Token" }]);
      const body = { envelope: { jobId: "run-1", ...others }, taskToken: "AQCEAAAAKgAAAAMAAAAA-token" };
      expect(readBody(JSON.stringify(body))).toMatchObject({
        kind: "envelope",
        envelope: { jobId: "run-1", replyTo: { kind: "taskToken", token: body.taskToken } },
      });
    });
  });
});

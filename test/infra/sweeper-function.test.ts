import { describe, expect, test } from "vitest";
import { sweeperSettingsOf } from "../../lib/aws/settings.ts";
import { sweepEveryMs } from "../../lib/core/limits.ts";
import { of, rightsOf } from "./one-function.ts";
import { template } from "./synth.ts";

const done = "https://sqs.eu-west-1.amazonaws.com/123456789012/done";
const built = template({ replies: { allow: { sqs: [done] } } });
const its = (type: string, kind = "") => of(built, `LlmSweeper${kind}`, type);

describe("the sweeper", () => {
  test("has less time than passes between two sweeps", () =>
    expect(its("AWS::Lambda::Function").properties.Timeout).toBeLessThan(sweepEveryMs / 1_000));

  test("is invoked every five minutes through its alias live, and a sweep that fails is not repeated", () => {
    const alias = its("AWS::Lambda::Alias");
    const { properties } = its("AWS::Scheduler::Schedule");
    expect(properties).toMatchObject({
      ScheduleExpression: "rate(5 minutes)",
      State: "ENABLED",
      Target: {
        Arn: { Ref: alias.id },
        RoleArn: { "Fn::GetAtt": [its("AWS::IAM::Role", "ScheduleRole").id, "Arn"] },
        RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 300 },
      },
    });
    expect(its("AWS::Lambda::EventInvokeConfig").properties).toMatchObject({ MaximumRetryAttempts: 0 });
  });

  test("lets Scheduler invoke that alias, from this account, and do nothing else", () => {
    expect(its("AWS::IAM::Role", "ScheduleRole").properties.AssumeRolePolicyDocument.Statement).toEqual([
      {
        Action: "sts:AssumeRole",
        Effect: "Allow",
        Principal: { Service: "scheduler.amazonaws.com" },
        Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
      },
    ]);
    expect(rightsOf(its("AWS::IAM::Policy", "ScheduleRole"))).toEqual([
      `InvokeFunction: {"Ref":"${its("AWS::Lambda::Alias").id.slice(0, -8)}"}`,
    ]);
  });

  test("is told all that its handler asks for", () => {
    const { Variables } = its("AWS::Lambda::Function").properties.Environment;
    expect(Object.keys(Variables)).toEqual(["SLUICE_JOB_TABLE"]);
    expect(sweeperSettingsOf({ SLUICE_JOB_TABLE: "jobs" })).toEqual({ jobTable: "jobs", workerVersion: "local" });
    expect(() => sweeperSettingsOf({})).toThrow("SLUICE_JOB_TABLE is not set");
  });

  test("may do this and nothing else", () => {
    const table = '{"Fn::GetAtt":["LlmJobTable","Arn"]}';
    const rights = [
      'CreateLogStream PutLogEvents: {"Fn::GetAtt":["LlmSweeperLogs","Arn"]}',
      `Query: {"Fn::Join":["",[${table},"/index/sweep"]]}`,
      `GetItem UpdateItem: ${table}`,
    ];
    const announce =
      'SendMessage: {"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":sqs:eu-west-1:123456789012:done"]]}';
    expect(rightsOf(its("AWS::IAM::Policy", "Role"))).toEqual([...rights, announce]);
    expect(rightsOf(of(template(), "LlmSweeperRole", "AWS::IAM::Policy"))).toEqual(rights);
  });
});

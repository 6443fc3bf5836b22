import { LambdaDeploymentConfig } from "aws-cdk-lib/aws-codedeploy";
import { describe, expect, test } from "vitest";
import { lanes } from "../../lib/core/lane.ts";
import { Sluice } from "../../infra/sluice.ts";
import type { SluiceProps } from "../../infra/sluice-props.ts";
import { of } from "./one-function.ts";
import { config, findings, smallEntry, stack, template, Template } from "./synth.ts";

const group = "AWS::CodeDeploy::DeploymentGroup";
const built = template();
const names = lanes.map((lane) => `${lane.charAt(0).toUpperCase()}${lane.slice(1)}`);

function sluice(props: Partial<SluiceProps>): Template {
  const theirs = stack();
  const { node } = new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, ...props });
  expect(node.id).toBe("Llm");
  expect(findings(theirs)).toEqual([]);
  return Template.fromStack(theirs);
}

const updatesOf = (from: Template) =>
  Object.values(from.findResources("AWS::Lambda::Alias")).map(({ UpdatePolicy }) => UpdatePolicy);

describe.each(names)("a new version of the worker of %s", (name) => {
  const its = of(built, `LlmRollout${name}`, group);

  test("is given a tenth of the invocations for five minutes, then all", () =>
    expect(its.properties).toMatchObject({
      DeploymentConfigName: "CodeDeployDefault.LambdaCanary10Percent5Minutes",
      DeploymentStyle: { DeploymentOption: "WITH_TRAFFIC_CONTROL", DeploymentType: "BLUE_GREEN" },
    }));

  test("is taken back when its invocations fail or its records meet a bug, and when the shift fails or is stopped", () => {
    const alarms = ["FunctionErrors", "UnexpectedErrors"].map(
      (alarm) => of(built, `LlmAlarms${alarm}${name}`, "AWS::CloudWatch::Alarm").id,
    );
    expect(its.properties).toMatchObject({
      AlarmConfiguration: { Alarms: alarms.map((id) => ({ Name: { Ref: id } })), Enabled: true },
      AutoRollbackConfiguration: {
        Enabled: true,
        Events: ["DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_REQUEST", "DEPLOYMENT_STOP_ON_ALARM"],
      },
    });
  });

  test("comes by the alias that invokes it", () => {
    const { id } = of(built, "LlmRolloutApplication", "AWS::CodeDeploy::Application");
    const aliases = built.findResources("AWS::Lambda::Alias");
    const [, alias] = Object.entries(aliases).find(([key]) => key.startsWith(`Llm${name}Worker`)) ?? [];
    expect(alias).toMatchObject({
      UpdatePolicy: {
        CodeDeployLambdaAliasUpdate: { ApplicationName: { Ref: id }, DeploymentGroupName: { Ref: its.id } },
      },
    });
  });
});

test("the functions that few invocations reach go over at once", () =>
  expect(updatesOf(built).filter((update) => update === undefined)).toHaveLength(4));

test("who shifts may read alarms, and move the workers' aliases, no others", () => {
  const { properties } = of(built, "LlmRolloutRole", "AWS::IAM::Role");
  expect(properties).not.toHaveProperty("ManagedPolicyArns");
  const functions = names.map((name) => of(built, `Llm${name}Worker`, "AWS::Lambda::Function").id);
  const arns = functions.flatMap((id) => {
    const arn = { "Fn::GetAtt": [id, "Arn"] };
    return [arn, { "Fn::Join": ["", [arn, ":live"]] }];
  });
  const [{ PolicyDocument }] = properties.Policies;
  expect(PolicyDocument.Statement).toMatchObject([
    { Action: ["lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias"] },
    { Action: "cloudwatch:DescribeAlarms", Resource: "*" },
  ]);
  expect(new Set(PolicyDocument.Statement[0].Resource)).toEqual(new Set(arns));
});

test("how it is led over can be chosen", () => {
  const chosen = sluice({ rollout: LambdaDeploymentConfig.LINEAR_10PERCENT_EVERY_1MINUTE });
  for (const { Properties } of Object.values(chosen.findResources(group)))
    expect(Properties.DeploymentConfigName).toBe("CodeDeployDefault.LambdaLinear10PercentEvery1Minute");
});

test.each([
  ["it is switched off", sluice({ rollout: false })],
  ["there are no alarms to take it back", sluice({ alarms: false })],
  ["the app is told so for a deploy", template({}, { rollout: "none" })],
])("all versions take over at once where %s", (_says, from) => {
  from.resourceCountIs(group, 0);
  from.resourceCountIs("AWS::CodeDeploy::Application", 0);
  expect(updatesOf(from)).toEqual(Array.from({ length: 7 }, () => undefined));
});

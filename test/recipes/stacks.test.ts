/** The recipes that are stacks, synthesized; and what the map in Step Functions sends, run. */
import type { Stack, StackProps } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import type { SluiceProps } from "../../infra/sluice-props.ts";
import type { Job } from "../../lib/client/index.ts";
import type { ConfigInput } from "../../lib/config.ts";
import { createTestClient } from "../../lib/testing/index.ts";
import { app, smallEntry, Template } from "../infra/synth.ts";
import { of, rightsOf } from "../infra/one-function.ts";
import { openKitchen } from "./document.ts";

const kitchen = openKitchen();

describe("a map in Step Functions", async () => {
  const { default: config } = await kitchen.load<{ readonly default: ConfigInput }>(2, "sluice.config.ts");
  const { SummariesStack } = await kitchen.load<{
    readonly SummariesStack: new (scope: object, id: string, props: StackProps & SluiceProps) => Stack;
  }>(2, "summaries-stack.ts");
  const template = Template.fromStack(new SummariesStack(app(), "Summaries", { config, entryOf: smallEntry }));
  const { DefinitionString } = of(template, "Machine", "AWS::StepFunctions::StateMachine").properties;
  const pieces: (string | object)[] = DefinitionString["Fn::Join"][1];
  const definition = JSON.parse(pieces.map((piece) => (typeof piece === "string" ? piece : "_")).join(""));
  const { Ask, Failed } = definition.States.Each.ItemProcessor.States;

  test("waits by task token, under a heartbeat", () =>
    expect(Ask).toMatchObject({
      Resource: expect.stringMatching(/sqs:sendMessage.waitForTaskToken$/),
      HeartbeatSeconds: 900,
      TimeoutSeconds: 7_200,
    }));

  test("may send to the lane's queue, and to no other", () =>
    expect(rightsOf(of(template, "MachineRole", "AWS::IAM::Policy"))).toEqual([
      expect.stringMatching(/^SendMessage.*LlmBgQueue/),
    ]));

  test("takes an error's code from a reply, and the item's place", () =>
    expect(Failed.Parameters).toEqual({ "error.$": "$.failure.Error", "index.$": "$.index" }));

  test.each([
    ["has its job run once, though a retry sends it under another token", ["token-1", "token-2"]],
    ["has one job an item", ["token-1"]],
  ])("%s", async (_says, tokens) => {
    const sluice = createTestClient({ answer: () => "A summary.", config });
    for (const token of tokens) await sluice.submit(jobOf(sent(Ask.Parameters.MessageBody, token)));
    await sluice.run();
    expect(sluice.asked.map(({ jobId }) => jobId)).toEqual(["run-1/7"]);
    expect(sluice.announced.map(({ to }) => to)).toEqual(
      tokens.map((token) => ({ kind: "taskToken", token, heartbeatSeconds: 900 })),
    );
  });
});

describe("a nightly file's stack", async () => {
  const { NightlyStack } = await kitchen.load<{
    readonly NightlyStack: new (scope: object, id: string, props: StackProps & SluiceProps) => Stack;
  }>(4, "nightly-stack.ts");
  const { default: config } = await kitchen.load<{ readonly default: ConfigInput }>(4, "budget.ts");
  // Bundling is the CDK's own affair.
  const unbundled = app({ "aws:cdk:bundling-stacks": [] });
  const template = Template.fromStack(new NightlyStack(unbundled, "Nightly", { config, entryOf: smallEntry }));

  test("names the bucket, and when it was due", () => {
    const { Target, ScheduleExpression, ScheduleExpressionTimezone } = of(
      template,
      "EveryNight",
      "AWS::Scheduler::Schedule",
    ).properties;
    expect([ScheduleExpression, ScheduleExpressionTimezone]).toEqual(["cron(15 0 * * ? *)", "Etc/UTC"]);
    expect(JSON.stringify(Target.Input)).toContain("<aws.scheduler.scheduled-time>");
  });

  test("has a function that may send, read replies and read the bucket, and knows where", () => {
    const { Variables } = of(template, "Nightly", "AWS::Lambda::Function").properties.Environment;
    expect(Object.keys(Variables)).toEqual(
      expect.arrayContaining(["RT_QUEUE_URL", "BG_QUEUE_URL", "BULK_QUEUE_URL", "JOB_TABLE"]),
    );
    const rights = rightsOf(of(template, "NightlyServiceRoleDefaultPolicy", "AWS::IAM::Policy")).join("\n");
    expect(rights).toMatch(/SendMessage/);
    expect(rights).toMatch(/BatchGetItem/);
    expect(rights).toMatch(/GetObject.*"Jobs/);
  });
});

/** The message as Step Functions fills it in. */
function sent(template: unknown, token: string): unknown {
  if (Array.isArray(template)) return template.map((one) => sent(one, token));
  if (typeof template !== "object" || template === null) return template;
  const values: Readonly<Record<string, string>> = {
    "$$.Task.Token": token,
    "$.text": "Once upon a time.",
    "States.Format('{}/{}', $$.Execution.Name, $.index)": "run-1/7",
  };
  return Object.fromEntries(
    Object.entries(template).map(([name, value]) =>
      name.endsWith(".$") ? [name.slice(0, -2), values[value] ?? `no value for ${value}`] : [name, sent(value, token)],
    ),
  );
}

function jobOf(message: unknown): Job {
  const { envelope, ...replyTo }: { envelope: Job; taskToken: string } = JSON.parse(JSON.stringify(message));
  return { ...envelope, replyTo };
}

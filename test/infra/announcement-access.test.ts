import { describe, expect, test } from "vitest";
import { of, rightsOf } from "./one-function.ts";
import { findings, service, template } from "./synth.ts";

const sns = ["arn:aws:sns:us-west-2:123456789012:done"];
const eventBuses = ["arn:aws:events:eu-west-1:123456789012:event-bus/done", "default"];
const allow = { eventBuses, sns, taskTokens: true };
const built = template({ replies: { allow } });
const silent = template();

const functions = [
  ["the worker of rt", "LlmRtWorker"],
  ["the worker of bg", "LlmBgWorker"],
  ["the worker of bulk", "LlmBulkWorker"],
  ["the reply-store", "LlmReplyStore"],
  ["the worker of the dead letters", "LlmDeadLetters"],
  ["the sweeper", "LlmSweeperRole"],
] as const;

const announcing = /^(PutEvents|Publish|SendTask\w+)/;
const rights = (of_: typeof built, prefix: string) =>
  rightsOf(of(of_, prefix, "AWS::IAM::Policy")).filter((right) => announcing.test(right));

describe.each(functions)("%s", (_says, prefix) => {
  test("may announce to what the config allows, and to nothing else", () => {
    const beats = prefix.endsWith("Worker");
    expect(rights(built, prefix)).toEqual([
      'PutEvents: ["arn:aws:events:eu-west-1:123456789012:event-bus/done",{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":events:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},":event-bus/default"]]}]',
      'Publish: "arn:aws:sns:us-west-2:123456789012:done"',
      `SendTaskFailure${beats ? " SendTaskHeartbeat" : ""} SendTaskSuccess: "*"`,
    ]);
  });

  test("may announce to nobody where the config allows nobody", () => expect(rights(silent, prefix)).toEqual([]));

  test("may end no task for a bus's sake", () =>
    expect(rights(template({ replies: { allow: { eventBuses: ["default"] } } }), prefix)).toHaveLength(1));
});

test("cdk-nag finds nothing wrong with any of it", () => expect(findings(service({ replies: { allow } }))).toEqual([]));

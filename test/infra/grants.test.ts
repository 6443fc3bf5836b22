import type { Stack } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { describe, expect, test } from "vitest";
import { Sluice } from "../../infra/sluice.ts";
import type { SluiceProps } from "../../infra/sluice-props.ts";
import { of, rightsOf } from "./one-function.ts";
import { Template, config, findings, smallEntry, stack } from "./synth.ts";

type Granting = "grantSubmit" | "grantReadReplies" | "grantCancel" | "grantForget" | "grantCallNow";

/** What somebody may do who was granted that, and what cdk-nag says. */
function granted(grants: readonly Granting[], more: (theirs: Stack) => Partial<SluiceProps> = () => ({})) {
  const theirs = stack();
  const llm = new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, ...more(theirs) });
  const role = new Role(theirs, "Them", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  for (const grant of grants) llm[grant](role).assertSuccess();
  const built = Template.fromStack(theirs);
  return { rights: rightsOf(of(built, "Them", "AWS::IAM::Policy")), found: findings(theirs) };
}

const underKey = (theirs: Stack) => ({ key: new Key(theirs, "Key", { enableKeyRotation: true }) });

const laneQueues = ["LlmRtQueue", "LlmBgQueue", "LlmBulkQueue"].map((id) => `{"Fn::GetAtt":["${id}","Arn"]}`);
const inBucket = (prefix: string) => `{"Fn::Join":["",[{"Fn::GetAtt":["LlmRepliesBucket","Arn"]},"/${prefix}/*"]]}`;
const jobTable = '{"Fn::GetAtt":["LlmJobTable","Arn"]}';
const leaseTable = '{"Fn::GetAtt":["LlmLeaseTable","Arn"]}';
const bedrock = (where: string, what: string) =>
  `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":bedrock:${where}:${what}"]]}`;
const key = '{"Fn::GetAtt":["Key","Arn"]}';

describe("a grant gives what the client's verb does, and no more", () => {
  test.each<[grant: Granting, rights: readonly string[]]>([
    ["grantSubmit", [`SendMessage: [${laneQueues.toSorted().join(",")}]`, `PutObject: ${inBucket("params")}`]],
    ["grantReadReplies", [`BatchGetItem GetItem: ${jobTable}`, `GetObject: ${inBucket("outputs")}`]],
    ["grantCancel", [`GetItem UpdateItem: ${jobTable}`]],
    ["grantForget", [`GetItem UpdateItem: ${jobTable}`, `DeleteObject: ${inBucket("outputs")}`]],
    [
      "grantCallNow",
      [
        `BatchGetItem GetItem UpdateItem: ${leaseTable}`,
        `GetInferenceProfile InvokeModel InvokeModelWithResponseStream: ${bedrock("us-west-2", `",{"Ref":"AWS::AccountId"},":inference-profile/us.amazon.nova-lite-v1:0`)}`,
        `InvokeModel InvokeModelWithResponseStream: [${["us-east-1", "us-east-2", "us-west-2"].map((where) => bedrock(where, ":foundation-model/amazon.nova-lite-v1:0")).join(",")}]`,
      ],
    ],
  ])("%s", (grant, rights) => expect(granted([grant])).toEqual({ rights, found: [] }));

  test("grantCallNow, with the guardrails of the config", () => {
    const guardrail = "arn:aws:bedrock:us-west-2:123456789012:guardrail/gr1";
    const { rights, found } = granted(["grantCallNow"], () => ({ config: config({ guardrails: [guardrail] }) }));
    expect(rights.filter((right) => right.includes("Guardrail"))).toEqual([`ApplyGuardrail: "${guardrail}"`]);
    expect(found).toEqual([]);
  });

  const tableKey = `Decrypt DescribeKey Encrypt GenerateDataKey GenerateDataKeyWithoutPlaintext ReEncryptFrom ReEncryptTo: ${key}`;
  test.each<[grant: Granting, rights: string]>([
    ["grantSubmit", `Decrypt GenerateDataKey: ${key}`],
    ["grantReadReplies", `Decrypt DescribeKey: ${key}`],
    ["grantCancel", tableKey],
    ["grantForget", tableKey],
    ["grantCallNow", tableKey],
  ])("%s, under a key, with the key", (grant, rights) => {
    const { rights: all, found } = granted([grant], underKey);
    expect(all.filter((right) => right.endsWith(key))).toEqual([rights]);
    expect(found).toEqual([]);
  });

  test("grantSubmit, to queues of one's own, with the keys of these too", () => {
    const arn = (lane: string) => `arn:aws:sqs:us-west-2:123456789012:${lane}`;
    const { rights } = granted(["grantSubmit"], (theirs) => ({
      ...underKey(theirs),
      queues: {
        rt: Queue.fromQueueArn(theirs, "Rt", arn("rt")),
        bg: Queue.fromQueueAttributes(theirs, "Bg", { queueArn: arn("bg"), keyArn: "arn:aws:kms:us-west-2:1:key/1" }),
        bulk: Queue.fromQueueArn(theirs, "Bulk", arn("bulk")),
      },
    }));
    expect(rights).toEqual([
      `Decrypt GenerateDataKey: ["arn:aws:kms:us-west-2:1:key/1",${key}]`,
      `SendMessage: ${JSON.stringify([arn("bg"), arn("bulk"), arn("rt")])}`,
      `PutObject: ${inBucket("params")}`,
    ]);
  });
});

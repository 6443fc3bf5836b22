import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { describe, expect, test } from "vitest";
import { Sluice } from "../../infra/sluice.ts";
import { of, rightsOf } from "./one-function.ts";
import { Template, config, findings, smallEntry, stack } from "./synth.ts";

type Granting = "grantSubmit" | "grantReadReplies" | "grantCancel";

/** What somebody may do who was granted that, and what cdk-nag says. */
function granted(grants: readonly Granting[], more: { readonly key?: true } = {}) {
  const theirs = stack();
  const key = more.key === true ? { key: new Key(theirs, "Key", { enableKeyRotation: true }) } : {};
  const llm = new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, ...key });
  const role = new Role(theirs, "Them", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  for (const grant of grants) llm[grant](role).assertSuccess();
  const built = Template.fromStack(theirs);
  return { rights: rightsOf(of(built, "Them", "AWS::IAM::Policy")), found: findings(theirs) };
}

const laneQueues = ["LlmRtQueue", "LlmBgQueue", "LlmBulkQueue"].map((id) => `{"Fn::GetAtt":["${id}","Arn"]}`);
const inBucket = (prefix: string) => `{"Fn::Join":["",[{"Fn::GetAtt":["LlmRepliesBucket","Arn"]},"/${prefix}/*"]]}`;
const jobTable = '{"Fn::GetAtt":["LlmJobTable","Arn"]}';
const key = '{"Fn::GetAtt":["Key","Arn"]}';

describe("a grant gives what the client's verb does, and no more", () => {
  test.each<[grant: Granting, rights: readonly string[]]>([
    ["grantSubmit", [`SendMessage: [${laneQueues.toSorted().join(",")}]`, `PutObject: ${inBucket("params")}`]],
    ["grantReadReplies", [`BatchGetItem GetItem: ${jobTable}`, `GetObject: ${inBucket("outputs")}`]],
    ["grantCancel", [`GetItem UpdateItem: ${jobTable}`]],
  ])("%s", (grant, rights) => expect(granted([grant])).toEqual({ rights, found: [] }));

  test.each<[grant: Granting, rights: string]>([
    ["grantSubmit", `Decrypt GenerateDataKey: ${key}`],
    ["grantReadReplies", `Decrypt DescribeKey: ${key}`],
    [
      "grantCancel",
      `Decrypt DescribeKey Encrypt GenerateDataKey GenerateDataKeyWithoutPlaintext ReEncryptFrom ReEncryptTo: ${key}`,
    ],
  ])("%s, under a key, with the key", (grant, rights) => {
    const { rights: all, found } = granted([grant], { key: true });
    expect(all.filter((right) => right.endsWith(key))).toEqual([rights]);
    expect(found).toEqual([]);
  });
});

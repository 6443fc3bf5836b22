import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { Topic } from "aws-cdk-lib/aws-sns";
import { SqsSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { expect, test } from "vitest";
import { addOutputs } from "../../infra/outputs.ts";
import { Sluice } from "../../infra/sluice.ts";
import type { SluiceProps } from "../../infra/sluice-props.ts";
import { of, rightsOf } from "./one-function.ts";
import { Template, config, findings, smallEntry, stack } from "./synth.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

test("the README's construct synthesizes, with its grants and its feed", () => {
  const [, code = ""] = /```ts\n(const llm = new Sluice[\s\S]*?)```/.exec(readme) ?? [];
  const theirs = stack();
  class Quick extends Sluice {
    constructor(scope: typeof theirs, id: string, props: SluiceProps) {
      super(scope, id, { ...props, entryOf: smallEntry });
    }
  }
  runInNewContext(`(function () { ${code} }).call(theirs)`, {
    theirs,
    Sluice: Quick,
    addOutputs,
    SqsSubscription,
    config: config(),
    key: new Key(theirs, "Key", { enableKeyRotation: true }),
    app: new Role(theirs, "App", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") }),
    topic: new Topic(theirs, "Topic", { enforceSSL: true }),
  });
  const built = Template.fromStack(theirs);
  const verbs = rightsOf(of(built, "App", "AWS::IAM::Policy")).flatMap(
    (right) => right.split(":")[0]?.split(" ") ?? [],
  );
  expect(verbs).toEqual(
    expect.arrayContaining(["SendMessage", "PutObject", "GetObject", "BatchGetItem", "UpdateItem"]),
  );
  built.resourceCountIs("AWS::SNS::Subscription", 1);
  const names = Object.keys(built.findOutputs("*"));
  expect(names).toEqual(expect.arrayContaining(["bgQueueUrl", "jobTableName", "leaseTableName", "configHash"]));
  expect(findings(theirs)).toEqual([]);
});

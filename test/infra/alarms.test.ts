import { Topic } from "aws-cdk-lib/aws-sns";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as limits from "../../lib/core/limits.ts";
import { laneLimits } from "../../lib/core/limits.ts";
import { alarmTexts } from "../../infra/alarm-texts.ts";
import { Sluice } from "../../infra/sluice.ts";
import { neverEmitted, shownIn } from "./shown.ts";
import type { Shown } from "./shown.ts";
import { config, findings, smallEntry, stack, target, template, Template } from "./synth.ts";

interface Query {
  readonly Expression?: string;
  readonly MetricStat?: {
    readonly Metric: {
      readonly Namespace: string;
      readonly MetricName: string;
      readonly Dimensions?: readonly { readonly Name: string }[];
    };
  };
}

const price = { inputPerMTok: 0.06, outputPerMTok: 0.24 };
const built = template({
  models: { "fast-text": { targets: { "us-west-2": target({ price }) } } },
  lanes: { bulk: { dailyBudgetUsd: 50 } },
});
const alarmsOf = (from: Template) =>
  Object.entries(from.findResources("AWS::CloudWatch::Alarm")).map(([id, { Properties }]) => ({
    name: /^LlmAlarms(\w+?)[0-9A-F]{8}$/.exec(id)?.[1] ?? id,
    properties: Properties,
    queries: (Properties.Metrics ?? []) as readonly Query[],
  }));
const alarms = alarmsOf(built);
const named = (name: string) => alarms.find((alarm) => alarm.name === name)?.properties;

/** Standing alone, or in `datapoints` of `periods` of so many seconds. */
const rows: [name: string, above: number, periodS: number, datapoints: number, periods: number][] = [
  ["JobAgeRt", 30_000, 60, 3, 5],
  ["JobAgeBg", 15 * 60_000, 60, 3, 5],
  ["JobAgeBulk", 12 * 3_600_000, 60, 3, 5],
  ["JobsFailedRt", limits.alarmFailedPercent, 900, 1, 1],
  ["JobsFailedBg", limits.alarmFailedPercent, 900, 1, 1],
  ["JobsFailedBulk", limits.alarmFailedPercent, 900, 1, 1],
  ["DeadlineMissed", 0, 300, 1, 1],
  ["BreakerOpen", 0, 60, 5, 6],
  ["Parked", 0, 300, 1, 1],
  ["DeadLetters", 0, 300, 1, 1],
  ["UnexpectedErrorsRt", 0, 300, 1, 1],
  ["UnexpectedErrorsBg", 0, 300, 1, 1],
  ["UnexpectedErrorsBulk", 0, 300, 1, 1],
  ["InFlightRt", limits.hiddenMessagesMax, 300, 1, 1],
  ["InFlightBg", limits.hiddenMessagesMax, 300, 1, 1],
  ["InFlightBulk", limits.hiddenMessagesMax, 300, 1, 1],
  ["LeasesLost", 0, 60, 1, 1],
  ["RepliesViaOutbox", 0, 300, 1, 1],
  ["DynamoThrottles", 0, 60, 3, 5],
  ...(
    [
      ["Rt", laneLimits.rt.functionTimeoutMs],
      ["Bg", laneLimits.bg.functionTimeoutMs],
      ["Bulk", laneLimits.bulk.functionTimeoutMs],
      ["ReplyStore", limits.replyStoreTimeoutMs],
      ["DeadLetters", limits.deadLettersTimeoutMs],
      ["Sweeper", limits.sweeperTimeoutMs],
    ] as const
  ).flatMap(([name, timeoutMs]): typeof rows => [
    [`FunctionErrors${name}`, 0, 300, 1, 1],
    [`FunctionThrottles${name}`, 0, 60, 3, 5],
    [`FunctionSlow${name}`, 0.8 * timeoutMs, 300, 3, 3],
  ]),
];

describe("an alarm", () => {
  test.each(rows)("%s rings above %d, seen over %d s, %d of %d times", (name, above, periodS, datapoints, periods) => {
    const properties = named(name);
    expect(properties).toMatchObject({
      ComparisonOperator: "GreaterThanThreshold",
      Threshold: above,
      DatapointsToAlarm: datapoints,
      EvaluationPeriods: periods,
      TreatMissingData: "notBreaching",
    });
    expect(JSON.stringify(properties)).toContain(`"Period":${periodS}`);
  });

  test("rings too when the sweeper is silent, which says nothing", () =>
    expect(named("SweeperSilent")).toMatchObject({
      ComparisonOperator: "LessThanThreshold",
      Threshold: 1,
      Period: limits.sweepEveryMs / 1_000,
      EvaluationPeriods: 3,
      TreatMissingData: "breaching",
    }));

  test("rings for a lane with a budget when that is spent, until something else is told", () =>
    expect(named("BudgetSpentBulk")).toMatchObject({
      Metrics: [
        {
          MetricStat: {
            Metric: {
              Namespace: "Sluice",
              MetricName: "BudgetUsedPercent",
              Dimensions: [{ Name: "lane", Value: "bulk" }],
            },
            Stat: "Maximum",
            Period: 60,
          },
        },
      ],
      ComparisonOperator: "GreaterThanThreshold",
      Threshold: 99.999,
      EvaluationPeriods: 1,
      TreatMissingData: "ignore",
    }));

  test("watches no budget where there is none", () =>
    expect(alarmsOf(template()).filter(({ name }) => name.startsWith("Budget"))).toEqual([]));

  test("stands in the table above, and has a text, whichever it is", () => {
    expect(alarms.map(({ name }) => name).toSorted()).toEqual(
      [...rows.map(([name]) => name), "SweeperSilent", "BudgetSpentBulk"].toSorted(),
    );
    const used = Object.keys(alarmTexts).filter((text) => alarms.some(({ name }) => name.startsWith(text)));
    expect(used).toEqual(Object.keys(alarmTexts));
  });

  test.each(alarms)("$name says whose it is, what happened and what to do", ({ name, properties }) => {
    const [text] = Object.entries(alarmTexts)
      .filter(([key]) => name.startsWith(key))
      .toSorted(([one], [other]) => other.length - one.length);
    expect(properties.AlarmDescription).toContain(`${text?.[1].when}. ${text?.[1].remedy}`);
    const [, of = ""] = /^([\w-]+): /.exec(properties.AlarmDescription) ?? [];
    expect(`${text?.[0]}${of.replaceAll("-", "")}`.toLowerCase()).toBe(name.toLowerCase());
  });

  test("asks for nothing that is never emitted", () => {
    const asked = alarms
      .flatMap(({ queries }) => queries)
      .flatMap(({ Expression = "", MetricStat }): readonly Shown[] => {
        if (MetricStat?.Metric.Namespace !== "Sluice") return shownIn(Expression);
        const { MetricName: name, Dimensions = [] } = MetricStat.Metric;
        return [{ name, by: Dimensions.map(({ Name }) => Name) }];
      });
    expect(new Set(asked.map(({ name }) => name))).toEqual(
      new Set([
        "JobAgeMs",
        "JobsFailed",
        "JobsSucceeded",
        "JobsExpired",
        "RepliesViaOutbox",
        "BreakerShut",
        "BudgetUsedPercent",
        "UnexpectedErrors",
        "LeasesLost",
      ]),
    );
    expect(neverEmitted(asked)).toEqual([]);
  });

  test("asks for ten metrics at most, as CloudWatch wants it, and names each", () => {
    for (const { queries } of alarms) {
      expect(queries.filter(({ MetricStat }) => MetricStat !== undefined).length).toBeLessThanOrEqual(10);
      expect(queries.every(({ Expression }) => Expression !== "")).toBe(true);
    }
  });

  test("of the age of jobs hears of what was delivered, and of what nobody receives", () => {
    const { Metrics } = named("JobAgeBg");
    expect(Metrics[0]).toMatchObject({ Expression: "MAX([delivered, waiting])", ReturnData: true });
    expect(JSON.stringify(Metrics)).toContain('"MetricName":"JobAgeMs","Namespace":"Sluice"');
    expect(JSON.stringify(Metrics)).toContain('"MetricName":"ApproximateAgeOfOldestMessage","Namespace":"AWS/SQS"');
    expect(JSON.stringify(Metrics)).toContain('"Expression":"1000 * oldestS"');
  });

  test("of failed jobs counts a part of enough of them", () =>
    expect(named("JobsFailedRt").Metrics[0].Expression).toBe(
      "IF((failed + succeeded) >= 20, 100 * failed / (failed + succeeded), 0)",
    ));

  test("of replies by the replies queue hears of those that wait there, in sight or in hand, after the last has come", () => {
    const [sum, ...looked] = named("RepliesViaOutbox").Metrics;
    expect(sum.Expression).toBe("m0 + m1 + m2 + m3 + m4");
    const queue = Object.keys(built.findResources("AWS::SQS::Queue")).find((id) => id.startsWith("LlmRepliesQueue"));
    const ofQueue = looked.filter(({ MetricStat }: Query) => MetricStat?.Metric.Namespace === "AWS/SQS");
    expect(ofQueue).toMatchObject(
      ["ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible"].map((MetricName) => ({
        MetricStat: {
          Metric: { MetricName, Dimensions: [{ Name: "QueueName", Value: { "Fn::GetAtt": [queue, "QueueName"] } }] },
          Stat: "Maximum",
          Period: 300,
        },
      })),
    );
  });

  test("of DynamoDB's refusals hears that there are none, for DynamoDB tells of nothing then, and an alarm keeps its state", () => {
    const [sum, ...looked] = named("DynamoThrottles").Metrics;
    expect(looked.map(({ MetricStat }: Query) => MetricStat?.Metric.Namespace)).toEqual(Array(6).fill("AWS/DynamoDB"));
    expect(sum.Expression).toBe("FILL(m0, 0) + FILL(m1, 0) + FILL(m2, 0) + FILL(m3, 0) + FILL(m4, 0) + FILL(m5, 0)");
  });

  test("fills gaps nowhere else: the newest minute is always one", () => {
    const filled = alarms.filter(({ queries }) => queries.some(({ Expression = "" }) => Expression.includes("FILL")));
    expect(filled.map(({ name }) => name)).toEqual(["DynamoThrottles"]);
  });

  test("of a breaker tells the targets apart, however many there are", () =>
    expect(named("BreakerOpen").Metrics).toMatchObject([
      { Expression: 'SELECT SUM("BreakerShut") FROM SCHEMA("Sluice", "model", "target") GROUP BY "model", "target"' },
    ]));

  test("tells when it begins and when it is over", () => {
    const [topic] = Object.keys(built.findResources("AWS::SNS::Topic"));
    for (const { properties } of alarms)
      expect(properties).toMatchObject({ AlarmActions: [{ Ref: topic }], OKActions: [{ Ref: topic }] });
  });
});

describe("the alarms' topic", () => {
  const [topicId = "", topic] = Object.entries(built.findResources("AWS::SNS::Topic"))[0] ?? [];
  const ofAccount = { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } };
  const cloudWatch = { Service: "cloudwatch.amazonaws.com" };

  test("is encrypted under a key that turns, and that alarms may use", () => {
    const [keyId = "", key] = Object.entries(built.findResources("AWS::KMS::Key"))[0] ?? [];
    expect(topic?.["Properties"].KmsMasterKeyId).toEqual({ "Fn::GetAtt": [keyId, "Arn"] });
    expect(key?.["Properties"].EnableKeyRotation).toBe(true);
    expect(key?.["Properties"].KeyPolicy.Statement).toContainEqual(
      expect.objectContaining({
        Effect: "Allow",
        Principal: cloudWatch,
        Action: ["kms:Decrypt", "kms:GenerateDataKey*"],
        Condition: ofAccount,
      }),
    );
  });

  test("is for TLS only, and for this account's alarms", () => {
    const [policy] = Object.values(built.findResources("AWS::SNS::TopicPolicy"));
    expect(policy?.["Properties"].PolicyDocument.Statement).toMatchObject([
      { Effect: "Deny", Action: "sns:Publish", Condition: { Bool: { "aws:SecureTransport": "false" } } },
      {
        Effect: "Allow",
        Action: "sns:Publish",
        Principal: cloudWatch,
        Condition: ofAccount,
        Resource: { Ref: topicId },
      },
    ]);
  });

  test("may be given, and then none is made", () => {
    const theirs = stack();
    const alarmTopic = Topic.fromTopicArn(theirs, "Theirs", "arn:aws:sns:eu-west-1:123456789012:pager");
    const { alarmTopic: used } = new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, alarmTopic });
    const made = Template.fromStack(theirs);
    expect(used).toBe(alarmTopic);
    expect(made.findResources("AWS::SNS::Topic")).toEqual({});
    expect(made.findResources("AWS::KMS::Key")).toEqual({});
    for (const { properties } of alarmsOf(made)) expect(properties.AlarmActions).toEqual([alarmTopic.topicArn]);
  });

  test("is left out with the alarms, as the dashboard is, where nobody wants them", () => {
    const theirs = stack();
    const without = { config: config(), entryOf: smallEntry, alarms: false, dashboard: false };
    const sluice = new Sluice(theirs, "Llm", without);
    expect([sluice.alarms, sluice.dashboard, sluice.alarmTopic]).toEqual([undefined, undefined, undefined]);
    const made = Template.fromStack(theirs);
    for (const type of ["CloudWatch::Alarm", "CloudWatch::Dashboard", "SNS::Topic", "KMS::Key"])
      expect(made.findResources(`AWS::${type}`)).toEqual({});
    expect(findings(theirs)).toEqual([]);
  });
});

test("the README tells of every alarm, and what to do", () => {
  const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
  const cells = [...readme.matchAll(/^\| `([A-Z]\w+)` +\| (.*?) +\| (.*?) +\|$/gm)].map(([, ...row]) => row);
  expect(cells).toEqual(Object.entries(alarmTexts).map(([name, { when, remedy }]) => [name, when, remedy]));
});

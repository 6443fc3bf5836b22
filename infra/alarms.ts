import { Annotations, Aws, Duration } from "aws-cdk-lib";
import type { RemovalPolicy } from "aws-cdk-lib";
import { Alarm, ComparisonOperator, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Topic } from "aws-cdk-lib/aws-sns";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { budgetedLanes } from "../lib/core/budget.ts";
import { lanes } from "../lib/core/lane.ts";
import type { Lane } from "../lib/core/lane.ts";
import {
  alarmBreakerShutMs,
  alarmDurationPercent,
  alarmFailedJobsMin,
  alarmFailedOverMs,
  alarmFailedPercent,
  alarmJobAgeMs,
  alarmSweeperSilentMs,
  hiddenMessagesMax,
  sweepEveryMs,
} from "../lib/core/limits.ts";
import type { MetricName } from "../lib/core/metrics.ts";
import { alarmTexts } from "./alarm-texts.ts";
import type { AlarmName } from "./alarm-texts.ts";
import { expression, functionsOf, grouped, metric, minute, tableThrottles } from "./metrics.ts";
import type { Watched } from "./metrics.ts";

/** It rings when the metric is above the threshold, or below it, in `datapoints` of `periods`; `of`: the lane or the function. */
interface Watch {
  readonly name: AlarmName;
  readonly of?: string;
  readonly metric: IMetric;
  readonly threshold: number;
  /** Default: above. */
  readonly rings?: "below";
  readonly datapoints?: number;
  readonly periods?: number;
  /** What it is to hear nothing. Default: calm, for most metrics are only told when something happens. */
  readonly silence?: keyof typeof silences;
}

const silences = {
  calm: TreatMissingData.NOT_BREACHING,
  alarming: TreatMissingData.BREACHING,
  /** What was told last holds until something else is told. */
  lasting: TreatMissingData.IGNORE,
};

export interface ServiceAlarmsProps {
  readonly watched: Watched;
  /** Default: a topic of our own. */
  readonly topic?: ITopic | undefined;
  /** Of our topic. Default: a key of its own, for no service may publish under the one that AWS manages. */
  readonly key?: IKey | undefined;
  readonly removalPolicy: RemovalPolicy;
}

const fiveMinutes = Duration.minutes(5);
/** Percent: a budget is spent at 100, and the alarm rings above. */
const justBelowAll = 99.999;
/** One straggler is no backlog, and a table that grows refuses for a moment. */
const threeOfFive = { datapoints: 3, periods: 5 };

/** Each says what happened and what to do about it; all go to one topic, also when it is over. */
export class ServiceAlarms extends Construct {
  readonly alarms: readonly Alarm[];
  readonly topic: ITopic;
  readonly #byId = new Map<string, Alarm>();

  constructor(scope: Construct, id: string, { watched, topic, ...props }: ServiceAlarmsProps) {
    super(scope, id);
    this.topic = topic ?? this.ownTopic(props);
    const action = new SnsAction(this.topic);
    this.alarms = watchesOf(watched).map((watch) => {
      const alarm = new Alarm(this, idOf(watch.name, watch.of), alarmProps(watch));
      this.#byId.set(alarm.node.id, alarm);
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return alarm;
    });
  }

  /** `of`: the lane or the function that it watches. */
  find(name: AlarmName, of: string): Alarm {
    const found = this.#byId.get(idOf(name, of));
    if (found === undefined) throw new Error(`no alarm ${name} watches ${of}`);
    return found;
  }

  private ownTopic({ key, removalPolicy }: Pick<ServiceAlarmsProps, "key" | "removalPolicy">): Topic {
    const masterKey = key ?? new Key(this, "Key", { enableKeyRotation: true, removalPolicy });
    const topic = new Topic(this, "Topic", { displayName: "Sluice", masterKey, enforceSSL: true });
    const principals = [new ServicePrincipal("cloudwatch.amazonaws.com")];
    const conditions = { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } };
    // A topic with a policy of its own has lost the one that let its account's alarms publish.
    topic.addToResourcePolicy(
      new PolicyStatement({ principals, actions: ["sns:Publish"], resources: [topic.topicArn], conditions }),
    );
    const { statementAdded } = masterKey.addToResourcePolicy(
      new PolicyStatement({
        principals,
        actions: ["kms:Decrypt", "kms:GenerateDataKey*"],
        resources: ["*"],
        conditions,
      }),
    );
    if (!statementAdded)
      Annotations.of(this).addWarningV2(
        "sluice:alarmKey",
        "The key is imported: its policy must let cloudwatch.amazonaws.com use kms:Decrypt and kms:GenerateDataKey*, or no alarm is ever heard of",
      );
    return topic;
  }
}

function alarmProps(watch: Watch) {
  const { name, of, metric: watched, threshold, rings, datapoints = 1, periods = datapoints, silence = "calm" } = watch;
  const { when, remedy } = alarmTexts[name];
  return {
    alarmDescription: `${of === undefined ? "" : `${of}: `}${when}. ${remedy}`,
    metric: watched,
    threshold,
    comparisonOperator:
      rings === "below" ? ComparisonOperator.LESS_THAN_THRESHOLD : ComparisonOperator.GREATER_THAN_THRESHOLD,
    evaluationPeriods: periods,
    datapointsToAlarm: datapoints,
    treatMissingData: silences[silence],
  };
}

function watchesOf(watched: Watched): readonly Watch[] {
  return [
    ...lanes.flatMap((lane) => watchesOfLane(watched, lane)),
    { name: "Parked", metric: depth(watched.parked.queue), threshold: 0 },
    ...watchesOfDeadLetters(watched),
    { name: "DeadlineMissed", metric: sumOf(overLanes("JobsExpired"), fiveMinutes), threshold: 0 },
    { name: "RepliesViaOutbox", metric: repliesOutside(watched), threshold: 0 },
    {
      name: "BreakerOpen",
      metric: expression(grouped("BreakerShut", ["model", "target"])),
      threshold: 0,
      // Whoever waits for a probe says nothing: a minute may be silent.
      datapoints: alarmBreakerShutMs / minute.toMilliseconds(),
      periods: alarmBreakerShutMs / minute.toMilliseconds() + 1,
    },
    ...budgetedLanes(watched.config).map((lane): Watch => ({
      name: "BudgetSpent",
      of: lane,
      metric: metric("BudgetUsedPercent", { lane }, "Maximum"),
      threshold: justBelowAll,
      // A lane that waits spends nothing and tells nothing, until its next day begins.
      silence: "lasting",
    })),
    { name: "LeasesLost", metric: expression(grouped("LeasesLost", ["model", "target"])), threshold: 0 },
    ...functionsOf(watched).flatMap(([of, { function: fn, timeoutMs }]): Watch[] => [
      {
        name: "FunctionErrors",
        of,
        metric: fn.metricErrors({ statistic: "Sum", period: fiveMinutes }),
        threshold: 0,
      },
      {
        name: "FunctionThrottles",
        of,
        metric: fn.metricThrottles({ statistic: "Sum", period: minute }),
        threshold: 0,
        ...threeOfFive,
      },
      {
        name: "FunctionSlow",
        of,
        metric: fn.metricDuration({ statistic: "p99", period: fiveMinutes }),
        threshold: (alarmDurationPercent * timeoutMs) / 100,
        datapoints: 3,
      },
    ]),
    {
      name: "SweeperSilent",
      metric: watched.sweeper.function.metricInvocations({ statistic: "Sum", period: fiveMinutes }),
      rings: "below",
      threshold: 1,
      silence: "alarming",
      datapoints: alarmSweeperSilentMs / sweepEveryMs,
    },
    { name: "DynamoThrottles", metric: throttlesOf(watched), threshold: 0, ...threeOfFive },
  ];
}

function watchesOfLane({ jobQueues }: Watched, lane: Lane): readonly Watch[] {
  const { queue } = jobQueues[lane];
  const oldestS = queue.metricApproximateAgeOfOldestMessage({ statistic: "Maximum", period: minute });
  return [
    {
      name: "JobAge",
      of: lane,
      // SQS forgets the age of what was received three times; ours knows nothing of what nobody receives.
      metric: expression("MAX([delivered, waiting])", "age, ms", {
        delivered: metric("JobAgeMs", { lane }, "Maximum"),
        waiting: expression("1000 * oldestS", "waiting", { oldestS }),
      }),
      threshold: alarmJobAgeMs[lane],
      ...threeOfFive,
    },
    { name: "InFlight", of: lane, metric: hidden(queue), threshold: hiddenMessagesMax },
    { name: "JobsFailed", of: lane, metric: failedPart(lane), threshold: alarmFailedPercent },
    {
      name: "UnexpectedErrors",
      of: lane,
      metric: metric("UnexpectedErrors", { lane }, "Sum", lane, fiveMinutes),
      threshold: 0,
    },
  ];
}

function failedPart(lane: Lane): IMetric {
  const period = Duration.millis(alarmFailedOverMs);
  const sum = (name: MetricName) => metric(name, { lane }, "Sum", name, period);
  const used = { failed: sum("JobsFailed"), succeeded: sum("JobsSucceeded") };
  const ended = "(failed + succeeded)";
  const part = `IF(${ended} >= ${alarmFailedJobsMin}, 100 * failed / ${ended}, 0)`;
  return expression(part, "failed, %", used, period);
}

/** Those of our own queues: seen there, or gone through so quickly that nobody saw them. */
function watchesOfDeadLetters({ jobQueues }: Watched): readonly Watch[] {
  const metrics = lanes.flatMap((lane) => {
    const { deadLetters } = jobQueues[lane];
    if (deadLetters === undefined) return [];
    return [depth(deadLetters), deadLetters.metricNumberOfMessagesReceived({ statistic: "Sum", period: fiveMinutes })];
  });
  return metrics.length === 0 ? [] : [{ name: "DeadLetters", metric: sumOf(metrics, fiveMinutes), threshold: 0 }];
}

/** Those that went by the replies queue, and those that still wait there: what was paid for must not be stuck in silence. */
function repliesOutside({ repliesQueue: { queue } }: Watched): IMetric {
  return sumOf([...overLanes("RepliesViaOutbox"), depth(queue), hidden(queue)], fiveMinutes);
}

/**
 * Alarms on DynamoDB's metrics ignore what is missing, whatever they are told, and without a refusal all of it is: one
 * that has rung would ring for ever. The newest minutes are filled too soon; three of five hear of them later.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
 */
function throttlesOf(watched: Watched): IMetric {
  return sumOf(tableThrottles(watched), minute, (id) => `FILL(${id}, 0)`);
}

function depth(queue: IQueue): IMetric {
  return queue.metricApproximateNumberOfMessagesVisible({ statistic: "Maximum", period: fiveMinutes });
}

function hidden(queue: IQueue): IMetric {
  return queue.metricApproximateNumberOfMessagesNotVisible({ statistic: "Maximum", period: fiveMinutes });
}

function overLanes(name: MetricName): IMetric[] {
  return lanes.map((lane) => metric(name, { lane }, "Sum", lane, fiveMinutes));
}

/** Ten metrics are the most that an alarm takes. What is missing counts as nothing beside what is there. */
function sumOf(metrics: readonly IMetric[], period: Duration, termOf = (id: string) => id): IMetric {
  const named = metrics.map((each, place) => [`m${place}`, each] as const);
  return expression(named.map(([id]) => termOf(id)).join(" + "), "all", Object.fromEntries(named), period);
}

function idOf(name: AlarmName, of = ""): string {
  const words = of.split("-").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${name}${words.join("")}`;
}

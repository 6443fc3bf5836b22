import { Stack } from "aws-cdk-lib";
import { AlarmStatusWidget, CustomWidget, Dashboard, GraphWidget, TextWidget } from "aws-cdk-lib/aws-cloudwatch";
import type { Alarm, GraphWidgetProps, IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import { budgetedLanes } from "../lib/core/budget.ts";
import { targetsOf } from "../lib/core/config.ts";
import { lanes } from "../lib/core/lane.ts";
import { budgetNearPercent, hiddenMessagesMax } from "../lib/core/limits.ts";
import { memoryMb } from "./live-function.ts";
import type { LiveFunction } from "./live-function.ts";
import {
  eachLane,
  eachTarget,
  expression,
  functionsOf,
  grouped,
  linesMax,
  metric,
  minute,
  tableThrottles,
  total,
} from "./metrics.ts";
import type { Watched } from "./metrics.ts";

/** A graph of one or more lines; a text is an expression whose lines have names of their own. */
interface Graph extends Pick<GraphWidgetProps, "stacked" | "leftAnnotations"> {
  readonly title: string;
  readonly lines: readonly (IMetric | string)[];
}

interface Row {
  readonly title: string;
  readonly how: string;
  readonly graphs: readonly Graph[];
}

export interface ServiceDashboardProps {
  readonly watched: Watched;
  readonly alarms: readonly Alarm[];
  /** Shows what no metric can: which jobs are open, and why. */
  readonly widget: LiveFunction | undefined;
}

/** A row for each stage of a job's life, in the order in which data flows. */
export class ServiceDashboard extends Construct {
  readonly dashboard: Dashboard;
  readonly url: string;

  constructor(scope: Construct, id: string, { watched, alarms, widget }: ServiceDashboardProps) {
    super(scope, id);
    this.dashboard = new Dashboard(this, "Dashboard");
    if (alarms.length > 0)
      this.dashboard.addWidgets(new AlarmStatusWidget({ title: "Alarms", alarms: [...alarms], width: 24, height: 4 }));
    if (widget !== undefined) this.dashboard.addWidgets(openJobs(widget));
    for (const { title, how, graphs } of rowsOf(watched)) {
      this.dashboard.addWidgets(new TextWidget({ markdown: `## ${title}\n${how}`, width: 24, height: 2 }));
      this.dashboard.addWidgets(...graphs.map(widgetOf));
    }
    const { region } = Stack.of(this);
    this.url = `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards:name=${this.dashboard.dashboardName}`;
  }
}

/** It reads tables at each refresh, and neither its size nor the time range changes what it shows: it is now. */
function openJobs({ alias }: LiveFunction): CustomWidget {
  return new CustomWidget({
    title: "Open jobs, and why each waits",
    functionArn: alias.functionArn,
    updateOnRefresh: true,
    updateOnResize: false,
    updateOnTimeRangeChange: false,
    width: 24,
    height: 12,
  });
}

function widgetOf({ lines, ...graph }: Graph): GraphWidget {
  return new GraphWidget({
    ...graph,
    left: lines.map((line) => (typeof line === "string" ? expression(line) : line)),
    leftYAxis: { min: 0, showUnits: false },
    width: 6,
    height: 6,
  });
}

function rowsOf(watched: Watched): readonly Row[] {
  return [
    {
      title: "In",
      how: "Age rises, in flight does not: workers or leases are short, see Leases. Hidden messages are in flight too: they wait. Whatever is parked waits for you.",
      graphs: graphsOfIn(watched),
    },
    {
      title: "Claims",
      how: "Started jobs against their requeues: many requeues for capacity say that the limits, not the workers, are the bound. Duplicates cost a write each, and no request.",
      graphs: graphsOfClaims(),
    },
    {
      title: "Leases",
      how: "At 100 % of its limit a target is full: raise the limit if nothing cuts it. Cuts without raises: Bedrock throttles below what the config hopes for. Lost leases mean frozen or starved workers.",
      graphs: graphsOfLeases(watched),
    },
    {
      title: "Attempts",
      how: `One attempt is one request to Bedrock. Of many targets the ${linesMax} highest are shown. A breaker that is met shut for minutes has a target that does not work: its jobs go to the next step.`,
      graphs: graphsOfAttempts(),
    },
    {
      title: "Replies",
      how: "Every job ends in one reply. Codes say why it failed. Replies by the replies queue: the job table did not take them at first; nothing is lost, but look at Health.",
      graphs: graphsOfReplies(),
    },
    {
      title: "Cost",
      how: "USD by the prices of the config, of which the bill knows better. At 100 % of its budget a lane waits for midnight UTC. Wasted: tokens of requests that were cut or failed, and may be billed. Waiting is paid Lambda time in which nothing was asked.",
      graphs: graphsOfCost(watched),
    },
    {
      title: "Health",
      how: "Of ours and below us: errors and throttles should be none, durations well below 80 % of the timeout, the replies queue and the dead letters empty.",
      graphs: graphsOfHealth(watched),
    },
  ];
}

function graphsOfIn({ jobQueues, parked }: Watched): readonly Graph[] {
  const queues = lanes.map((lane) => [lane, jobQueues[lane].queue] as const);
  const facts = { period: minute, statistic: "Maximum" };
  return [
    { title: "Age of jobs at their delivery, ms, highest", lines: eachLane("JobAgeMs", "Maximum") },
    {
      title: "Visible messages",
      lines: queues.map(([label, queue]) => queue.metricApproximateNumberOfMessagesVisible({ ...facts, label })),
    },
    {
      title: "In flight, hidden ones with them",
      lines: queues.map(([label, queue]) => queue.metricApproximateNumberOfMessagesNotVisible({ ...facts, label })),
      leftAnnotations: [{ value: hiddenMessagesMax, label: "delays are cut short" }],
    },
    {
      title: "Parked",
      lines: [
        parked.queue.metricApproximateNumberOfMessagesVisible({ ...facts, label: "waiting for an operator" }),
        grouped("JobsParked", ["lane", "reason"]),
      ],
    },
  ];
}

function graphsOfClaims(): readonly Graph[] {
  return [
    { title: "Jobs started", lines: eachLane("JobsStarted", "Sum"), stacked: true },
    { title: "From enqueueing to the claim, ms, p95", lines: eachLane("QueueMs", "p95") },
    { title: "Requeues by cause", lines: [grouped("Requeues", ["cause"])], stacked: true },
    {
      title: "Not run",
      lines: [total("DuplicatesSuppressed"), total("JobsRefused"), total("UnknownModelReleases")],
    },
  ];
}

function graphsOfLeases({ config }: Watched): readonly Graph[] {
  // Named one by one: two searches cannot be divided by each other.
  const used = targetsOf(config).map(({ step, model, name: target }, place) => {
    const [inUse, limit] = [`inUse${place}`, `limit${place}`];
    return expression(`100 * ${inUse} / ${limit}`, step, {
      [inUse]: metric("LeasesInUse", { model, target }, "Maximum"),
      [limit]: metric("LeaseLimit", { model, target }, "Minimum"),
    });
  });
  return [
    { title: "In use, % of the target's limit", lines: used, leftAnnotations: [{ value: 100, label: "full" }] },
    { title: "Leases in use", lines: [grouped("LeasesInUse", ["model", "target"], "MAX", linesMax)] },
    { title: "Limits", lines: [grouped("LeaseLimit", ["model", "target"], "MAX", linesMax)] },
    { title: "Cuts and raises", lines: [total("LimitCuts"), total("LimitRaises")] },
    { title: "Wait for a lease by lane, ms, p95", lines: eachLane("LeaseWaitMs", "p95") },
    { title: "Wait for a lease by target, ms, p95", lines: [eachTarget("LeaseWaitMs", "p95")] },
    { title: "Refused by reason", lines: [grouped("LeasesRefused", ["reason"])], stacked: true },
    {
      title: "Leases",
      lines: (["LeasesTakenAtOnce", "LeasesWaited", "LeasesHeld", "LeasesReclaimed", "LeasesLost"] as const).map(total),
    },
  ];
}

function graphsOfAttempts(): readonly Graph[] {
  return [
    { title: "Attempts by outcome", lines: [grouped("Attempts", ["outcome"])], stacked: true },
    ...["p50", "p95", "p99"].map((part) => ({
      title: `Bedrock's time by target, ms, ${part}`,
      lines: [eachTarget("ProviderMs", part)],
    })),
    { title: "Throttles by target", lines: [grouped("Throttles", ["model", "target"], "SUM", linesMax)] },
    {
      title: "Fallback, and steps skipped by reason",
      lines: [total("FallbackUsed"), grouped("StepsSkipped", ["reason"])],
    },
    { title: "Breakers met shut, by target", lines: [grouped("BreakerShut", ["model", "target"], "SUM", linesMax)] },
    { title: "Breakers", lines: [total("BreakerOpened"), total("BreakerProbes"), total("BreakerClosed")] },
    { title: "Bedrock's time by lane, ms, p95", lines: eachLane("ProviderMs", "p95") },
    { title: "Leases held by target, ms, p95", lines: [eachTarget("LeaseHeldMs", "p95")] },
  ];
}

function graphsOfReplies(): readonly Graph[] {
  const success = lanes.map((lane) => {
    const sum = (name: "JobsSucceeded" | "JobsFailed" | "JobsExpired") => metric(name, { lane }, "Sum");
    const [good, bad, late] = [`${lane}Good`, `${lane}Bad`, `${lane}Late`];
    const used = { [good]: sum("JobsSucceeded"), [bad]: sum("JobsFailed"), [late]: sum("JobsExpired") };
    return expression(`100 * ${good} / (${good} + ${bad} + ${late})`, lane, used);
  });
  return [
    { title: "Succeeded, % of those not cancelled", lines: success },
    { title: "Deadlines missed", lines: eachLane("JobsExpired", "Sum") },
    { title: "Failed by code", lines: [grouped("JobsFailed", ["code"])], stacked: true },
    { title: "From enqueueing to the reply, ms, p95", lines: eachLane("TotalMs", "p95") },
    { title: "Replies", lines: [total("JobsSucceeded"), total("JobsFailed"), total("JobsCancelled")], stacked: true },
    {
      title: "Not stored, or not told, at first",
      lines: [total("ReplyStoreFailures"), total("RepliesViaOutbox"), total("AnnouncementsFailed")],
    },
  ];
}

function graphsOfCost(watched: Watched): readonly Graph[] {
  const gbSeconds = functionsOf(watched).map(([label, { function: fn }], place) => {
    const duration = fn.metricDuration({ statistic: "Sum", period: minute });
    return expression(`duration${place} / 1000 * ${memoryMb / 1_024}`, label, { [`duration${place}`]: duration });
  });
  // Whatever the period is that the dashboard's range asks for; PERIOD knows that of a metric, and of no query.
  const usedByHour = {
    usd: expression(grouped("CostUsd", ["model"])),
    pulse: watched.sweeper.function.metricInvocations({ period: minute }),
  };
  const hourly = expression("usd * (3600 / PERIOD(pulse))", undefined, usedByHour);
  const budgeted = budgetedLanes(watched.config);
  const ofBudget = (name: "BudgetSpentUsd" | "BudgetUsedPercent") =>
    budgeted.map((lane) => metric(name, { lane }, "Maximum", lane));
  const budgets: readonly Graph[] = [
    {
      title: "Budget of the day, % spent by lane",
      lines: ofBudget("BudgetUsedPercent"),
      leftAnnotations: [
        { value: 100, label: "spent" },
        { value: budgetNearPercent, label: "nearly" },
      ],
    },
    { title: "Spent of a budget today, USD by lane", lines: ofBudget("BudgetSpentUsd") },
  ];
  return [
    { title: "Tokens", lines: [total("InputTokens"), total("OutputTokens"), total("CacheTokens")], stacked: true },
    { title: "USD an hour by model", lines: [hourly], stacked: true },
    ...(budgeted.length === 0 ? [] : budgets),
    { title: "Tokens perhaps billed for nothing", lines: [grouped("PossiblyWastedTokens", ["model", "target"])] },
    { title: "Billed while waiting, ms", lines: eachLane("BilledWaitMs", "Sum"), stacked: true },
    { title: "Slept in backoff, ms, by job", lines: eachLane("SleptMs", "Average") },
    { title: "Neither Bedrock nor waiting, ms, by invocation", lines: eachLane("OverheadMs", "Average") },
    { title: "Lambda, GB-s", lines: gbSeconds, stacked: true },
  ];
}

function graphsOfHealth(watched: Watched): readonly Graph[] {
  const functions = functionsOf(watched);
  const sum = { statistic: "Sum", period: minute };
  const slow = functions.map(([label, { function: fn, timeoutMs }], place) => {
    const duration = fn.metricDuration({ statistic: "p99", period: minute });
    return expression(`100 * duration${place} / ${timeoutMs}`, label, { [`duration${place}`]: duration });
  });
  const facts = { period: minute, statistic: "Maximum" };
  const waiting = lanes.flatMap((lane) => {
    const dead = watched.jobQueues[lane].deadLetters;
    return dead === undefined ? [] : [dead.metricApproximateNumberOfMessagesVisible({ ...facts, label: lane })];
  });
  const replies = watched.repliesQueue.queue;
  return [
    {
      title: "Failed invocations",
      lines: functions.map(([label, { function: fn }]) => fn.metricErrors({ ...sum, label })),
    },
    { title: "Records that met a bug", lines: eachLane("UnexpectedErrors", "Sum") },
    {
      title: "Invocations throttled",
      lines: functions.map(([label, { function: fn }]) => fn.metricThrottles({ ...sum, label })),
    },
    { title: "Duration, % of the timeout, p99", lines: slow, leftAnnotations: [{ value: 100, label: "cut off" }] },
    { title: "DynamoDB's refusals", lines: [...tableThrottles(watched), total("DynamoThrottled")] },
    {
      title: "Replies queue",
      lines: [
        replies.metricApproximateNumberOfMessagesVisible({ ...facts, label: "waiting" }),
        replies.metricApproximateNumberOfMessagesNotVisible({ ...facts, label: "being stored" }),
      ],
    },
    { title: "Dead letters", lines: waiting },
    { title: "Sweeper", lines: [total("RowsSwept"), total("JobsSwept")] },
  ].filter(({ lines }) => lines.length > 0);
}

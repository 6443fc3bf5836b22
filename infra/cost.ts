import type { Price } from "../lib/core/config.ts";
import { heartbeatMs } from "../lib/core/limits.ts";
import { memoryMb } from "./live-function.ts";

/** AWS's list prices in USD for us-east-1, November 2026, on demand, without free tiers. `perM`: of a million. */
export const listPrices = {
  /** https://aws.amazon.com/dynamodb/pricing/on-demand */
  dynamoWritePerM: 0.625,
  dynamoReadPerM: 0.125,
  /** https://aws.amazon.com/sqs/pricing */
  sqsPerM: 0.4,
  /** https://aws.amazon.com/lambda/pricing, arm64 */
  lambdaPerM: 0.2,
  lambdaPerGbS: 0.0000133334,
  /** https://aws.amazon.com/cloudwatch/pricing: by month, but for logs */
  logsPerGb: 0.5,
  metricPerMonth: 0.3,
  alarmMetricPerMonth: 0.1,
  dashboardPerMonth: 3,
  /** https://aws.amazon.com/s3/pricing */
  s3PutPerM: 5,
  s3GetPerM: 0.4,
  /** https://aws.amazon.com/kms/pricing */
  keyPerMonth: 1,
} as const;

/** Writes of a job that goes well, as `test/worker/requests.test.ts` counts them on the wire: claim, return and reply, and a lease that jobs of an invocation take in one. */
const writesOf = (jobsTogether: number) => 3 + 1 / jobsTogether;
/** Bytes of log lines: of a job, and of the metrics of an invocation. Lambda's own lines are some more. */
export const logBytes = { job: 2_300, invocation: 2_200 } as const;
/** Of an invocation with several jobs, which lasts until the slowest is done: how much longer than one takes. An assumption. */
const slowestOfBatch = 1.7;
/** Beside Bedrock's time: `OverheadMs` on the dashboard has the true one. An assumption. */
const overheadMs = 60;

export interface JobKind {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the model that answers. */
  readonly price: Price;
  /** Bedrock's time. */
  readonly providerMs: number;
  /** Of the reply, in the job's row. */
  readonly replyBytes: number;
  /** Jobs in an invocation, as they come: at most the lane's batch size. */
  readonly jobsTogether: number;
  /** Rows that tell what is known of limits, breakers and overrides: read once a second by a container with work. */
  readonly boardRows: number;
}

export interface Cost {
  readonly what: string;
  readonly amount: string;
  /** For a million jobs, or for a month. */
  readonly usd: number;
}

/** What a million jobs of a kind cost that go well at the first attempt. */
export function costsOf(job: JobKind): readonly Cost[] {
  const { price, providerMs, jobsTogether: together } = job;
  const invocationMs = overheadMs + providerMs * (together > 1 ? slowestOfBatch : 1);

  const model = job.inputTokens * price.inputPerMTok + job.outputTokens * price.outputPerMTok;
  // The row of a job is below 1 KB before its reply, which is written once.
  const writeUnits = writesOf(together) + Math.floor(providerMs / heartbeatMs) + Math.ceil(job.replyBytes / 1_024);
  const readUnits = job.boardRows / together;
  const sqs = 1 + 3 / together;
  const gbS = (invocationMs / 1_000) * (memoryMb / 1_024);
  const bytes = logBytes.job + logBytes.invocation / together;

  return [
    { what: "Bedrock", amount: `${job.inputTokens} tokens in, ${job.outputTokens} out`, usd: model },
    {
      what: "DynamoDB",
      amount: `${shown(writeUnits)} write units, ${shown(readUnits)} read units`,
      usd: writeUnits * listPrices.dynamoWritePerM + readUnits * listPrices.dynamoReadPerM,
    },
    {
      what: "Lambda",
      amount: `${shown(1 / together)} invocations, ${shown(gbS / together)} GB-s`,
      usd: (listPrices.lambdaPerM + gbS * 1e6 * listPrices.lambdaPerGbS) / together,
    },
    { what: "SQS", amount: `${shown(sqs)} requests`, usd: sqs * listPrices.sqsPerM },
    {
      what: "CloudWatch logs",
      amount: `${shown(bytes / 1_000)} KB`,
      usd: (bytes * 1e6 * listPrices.logsPerGb) / 1e9,
    },
  ];
}

/** A stack that stands, whether it has work or not. */
export interface Standing {
  /** Queues that Lambda polls. */
  readonly mappings: number;
  /** Metrics that alarms look at, one each time that one looks. */
  readonly alarmMetrics: number;
  /** Metrics of our own, if every lane and every target has work in every hour. */
  readonly metrics: number;
}

/** Lambda begins with five pollers a queue, each of which waits up to 20 s for a message. */
const pollsPerMonth = 5 * (60 / 20) * 60 * 24 * 30;

/** What it costs in a month. */
export function standingCosts({ mappings, alarmMetrics, metrics }: Standing): readonly Cost[] {
  const polls = (mappings * pollsPerMonth * listPrices.sqsPerM) / 1e6;
  return [
    { what: "Lambda's polls of SQS", amount: `${mappings} queues`, usd: polls },
    {
      what: "alarms",
      amount: `${alarmMetrics} metrics looked at`,
      usd: alarmMetrics * listPrices.alarmMetricPerMonth,
    },
    {
      what: "metrics, where all lanes and targets work; idle: none",
      amount: `some ${metrics}`,
      usd: metrics * listPrices.metricPerMonth,
    },
    { what: "dashboard", amount: "1", usd: listPrices.dashboardPerMonth },
    { what: "key of the alarms' topic", amount: "1", usd: listPrices.keyPerMonth },
  ];
}

/** As the documents show them. */
export function costTable(of: string, per: string, costs: readonly Cost[]): string {
  const total = costs.reduce((sum, { usd }) => sum + usd, 0);
  const rows = [
    ...costs.map(({ what, amount, usd }) => [what, amount, inCents(usd)]),
    ["together", "", inCents(total)],
  ];
  const lines = [[of, "amount", per], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  const [head = [], ...body] = lines;
  return [line(head), rule, ...body.map(line)].join("\n");
}

function inCents(usd: number): string {
  return usd.toFixed(2);
}

function shown(amount: number): string {
  return String(Number(amount.toPrecision(2)));
}

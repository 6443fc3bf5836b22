/** `npm run cost`: what jobs of a kind cost, and a stack without any, by the config and AWS's list prices. */
import { parseArgs } from "node:util";
import { checkConfig, ConfigError } from "../lib/config.ts";
import { targetsOf } from "../lib/core/config.ts";
import type { Config } from "../lib/core/config.ts";
import { isLane } from "../lib/core/lane.ts";
import { lanes } from "../lib/core/lane.ts";
import { metrics } from "../lib/core/metrics.ts";
import type { MetricFacts } from "../lib/core/metrics.ts";
import { laneMapping } from "./concurrency.ts";
import { costsOf, costTable, standingCosts } from "./cost.ts";
import type { Standing } from "./cost.ts";
import written from "./sluice.config.ts";

const help = `npm run cost -- [--lane bg] [--step fast-text@us-west-2] [--in 1000] [--out 300] [--ms 3000] [--reply 2000] [--together N]

What a million jobs cost: --in and --out tokens, --ms of Bedrock's time, --reply bytes in the job's row, --together jobs in
an invocation (the lane's batch size unless fewer wait). And what the stack itself costs in a month.`;

/** What was asked for and has no cost. */
class Unpriced extends Error {
  override readonly name = "Unpriced";
}

/** Of the stack as the app makes it; a test counts them in its template. */
export const standing = (config: Config): Standing => ({
  mappings: 7,
  alarmMetrics: 66,
  metrics: steadyMetrics(config),
});

/** Both tables. @throws for an argument that is none, with what there is. */
export function costTables(args: readonly string[]): string {
  const { values } = parseArgs({
    args: [...args],
    options: {
      lane: { type: "string", default: "bg" },
      step: { type: "string", default: "fast-text@us-west-2" },
      in: { type: "string", default: "1000" },
      out: { type: "string", default: "300" },
      ms: { type: "string", default: "3000" },
      reply: { type: "string", default: "2000" },
      together: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return help;
  const config = checkConfig(written);
  const { lane } = values;
  if (!isLane(lane)) throw new Unpriced(`--lane ${lane} is none of ${lanes.join(", ")}`);
  const targets = targetsOf(config);
  const price = targets.find(({ step }) => step === values.step)?.target.price;
  if (price === undefined)
    throw new Unpriced(`--step ${values.step} has no price; known: ${targets.map(({ step }) => step).join(", ")}`);
  const jobsTogether = numberOf("together", values.together ?? String(laneMapping(config, lane).batchSize));
  const job = {
    price,
    jobsTogether,
    inputTokens: numberOf("in", values.in),
    outputTokens: numberOf("out", values.out),
    providerMs: numberOf("ms", values.ms),
    replyBytes: numberOf("reply", values.reply),
    // A head and a breaker for each target, an override for each model and the lane.
    boardRows: 2 * targets.length + Object.keys(config.models).length + 1,
  };
  const title = `${lane}, ${values.step}, ${jobsTogether} in an invocation`;
  return [
    costTable(title, "USD a million jobs", costsOf(job)),
    "",
    costTable("the stack itself", "USD a month", standingCosts(standing(config))),
  ].join("\n");
}

/**
 * Metrics that are told of lanes and targets alone, to the nearest fifty; each reason, outcome, cause or code that happens is
 * one more.
 */
function steadyMetrics(config: Config): number {
  const pairs = targetsOf(config).length;
  const all: readonly MetricFacts[] = Object.values(metrics);
  const many = all
    .flatMap(({ by }) => by)
    .filter((set) => set.every((dimension) => ["lane", "model", "target"].includes(dimension)))
    .reduce((sum, set) => sum + (set.includes("lane") ? lanes.length : 1) * (set.includes("target") ? pairs : 1), 0);
  return Math.round(many / 50) * 50;
}

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (text === "" || !Number.isFinite(number) || number <= 0)
    throw new Unpriced(`--${name} ${text} is no number above 0`);
  return number;
}

/** Told by their message alone, those of `parseArgs` too: whoever typed it can mend it. */
function isTheirs(error: unknown): error is Error {
  const isOfArguments =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return isOfArguments || error instanceof Unpriced || error instanceof ConfigError;
}

if (import.meta.main) {
  try {
    console.log(costTables(process.argv.slice(2)));
  } catch (error) {
    if (!isTheirs(error)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}

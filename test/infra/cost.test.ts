import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import { targetsOf } from "../../lib/core/config.ts";
import { costsOf, listPrices, logBytes, standingCosts } from "../../infra/cost.ts";
import type { JobKind } from "../../infra/cost.ts";
import { costTables, standing } from "../../infra/cost-table.ts";
import written from "../../infra/sluice.config.ts";
import { aService } from "../worker/a-service.ts";
import { template as synthesized } from "./synth.ts";

/** Everything is one, so that each price stands by itself. */
const plain: JobKind = {
  inputTokens: 1,
  outputTokens: 1,
  price: { inputPerMTok: 2, outputPerMTok: 3 },
  providerMs: 1_000,
  replyBytes: 1_024,
  jobsTogether: 1,
  boardRows: 1,
};
const usdOf = (what: string, facts: Partial<JobKind>) =>
  costsOf({ ...plain, ...facts }).find((cost) => cost.what === what)?.usd;

const rows: readonly (readonly [says: string, what: string, facts: Partial<JobKind>, usdPerM: number])[] = [
  ["tokens, at the model's prices", "Bedrock", { inputTokens: 10, outputTokens: 100 }, 320],
  ["four writes, the reply's KB, and the board", "DynamoDB", {}, 5 * 0.625 + 0.125],
  ["a KB that is begun as a whole one", "DynamoDB", { replyBytes: 1_025 }, 6 * 0.625 + 0.125],
  ["3.1 writes in a batch of ten", "DynamoDB", { jobsTogether: 10 }, 4.1 * 0.625 + 0.0125],
  ["a write for each heartbeat", "DynamoDB", { providerMs: 25_000 }, 7 * 0.625 + 0.125],
  ["an invocation for as long as it takes", "Lambda", {}, 0.2 + 0.53 * 1e6 * listPrices.lambdaPerGbS],
  [
    "a part of it, until the slowest is done",
    "Lambda",
    { jobsTogether: 10 },
    0.02 + 0.088 * 1e6 * listPrices.lambdaPerGbS,
  ],
  ["sent, received, hidden, deleted", "SQS", {}, 1.6],
  ["sent alone, and the rest by tens", "SQS", { jobsTogether: 10 }, 1.3 * 0.4],
];

describe("a million jobs pay", () => {
  test.each(rows)("%s: %s", (_says, what, facts, usdPerM) => expect(usdOf(what, facts)).toBeCloseTo(usdPerM, 6));
});

test.each([1, 10])("%i jobs write about as many bytes of log as are counted", async (jobs) => {
  const service = aService({ lane: "bulk" });
  for (let job = 0; job < jobs; job += 1) service.send({ jobId: `order-8812-summary-${job}` });
  await service.invoke();
  const module = new URL("../../lib/aws/telemetry.ts", import.meta.url).href;
  const program = `
    const { powertoolsTelemetry } = await import(${JSON.stringify(module)});
    const telemetry = powertoolsTelemetry("sluice");
    for (const event of ${JSON.stringify(service.world.noted)}) telemetry.note(event);
    telemetry.flush();`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  const bytes = Buffer.byteLength(stdout);
  const counted = jobs * logBytes.job + logBytes.invocation;
  expect(bytes / counted).toBeGreaterThan(0.8);
  expect(bytes / counted).toBeLessThan(1.25);
});

describe("a stack that stands", () => {
  const config = checkConfig(written);
  const template = synthesized(written);
  const alarms = Object.values(template.findResources("AWS::CloudWatch::Alarm"));

  test("has as many polled queues, and alarms that look at as many metrics, as are paid for", () => {
    const pairs = targetsOf(config).length;
    const looked = alarms.map(({ Properties: { Metrics = [{ MetricStat: {} }] } }) => {
      const queries: readonly { readonly MetricStat?: object; readonly Expression?: string }[] = Metrics;
      const insights = queries.filter(({ Expression = "" }) => Expression.startsWith("SELECT"));
      // Such a query looks at a metric for each pair of model and target.
      return queries.filter(({ MetricStat }) => MetricStat !== undefined).length + insights.length * pairs;
    });
    expect(standing(config)).toMatchObject({
      mappings: Object.keys(template.findResources("AWS::Lambda::EventSourceMapping")).length,
      alarmMetrics: looked.reduce((sum, many) => sum + many, 0),
    });
  });

  test("pays for each of them by the month", () => {
    const usd = standingCosts({ mappings: 1, alarmMetrics: 10, metrics: 100 }).map((cost) => cost.usd);
    expect(usd).toEqual([expect.closeTo(0.2592), expect.closeTo(1), expect.closeTo(30), 3, 1]);
  });
});

describe("npm run cost", () => {
  test("says what it does not know, and what there is", () => {
    expect(() => costTables(["--lane", "fast"])).toThrow("--lane fast is none of rt, bg, bulk");
    expect(() => costTables(["--step", "fast-text"])).toThrow("known: fast-text@us-west-2");
    expect(() => costTables(["--ms", "soon"])).toThrow("--ms soon is no number above 0");
    expect(costTables(["--help"])).toContain("npm run cost");
  });

  test.each([
    ["--lane x", /^--lane x is none of rt, bg, bulk\n$/],
    ["--lan x", /^Unknown option '--lan'.*\n$/],
  ])("ends with 2 and the reason alone on %s", (line, says) => {
    const entry = new URL("../../infra/cost-table.ts", import.meta.url).pathname;
    const { status, stderr } = spawnSync(process.execPath, [entry, ...line.split(" ")], { encoding: "utf8" });
    expect([status, stderr]).toEqual([2, expect.stringMatching(says)]);
  });

  test.each([[[]], [["--lane", "rt", "--step", "smart-text@us-west-2", "--ms", "6000"]]])(
    "prints what the guide shows for %j",
    (args) => {
      const guide = readFileSync(new URL("../../infra/OPERATIONS.md", import.meta.url), "utf8");
      for (const table of costTables(args).split("\n\n")) expect(guide).toContain(table);
    },
  );
});

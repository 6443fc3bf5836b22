import { Queue } from "aws-cdk-lib/aws-sqs";
import { describe, expect, test } from "vitest";
import { lanes } from "../../lib/core/lane.ts";
import { metrics } from "../../lib/core/metrics.ts";
import { Sluice } from "../../infra/sluice.ts";
import { bodyOf, expressionsOf, neverEmitted, shownBy, widgetsOf } from "./shown.ts";
import { config, smallEntry, stack, target, template, Template } from "./synth.ts";

const targetsNamed = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, place) => [`region-${place}`, target()]));

const three = template({ models: { "fast-text": { targets: targetsNamed(3) } } });
const price = { inputPerMTok: 0.06, outputPerMTok: 0.24 };
const budgeted = template({
  models: { "fast-text": { targets: { "us-west-2": target({ price }) } } },
  lanes: { bg: { dailyBudgetUsd: 5 }, bulk: { dailyBudgetUsd: 50 } },
});
const forty = template({
  models: { "fast-text": { targets: targetsNamed(20) }, "smart-text": { targets: targetsNamed(20) } },
});

const titled = (built: Template, title: string) =>
  widgetsOf(built).find(({ properties }) => properties.title === title) ?? { type: "none", properties: {} };

describe("the dashboard", () => {
  test("has a row for each stage of a job's life, and says how to read it", () => {
    const texts = widgetsOf(three).flatMap(({ properties: { markdown } }) =>
      markdown === undefined ? [] : [markdown],
    );
    expect(texts.map((text) => /^## (.*)\n.{40,}$/.exec(text)?.[1])).toEqual([
      "In",
      "Claims",
      "Leases",
      "Attempts",
      "Replies",
      "Cost",
      "Health",
    ]);
  });

  test("begins with the state of every alarm", () => {
    const [first] = widgetsOf(three);
    const alarms = Object.keys(three.findResources("AWS::CloudWatch::Alarm"));
    expect(first).toMatchObject({ type: "alarm", properties: { alarms: alarms.map(() => "X") } });
  });

  test("then shows which jobs are open and why, as it is now: read again at each refresh, and at nothing else", () => {
    expect(widgetsOf(three)[1]).toMatchObject({
      type: "custom",
      properties: {
        endpoint: "X",
        updateOn: { refresh: true, resize: false, timeRange: false },
      },
    });
    expect(widgetsOf(template({}, {}, { widget: false })).filter(({ type }) => type === "custom")).toEqual([]);
  });

  test("asks for nothing that is never emitted", () =>
    expect(neverEmitted([three, budgeted].flatMap((built) => widgetsOf(built).flatMap(shownBy)))).toEqual([]));

  const notShown = (built: Template) => {
    const shown = new Set(widgetsOf(built).flatMap((widget) => shownBy(widget).map(({ name }) => name)));
    return Object.keys(metrics).filter((name) => !shown.has(name));
  };

  test("shows every metric that is emitted", () => expect(notShown(budgeted)).toEqual([]));

  test("shows no budgets where there are none", () =>
    expect(notShown(three)).toEqual(["BudgetSpentUsd", "BudgetUsedPercent"]));

  test("holds what is spent against the budget of each lane that has one, with a line at 80 %", () => {
    const { properties } = titled(budgeted, "Budget of the day, % spent by lane");
    expect(JSON.stringify(properties.metrics)).toBe(
      JSON.stringify(
        ["bg", "bulk"].map((lane) => [
          "Sluice",
          "BudgetUsedPercent",
          "lane",
          lane,
          { label: lane, period: 60, stat: "Maximum" },
        ]),
      ),
    );
    expect(JSON.stringify(properties)).toContain('"value":80');
  });

  test.each([
    [three, 3],
    [forty, 40],
  ])("names each target under its limit (%#)", (built, count) => {
    const { properties } = titled(built, "In use, % of the target's limit");
    const lines = properties.metrics?.filter(([first]) => typeof first === "object");
    expect(lines).toHaveLength(count);
    expect(JSON.stringify(lines?.[1])).toContain('"label":"fast-text@region-1","expression":"100 * inUse1 / limit1"');
  });

  test("is the same for many targets everywhere else", () => {
    const others = (built: Template) =>
      widgetsOf(built).filter(({ properties }) => properties.title !== "In use, % of the target's limit");
    expect(others(forty)).toEqual(others(three));
  });

  test("has no graph of dead letters where they are all somebody else's", () => {
    const theirs = stack();
    const queueOf = (lane: string) => Queue.fromQueueArn(theirs, lane, `arn:aws:sqs:us-west-2:123456789012:${lane}`);
    const queues = Object.fromEntries(lanes.map((lane) => [lane, queueOf(lane)]));
    expect(new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, queues }).dashboard).toBeDefined();
    const built = Template.fromStack(theirs);
    expect(titled(three, "Dead letters").type).toBe("metric");
    expect(titled(built, "Dead letters").type).toBe("none");
    expect(
      Object.keys(built.findResources("AWS::CloudWatch::Alarm")).filter((id) => /LlmAlarmsDeadLetters/.test(id)),
    ).toEqual([]);
  });
});

// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html
describe("with forty targets the dashboard is within what CloudWatch takes", () => {
  const widgets = widgetsOf(forty);

  test("500 widgets, 500 metrics in one, 2,500 in all", () => {
    const counts = widgets.map(({ properties }) => properties.metrics?.length ?? 0);
    expect(widgets.length).toBeLessThan(500);
    expect(Math.max(...counts)).toBeLessThan(500);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThan(2_500);
  });

  test("one query of Metrics Insights in a widget", () =>
    expect(widgets.filter((widget) => expressionsOf(widget).filter((it) => it.includes("SELECT")).length > 1)).toEqual(
      [],
    ));

  test("and takes a tenth of what a template may be long, at most", () =>
    expect(bodyOf(forty).length).toBeLessThan(100_000));
});

import { describe, expect, test } from "vitest";

import { createMeasured } from "../../infra/local/page/measured.ts";
import { metrics, namespace } from "../../lib/core/metrics.ts";
import type { MetricFacts } from "../../lib/core/metrics.ts";
import { bodyOf } from "../infra/shown.ts";
import { template } from "../infra/synth.ts";
import { seen } from "../view/an-overview.ts";
import { widgetMarkup } from "./dashboard.ts";

const t0 = Date.UTC(2026, 10, 29, 12);
const frame = { fromMs: t0, toMs: t0 + 60_000, bucketMs: 2_000 };
const known: Readonly<Record<string, string>> = { lane: "bg", model: "fast-text", target: "us-west-2" };

/** Each metric that there is, once, under each of its dimensions, with this value. */
function measuredAll(value: number) {
  const measured = createMeasured();
  for (const [name, { by }] of Object.entries<MetricFacts>(metrics))
    for (const set of by)
      measured.hear({
        _aws: {
          Timestamp: t0,
          CloudWatchMetrics: [{ Namespace: namespace, Dimensions: [set], Metrics: [{ Name: name }] }],
        },
        ...Object.fromEntries(set.map((each) => [each, known[each] ?? "some"])),
        [name]: value,
      });
  return measured;
}

const {
  widgets,
}: { readonly widgets: readonly { readonly type: string; readonly properties: { readonly title?: string } }[] } =
  JSON.parse(bodyOf(template()));
const ours = widgets.filter((widget) => widget.type === "metric" && JSON.stringify(widget).includes(namespace));
const drawn = (widget: object, value = 1) =>
  seen(widgetMarkup(JSON.parse(JSON.stringify(widget)), measuredAll(value), frame, () => []).text);

describe("the picture of the dashboard", () => {
  test("understands every widget that shows a metric of ours", () => {
    expect(ours.length).toBeGreaterThan(25);
    expect(ours.map((widget) => drawn(widget)).filter((text) => text.includes("no value in this run"))).toEqual([]);
  });

  test("invents nothing: what was not measured has no value", () => {
    const nothing = createMeasured();
    const empty = widgets
      .filter(({ type }) => type === "metric")
      .map((widget) => seen(widgetMarkup(JSON.parse(JSON.stringify(widget)), nothing, frame, () => []).text));
    expect(empty.filter((text) => !text.includes("no value in this run"))).toEqual([]);
  });

  test.each([
    ["In use, % of the target's limit", "100 50 0"],
    ["Jobs started", "5 2.5 0"],
    ["Attempts by outcome", "some"],
    ["Succeeded, % of those not cancelled", "50 25 0"],
  ])("%s has its scale and its lines", (title, shown) => {
    const widget = ours.find(({ properties }) => properties.title === title);
    expect(drawn(widget ?? {}, 5)).toContain(shown);
  });
});

/** Leases against their limits, latency, outcomes: what the workers have measured in the last minutes, as charts. */
import type { Config } from "../../../lib/core/config.ts";
import { targetsOf } from "../../../lib/core/config.ts";
import type { MetricName } from "../../../lib/core/metrics.ts";
import { chartMarkup } from "../../../lib/view/chart.ts";
import type { Chart, Line } from "../../../lib/view/chart.ts";
import { markup } from "../../../lib/view/markup.ts";
import type { Markup } from "../../../lib/view/markup.ts";
import { span } from "../../../lib/core/words.ts";
import { keptMs } from "./measured.ts";
import type { Measured, Statistic } from "./measured.ts";

const bucketsMax = 60;
const spansMs = [1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000];
const shownMsMin = 20_000;

/** The time that is shown, and the length of a bucket: as fine as stays readable. */
export function frameOf(sinceMs: number | undefined, nowMs: number) {
  const lengthMs = Math.min(keptMs, Math.max(shownMsMin, nowMs - (sinceMs ?? nowMs)));
  const bucketMs = spansMs.find((each) => lengthMs / each <= bucketsMax) ?? 60_000;
  const toMs = Math.ceil(nowMs / bucketMs) * bucketMs;
  return { fromMs: toMs - Math.ceil(lengthMs / bucketMs) * bucketMs, toMs, bucketMs };
}

export function chartsSection(measured: Measured, config: Config, nowMs: number): Markup {
  const frame = frameOf(measured.sinceMs(), nowMs);
  const ask = (name: MetricName, by: readonly string[], statistic: Statistic) =>
    measured.series({ name, by, statistic, ...frame });
  const chart = (facts: Pick<Chart, "title" | "lines" | "stacked" | "empty">) =>
    chartMarkup({ ...frame, numbered: true, ...facts });

  const targets = targetsOf(config).flatMap(({ step, model, name: target }) => {
    const points = (name: MetricName, statistic: Statistic) =>
      ask(name, ["model", "target"], statistic).find(
        ({ dimensions }) => dimensions["model"] === model && dimensions["target"] === target,
      )?.points ?? [];
    const inUse = points("LeasesInUse", "max");
    if (inUse.length === 0) return [];
    const lines: Line[] = [
      { label: "in use, most", points: inUse },
      { label: "limit", points: points("LeaseLimit", "min"), as: "bound" },
    ];
    return [chart({ title: `Leases of ${step}`, lines })];
  });
  const latency = (["p50", "p95"] as const).flatMap((statistic) =>
    ask("ProviderMs", ["lane"], statistic).map(({ dimensions, points }): Line => {
      const label = `${dimensions["lane"]} ${statistic}`;
      return statistic === "p95" ? { label, points, as: "tail" } : { label, points };
    }),
  );
  const outcomes = summedBy(ask("Attempts", ["lane", "model", "target", "outcome"], "sum"), "outcome");
  const ends = (["JobsSucceeded", "JobsFailed", "JobsExpired", "JobsCancelled"] as const).flatMap((name) => {
    const points = summedBy(ask(name, ["lane"], "sum"), "");
    return points.map((line) => ({ ...line, label: name.slice("Jobs".length).toLowerCase() }));
  });
  return markup`<section data-part="charts" aria-labelledby="sluice-charts"><h2 id="sluice-charts">The last ${span(frame.toMs - frame.fromMs)}, a point every ${span(frame.bucketMs)}</h2>
<div class="charts">${targets}
${chart({ title: "Bedrock's time, ms", lines: latency })}
${chart({ title: "Attempts by outcome", lines: outcomes, stacked: true })}
${chart({ title: "Replies", lines: ends, stacked: true })}</div></section>`;
}

/** Lines of which each adds up all series that have the same word there; by the alphabet, so that their order stays. */
function summedBy(series: ReturnType<Measured["series"]>, dimension: string): readonly Line[] {
  const groups = Map.groupBy(series, ({ dimensions }) => dimensions[dimension] ?? "");
  const named = [...groups].toSorted(([a], [b]) => a.localeCompare(b));
  return named.map(([label, its]) => {
    const sums = new Map<number, number>();
    for (const { points } of its) for (const { atMs, value } of points) sums.set(atMs, (sums.get(atMs) ?? 0) + value);
    const points = [...sums].map(([atMs, value]) => ({ atMs, value })).toSorted((a, b) => a.atMs - b.atMs);
    return { label, points };
  });
}

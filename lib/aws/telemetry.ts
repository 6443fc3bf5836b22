import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import type { Noted } from "../core/noted.ts";
import { measurements } from "../core/measure.ts";
import { namespace } from "../core/metrics.ts";
import type { Measurement } from "../core/measure.ts";
import type { Telemetry } from "../ports.ts";

/** What an operator looks for first: something did not go as it should. */
const warnings = new Set<Noted["kind"]>([
  "trouble",
  "unknown-model",
  "reply-store-failed",
  "reply-via-outbox",
  "reply-kept",
  "reply-dropped",
  "announcement-failed",
  "announcement-given-up",
  "task-gone",
  "claim-lost",
  "lease-lost",
  "lease-return-failed",
  "breaker-opened",
  "crowded",
  "bell",
  "parked",
  "refused",
]);

/** Log lines and EMF metrics on standard output; `flush` writes the metrics of an invocation, an EMF line a dimension set. */
export function powertoolsTelemetry(serviceName: string): Telemetry & { flush(): void } {
  const logger = new Logger({ serviceName });
  const sets = new Map<string, Metrics>();

  return {
    note(event) {
      const { kind, ...facts } = event;
      if (warnings.has(kind)) logger.warn(kind, facts);
      else logger.info(kind, facts);
      for (const measurement of measurements(event)) measure(sets, measurement);
    },
    flush() {
      for (const metrics of sets.values()) metrics.publishStoredMetrics();
      sets.clear();
    },
  };
}

function measure(sets: Map<string, Metrics>, { name, unit, value, dimensions }: Measurement): void {
  const key = JSON.stringify(dimensions);
  const metrics = sets.get(key) ?? metricsFor(dimensions);
  sets.set(key, metrics);
  metrics.addMetric(name, units[unit], value);
}

const units = {
  ms: MetricUnit.Milliseconds,
  count: MetricUnit.Count,
  percent: MetricUnit.Percent,
  usd: MetricUnit.NoUnit,
} as const satisfies Readonly<Record<Measurement["unit"], unknown>>;

function metricsFor(dimensions: Measurement["dimensions"]): Metrics {
  const metrics = new Metrics({ namespace });
  // The library's own `service` dimension would stand on every metric and say the same on all of them.
  metrics.clearDefaultDimensions();
  if (Object.keys(dimensions).length > 0) metrics.setDefaultDimensions({ ...dimensions });
  return metrics;
}

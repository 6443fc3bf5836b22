import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { noUsage } from "../../lib/core/attempt.ts";
import type { Noted } from "../../lib/core/noted.ts";

/** What a Lambda's process writes: the library has a console of its own, so a process of its own is listened to. */
function written(events: readonly Noted[]): Record<string, unknown>[] {
  const module = new URL("../../lib/aws/telemetry.ts", import.meta.url).href;
  const program = `
    const { powertoolsTelemetry } = await import(${JSON.stringify(module)});
    const telemetry = powertoolsTelemetry("sluice");
    for (const event of ${JSON.stringify(events)}) telemetry.note(event);
    telemetry.flush();
    telemetry.flush();`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
  });
  return [stdout, stderr]
    .flatMap((text) => text.split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const tags = { jobId: "j-1", lane: "bg", model: "fast", target: "west", fence: 1 } as const;
const attempted = { ...tags, kind: "attempted", outcome: "answered", name: "end_turn", tookMs: 5 } as const;

describe("telemetry, on what Lambda keeps of a process", () => {
  const lines = written([
    { ...attempted, usage: noUsage, costUsd: 0.5 },
    { ...attempted, usage: noUsage, costUsd: 0.25 },
    { ...tags, kind: "lease-lost" },
  ]);
  const logs = lines.filter((line) => !("_aws" in line));
  const metrics = lines.filter((line) => "_aws" in line);

  test("is a JSON line an event, with the job on it", () => {
    expect(logs).toHaveLength(3);
    expect(logs[0]).toMatchObject({ level: "INFO", message: "attempted", jobId: "j-1", lane: "bg", fence: 1 });
    expect(logs[2]).toMatchObject({ level: "WARN", message: "lease-lost" });
  });

  test("and an EMF line a set of dimensions, none of which is the job or the service", () => {
    const dimensionsOf = (line: Record<string, unknown>) =>
      (line["_aws"] as { CloudWatchMetrics: { Namespace: string; Dimensions: string[][] }[] }).CloudWatchMetrics;
    expect(
      metrics.map((line) => dimensionsOf(line).map(({ Namespace, Dimensions }) => [Namespace, Dimensions])),
    ).toEqual(
      [["lane", "model", "target", "outcome"], ["lane"], ["model", "target"], ["lane", "model", "target"]].map(
        (set) => [["Sluice", [set]]],
      ),
    );
    expect(metrics[2]).toMatchObject({ model: "fast", target: "west", ProviderMs: [5, 5], LeasesLost: 1 });
    expect(metrics[3]).toMatchObject({ lane: "bg", CostUsd: [0.5, 0.25] });
    expect(JSON.stringify(metrics)).not.toContain("j-1");
  });
});

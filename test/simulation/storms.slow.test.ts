/** What a fleet of workers does in the weather for which the rules were made: numbers over whole loads. */
import { describe, expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import { laneLimits } from "../../lib/core/limits.ts";
import { run } from "./storms/fleet.ts";
import type { Load, Outcome, Seen } from "./storms/fleet.ts";
import { sleepInstead } from "./storms/sleeper.ts";

const minuteMs = 60_000;
const patient = { timeout: 120_000 };
const target = (region: string, max: number) => ({
  modelId: "amazon.nova-lite-v1:0",
  region,
  limit: { start: max, max },
  maxTokens: 1_000,
  typicalMs: 1_000,
});
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const kinds = <K extends Seen["kind"]>(noted: readonly Seen[], kind: K) =>
  noted.filter((event): event is Extract<Seen, { kind: K }> => event.kind === kind);
const billedWaitMs = ({ noted }: Outcome) => sum(kinds(noted, "invoked").map((event) => event.billedWaitMs));

/** The longest that any job waited for leases on one step in one delivery, by the stages that it went through. */
function longestLeaseWaitMs({ noted }: Outcome): number {
  const waits = new Map<string, number>();
  const since = new Map<string | undefined, { readonly wait: string; readonly atMs: number }>();
  for (const event of kinds(noted, "stage")) {
    const waiting = since.get(event.jobId);
    if (waiting !== undefined) waits.set(waiting.wait, (waits.get(waiting.wait) ?? 0) + event.atMs - waiting.atMs);
    const wait = `${event.jobId} ${event.fence} ${event.target}`;
    if (event.stage === "waiting") since.set(event.jobId, { wait, atMs: event.atMs });
    else since.delete(event.jobId);
  }
  return Math.max(...waits.values());
}

describe("a storm of throttles, 30 of 100 requests at random, over 500 bg jobs of a second", () => {
  const storm: Load = {
    lane: "bg",
    config: checkConfig({ models: { fast: { targets: { west: target("us-west-2", 20) } } } }),
    script: { seed: 3, latency: 1_000, rules: [{ when: { percent: 30 }, do: { kind: "fail", error: "throttled" } }] },
    sendsMs: Array.from({ length: 500 }, () => 0),
    untilMs: 60 * minuteMs,
  };

  test("passes without a loss, and without paying for the wait", patient, async () => {
    const outcome = await run(storm);
    expect(outcome.replies).toHaveLength(500);
    expect(outcome.replies.filter(({ ok }) => !ok)).toEqual([]);
    expect(outcome.requests.length / 500).toBeLessThanOrEqual(1.6);
    // The wire's time comes on top.
    expect(longestLeaseWaitMs(outcome)).toBeLessThanOrEqual(laneLimits.bg.leaseWaitMsMax + 50);
    for (const { meta } of outcome.replies)
      expect(meta.sleptMs).toBeLessThanOrEqual(meta.deliveries * laneLimits.bg.backoffMsMax);
    const asleep = await run({ ...storm, handler: sleepInstead });
    expect(asleep.replies).toHaveLength(500);
    const [ours = 0, theirs = 0] = [outcome, asleep].map((it) => Math.round(billedWaitMs(it) / 500));
    console.log(`billed wait: ${ours} ms a job, and ${theirs} ms of a worker that sleeps where ours hands back`);
    expect(ours).toBeLessThan(theirs / 3);
  });
});

describe("a model that is down for ten minutes, with another at hand, under four rt jobs a second", () => {
  const [downMs, upMs] = [2 * minuteMs, 12 * minuteMs];
  const untilMs = 15 * minuteMs;
  const load: Load = {
    lane: "rt",
    config: checkConfig({
      models: {
        fast: { targets: { west: target("us-west-2", 20) }, fallback: ["smart"] },
        smart: { targets: { east: target("us-east-1", 20) } },
      },
    }),
    script: {
      latency: 1_000,
      rules: [{ when: { region: "us-west-2", fromMs: downMs, toMs: upMs }, do: { kind: "hang" } }],
    },
    sendsMs: Array.from({ length: (untilMs - minuteMs) / 250 }, (_, index) => index * 250),
    untilMs,
  };

  test("answers nearly all, keeps away from the dead target, and finds it back", patient, async () => {
    const { replies, requests, noted } = await run(load);
    expect(replies).toHaveLength(load.sendsMs.length);
    expect(replies.filter(({ ok }) => ok).length / replies.length).toBeGreaterThanOrEqual(0.999);

    const fallbacks = requests.filter(({ region }) => region === "us-east-1").map(({ atMs }) => atMs);
    expect(Math.min(...fallbacks)).toBeLessThanOrEqual(downMs + laneLimits.rt.attemptMsMax);

    const opened = Math.min(...kinds(noted, "breaker-opened").map(({ atMs }) => atMs));
    const later = requests.filter(({ atMs }) => atMs > opened && atMs < upMs);
    expect(later.filter(({ region }) => region === "us-east-1").length / later.length).toBeGreaterThanOrEqual(0.95);

    const closed = Math.max(...kinds(noted, "breaker-closed").map(({ atMs }) => atMs));
    // The last probe of the dead target hangs to its bound, and shuts the breaker for another minute.
    expect(closed - upMs).toBeLessThanOrEqual(65_000 + laneLimits.rt.attemptMsMax);
    expect(requests.filter(({ atMs }) => atMs > closed + 1_000).every(({ region }) => region === "us-west-2")).toBe(
      true,
    );
  });
});

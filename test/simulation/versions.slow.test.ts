/** Two versions of the config at work at once, as in every deploy, each with a half of the messages. */
import { expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import { lanes } from "../../lib/core/lane.ts";
import { run } from "./storms/fleet.ts";

const jobs = 10_000;
const minuteMs = 60_000;
const target = (max: number) => ({
  modelId: "amazon.nova-lite-v1:0",
  region: "us-west-2",
  limit: { start: max, max },
  maxTokens: 1_000,
  typicalMs: 1_000,
});
const older = checkConfig({ models: { fast: { targets: { west: target(60) } } } });
const newer = checkConfig({
  models: { fast: { targets: { west: target(40) } }, novel: { targets: { west: target(30) } } },
});

test.each(lanes.filter((lane) => lane !== "rt"))(
  `of ${jobs} jobs in %s none is lost, and none is told that its model is not configured`,
  { timeout: 300_000 },
  async (lane) => {
    const { replies, world } = await run({
      lane,
      config: older,
      otherConfig: newer,
      modelOf: (job) => (job % 3 === 0 ? "novel" : "fast"),
      script: { seed: 5, latency: { meanMs: 1_000, sigma: 0.4 } },
      sendsMs: Array.from({ length: jobs }, (_, job) => job * 60),
      untilMs: 40 * minuteMs,
    });
    expect(replies).toHaveLength(jobs);
    expect(replies.filter(({ ok }) => !ok)).toEqual([]);
    expect([...world.queue.parked, ...world.queue.deadLetters]).toEqual([]);
    expect(world.queue.depth()).toEqual({ visible: 0, hidden: 0 });
    expect(world.jobs.rows()).toHaveLength(jobs);
  },
);

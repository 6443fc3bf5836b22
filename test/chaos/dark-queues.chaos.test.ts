import { describe, test } from "vitest";

import { runChaos } from "./arena.ts";
import { makeJobs } from "./jobs.ts";
import { violations } from "./judge.ts";
import { until } from "./seen.ts";

describe("without the queues", () => {
  test("for longer than a message is hidden, jobs end as ever", async ({ expect, ...context }) => {
    const jobs = makeJobs(30, "mute", { meanMs: 9_000, sigma: 0.5 });
    const history = await runChaos({ jobs, environmentsMax: 2 }, context, async (arena) => {
      await until(() => arena.inFlight().length >= 8);
      await arena.goDark(["sqs"], 45_000);
    });
    expect(violations(history)).toEqual([]);
    expect(history.hits).toEqual([]);
  });

  test("and the tables and S3, the container itself keeps what it was told", async ({ expect, ...context }) => {
    const jobs = makeJobs(20, "kept", { meanMs: 6_000, sigma: 0.3 }, "each once");
    let inTheDark = 0;
    // The only worker of its lane gets its own messages back.
    const history = await runChaos({ jobs, environmentsMax: 1 }, context, async (arena) => {
      await until(() => arena.inFlight().length >= 5);
      const { fromMs, toMs } = await arena.goDark(["dynamo", "sqs", "s3"], 25_000);
      inTheDark = arena.calls().filter(({ endedAtMs = 0 }) => endedAtMs > fromMs && endedAtMs < toMs - 15_000).length;
    });
    expect(violations(history)).toEqual([]);
    expect(inTheDark).toBeGreaterThan(2);
  });
});

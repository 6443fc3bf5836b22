import { describe, test } from "vitest";

import { runChaos } from "./arena.ts";
import { makeJobs } from "./jobs.ts";
import { violations } from "./judge.ts";
import { until } from "./seen.ts";

describe("workers that are frozen until others have done their work", () => {
  test("change nothing when they thaw", async ({ expect, ...context }) => {
    const jobs = makeJobs(50, "frozen", { meanMs: 4_000, sigma: 0.6 });
    const history = await runChaos({ jobs, environmentsMax: 2 }, context, async (arena) => {
      await until(() => arena.inFlight().length >= 8);
      // In the dark an answer stays with the worker that has it.
      const dark = arena.goDark(["dynamo"], 5_000);
      await Promise.all([dark, arena.freeze("bg", "asking"), arena.freeze("bulk", "storing")]);
    });
    expect(violations(history)).toEqual([]);
    expect(history.hits.map(({ kind }) => kind)).toEqual(["frozen", "frozen"]);
  });
});

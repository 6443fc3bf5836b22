import { describe, test } from "vitest";

import { runChaos } from "./arena.ts";
import { makeJobs } from "./jobs.ts";
import { violations } from "./judge.ts";

describe("workers that are frozen until others have done their work", () => {
  test("change nothing when they thaw", async ({ expect, ...context }) => {
    const jobs = makeJobs(40, "frozen", { meanMs: 4_000, sigma: 0.6 });
    const history = await runChaos({ jobs, environmentsMax: 2 }, context, async (arena) => {
      await Promise.all([arena.freeze("bg"), arena.freeze("bulk")]);
    });
    expect(violations(history)).toEqual([]);
    expect(history.hits.map(({ kind }) => kind)).toEqual(["frozen", "frozen"]);
  });
});

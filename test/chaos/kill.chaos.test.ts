import { describe, test } from "vitest";

import { runChaos } from "./arena.ts";
import { makeJobs } from "./jobs.ts";
import { violations } from "./judge.ts";

/** A killed worker's jobs come again after half a minute and more: in this time none is killed five times. */
const forMs = 50_000;

describe("workers that are killed every few seconds", () => {
  test("leave each job its one reply, and no lease", async ({ expect, ...context }) => {
    const jobs = makeJobs(60, "killed", { meanMs: 2_500, sigma: 0.5 });
    const history = await runChaos({ jobs, environmentsMax: 2 }, context, (arena) => arena.kill(2_500, forMs));
    expect(violations(history)).toEqual([]);
    expect(history.hits.length).toBeGreaterThan(2);
  });
});

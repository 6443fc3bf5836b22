import { describe, test } from "vitest";

import { runChaos } from "./arena.ts";
import type { Weather } from "./arena.ts";
import { makeJobs } from "./jobs.ts";
import { violations } from "./judge.ts";
import { faultKinds } from "./proxy.ts";

const weather: Weather = {
  dynamo: [{ oneIn: 14, kinds: faultKinds }],
  sqs: [{ oneIn: 6, kinds: faultKinds }],
  s3: [{ oneIn: 4, kinds: ["fail", "throttle", "drop", "delay"] }],
  bedrock: [{ oneIn: 8, kinds: ["fail", "throttle", "drop", "delay"] }],
};

describe("bad weather at every boundary", () => {
  test("costs no job its one right reply", async ({ expect, ...context }) => {
    const jobs = makeJobs(80, "weather", { meanMs: 500, sigma: 0.5 });
    const parkable = [
      { reason: "not_an_envelope", body: "{" },
      { reason: "not_an_envelope", body: '{"hello":"Ada"}' },
    ];
    const history = await runChaos({ jobs, weather, parkable, environmentsMax: 2 }, context, async () => {});
    expect(violations(history)).toEqual([]);
  });
});

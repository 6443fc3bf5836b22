import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "vitest";

import { runChaos } from "./arena.ts";
import type { Arena, Weather } from "./arena.ts";
import { makeJobs } from "./jobs.ts";
import { violations } from "./judge.ts";
import { faultKinds } from "./proxy.ts";

const weather: Weather = {
  dynamo: [{ oneIn: 30, kinds: faultKinds }],
  sqs: [
    // Where both ways to store an answer fail, a container that is killed takes it along.
    { operation: "SendMessage", oneIn: 3, kinds: ["delay", "late-copy"] },
    { oneIn: 10, kinds: faultKinds },
  ],
  s3: [{ oneIn: 6, kinds: ["fail", "throttle", "drop", "delay"] }],
  bedrock: [{ oneIn: 15, kinds: ["fail", "throttle", "drop", "delay"] }],
};

async function blackOuts(arena: Arena): Promise<void> {
  await sleep(6_000 * arena.dice());
  await arena.goDark(["dynamo"], 8_000);
  await sleep(4_000 * arena.dice());
  await arena.goDark(["sqs"], 8_000);
}

describe("everything at once", () => {
  test("costs no job its one right reply", async ({ expect, ...context }) => {
    const jobs = makeJobs(60, "storm", { meanMs: 2_500, sigma: 0.6 }, "each once");
    const history = await runChaos({ jobs, weather, environmentsMax: 2 }, context, async (arena) => {
      await Promise.all([arena.kill(4_000, 20_000), blackOuts(arena), arena.freeze("bulk", "asking")]);
    });
    expect(violations(history)).toEqual([]);
    expect(new Set(history.hits.map(({ kind }) => kind))).toEqual(new Set(["killed", "frozen"]));
  });
});

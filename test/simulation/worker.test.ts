import { describe, expect, test } from "vitest";
import { breachText } from "./worker/invariants.ts";
import { faultText } from "./worker/faults.ts";
import { calm } from "./worker/run.ts";
import { scenarios } from "./worker/scenarios.ts";
import { minimise, singleFaults, troubleOf, walk } from "./worker/walk.ts";
import type { Walked } from "./worker/walk.ts";

const seeds = 12;

/** What is wrong, as a line that can be replayed. */
async function story(walked: Walked): Promise<readonly string[]> {
  if (walked.breaches.length === 0) return [];
  const { trouble, breaches } = await minimise(walked);
  return breaches.map(
    (breach) => `seed ${trouble.seed}: ${trouble.faults.map(faultText).join(" + ")}: ${breachText(breach)}`,
  );
}

describe.each(scenarios)("$name", (scenario) => {
  test("keeps every promise when nothing goes wrong", async () => {
    expect(await story(await walk(scenario))).toEqual([]);
  });

  test("keeps them whatever single thing happens at whichever call", async () => {
    const { history } = await walk(scenario);
    const wrong: string[] = [];
    for (const fault of singleFaults(history))
      wrong.push(...(await story(await walk(scenario, { ...calm, faults: [fault] }))));
    expect(wrong).toEqual([]);
  });

  test.each(Array.from({ length: seeds }, (_, index) => index + 1))(
    "keeps them when much happens, seed %i",
    async (seed) => {
      const { history } = await walk(scenario);
      expect(await story(await walk(scenario, troubleOf(seed, history)))).toEqual([]);
    },
  );
});

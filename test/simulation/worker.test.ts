import { describe, expect, test } from "vitest";
import { storiesOf } from "./worker/story.ts";
import { calm } from "./worker/run.ts";
import { scenarios } from "./worker/scenarios.ts";
import { singleFaults, troubleOf, walk } from "./worker/walk.ts";

/** Every single fault of the others is tried by the slow suite. */
const small = new Set([
  "one job that somebody waits for",
  "one job that is tried again",
  "params and outputs that lie in S3",
]);
const seeds = 3;

describe.each(scenarios)("$name", (scenario) => {
  test("goes as it should when nothing goes wrong", async () => {
    expect(await storiesOf(scenario, [calm])).toEqual([]);
  });

  test("keeps every promise when much goes wrong", async () => {
    const { history } = await walk(scenario);
    const troubles = Array.from({ length: seeds }, (_, index) => troubleOf(index + 1, history));
    expect(await storiesOf(scenario, troubles)).toEqual([]);
  });
});

test.each(scenarios.filter(({ name }) => small.has(name)))(
  "$name: every promise is kept whatever single thing happens at whichever call",
  async (scenario) => {
    const { history } = await walk(scenario);
    const faults = singleFaults(history);
    expect(faults.length).toBeGreaterThan(100);
    expect(
      await storiesOf(
        scenario,
        faults.map((fault) => ({ ...calm, faults: [fault] })),
      ),
    ).toEqual([]);
  },
);

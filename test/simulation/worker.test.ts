import { describe, expect, test } from "vitest";
import { calm } from "./worker/run.ts";
import { scenarios } from "./worker/scenarios.ts";
import { storiesOf } from "./worker/story.ts";
import { singleFaults, troubleOf, walk } from "./worker/walk.ts";
import { wild } from "./worker/wild.ts";

/** The slow suite tries every single fault of the others, and many more seeds. */
const small = new Set([
  "one job that somebody waits for",
  "one job that is tried again",
  "params and outputs that lie in S3",
]);
const seeds = [1, 2, 3];

describe.each(scenarios)("$name", (scenario) => {
  test("goes as it should when nothing goes wrong", async () => {
    expect(await storiesOf(scenario, [calm])).toEqual([]);
  });

  test("keeps every promise when much goes wrong", async () => {
    const { history } = await walk(scenario);
    const troubles = seeds.map((seed) => troubleOf(seed, history));
    expect(await storiesOf(scenario, troubles)).toEqual([]);
  });
});

test.each(scenarios.filter(({ name }) => small.has(name)))(
  "$name: every promise is kept whatever single thing happens at whichever call",
  async (scenario) => {
    const { history } = await walk(scenario);
    const faults = singleFaults(history);
    expect(faults.length).toBeGreaterThan(100);
    const troubles = faults.map((fault) => ({ ...calm, faults: [fault] }));
    expect(await storiesOf(scenario, troubles)).toEqual([]);
  },
);

test.each(Array.from({ length: 24 }, (_, index) => index + 1))(
  "every promise is kept when all is as the dice fall, seed %i",
  async (seed) => {
    const { history } = await walk(wild(seed));
    expect(await storiesOf(wild(seed), [calm, troubleOf(seed, history)])).toEqual([]);
  },
);

test("the same seed gives the same run, to the last call", async () => {
  const tellAll = async () => {
    const { history } = await walk(wild(7));
    const { moments, end } = (await walk(wild(7), troubleOf(7, history))).history;
    return { end, moments: moments.map(({ atMs, kind }) => `${atMs} ${kind}`) };
  };
  expect(await tellAll()).toEqual(await tellAll());
});

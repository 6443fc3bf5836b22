import { expect, test } from "vitest";
import { calm } from "./worker/run.ts";
import { scenarios } from "./worker/scenarios.ts";
import { storiesOf } from "./worker/story.ts";
import { troubleOf, walk } from "./worker/walk.ts";
import { wild } from "./worker/wild.ts";

const timeoutMs = 300_000;
const seedsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

test.each(scenarios)(
  "$name: every promise is kept when much goes wrong",
  async (scenario) => {
    const { history } = await walk(scenario);
    const troubles = seedsFrom(1_000, 400).map((seed) => troubleOf(seed, history));
    expect(await storiesOf(scenario, troubles)).toEqual([]);
  },
  timeoutMs,
);

test.each(seedsFrom(1, 10))(
  "every promise is kept when all is as the dice fall, seeds %i000 and on",
  async (thousand) => {
    const wrong: string[] = [];
    for (const seed of seedsFrom(1_000 * thousand, 100)) {
      const { history } = await walk(wild(seed));
      wrong.push(...(await storiesOf(wild(seed), [calm, troubleOf(seed, history)])));
    }
    expect(wrong).toEqual([]);
  },
  timeoutMs,
);

import { expect, test } from "vitest";
import { scenarios } from "./worker/scenarios.ts";
import { storiesOf } from "./worker/story.ts";
import { troubleOf, walk } from "./worker/walk.ts";

const seeds = 600;

test.each(scenarios)(
  `$name: every promise is kept when much goes wrong, ${seeds} times`,
  async (scenario) => {
    const { history } = await walk(scenario);
    const troubles = Array.from({ length: seeds }, (_, index) => troubleOf(1_000 + index, history));
    expect(await storiesOf(scenario, troubles)).toEqual([]);
  },
  240_000,
);

import { expect, test } from "vitest";
import { calm } from "./worker/run.ts";
import { scenarios } from "./worker/scenarios.ts";
import { storiesOf } from "./worker/story.ts";
import { singleFaults, walk } from "./worker/walk.ts";

test.each(scenarios)(
  "$name: every promise is kept whatever single thing happens at whichever call",
  async (scenario) => {
    const { history } = await walk(scenario);
    const troubles = singleFaults(history).map((fault) => ({ ...calm, faults: [fault] }));
    expect(await storiesOf(scenario, troubles)).toEqual([]);
  },
  240_000,
);

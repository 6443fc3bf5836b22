import { expect, test } from "vitest";
import { deadLettersVariable, isLane, lanes } from "../../lib/core/lane.ts";

test("the lanes go from the most urgent to the most patient", () => expect(lanes).toEqual(["rt", "bg", "bulk"]));

test("nothing else is a lane", () =>
  expect(["rt", "bg", "bulk", "", "RT", 1, undefined].filter(isLane)).toEqual(["rt", "bg", "bulk"]));

test("the dead letters' worker is told each lane's queue of them", () =>
  expect(lanes.map(deadLettersVariable)).toEqual([
    "SLUICE_RT_DEAD_LETTERS_URL",
    "SLUICE_BG_DEAD_LETTERS_URL",
    "SLUICE_BULK_DEAD_LETTERS_URL",
  ]));

import { describe, expect, test } from "vitest";
import { nearest } from "../../lib/core/nearest.ts";

const known = ["jobId", "model", "op", "params", "lane", "deadlineAt", "replyTo.taskToken", "models.fast.targets"];

describe("a name is taken for the one that was meant", () => {
  test.each<[says: string, name: string, meant: string | undefined]>([
    ["whatever its case and its punctuation", "J.O.B-_i d", "jobId"],
    ["with one letter too many", "modell", "model"],
    ["too few", "mdel", "model"],
    ["changed", "modil", "model"],
    ["or swapped with its neighbour, at the end too", "modle", "model"],
    ["at the beginning too", "omdel", "model"],
    ["with two slips from six letters on", "modill", "model"],
    ["not in fewer", "moddx", undefined],
    ["not with three, however long it is", "deadlineXYZ", undefined],
    ["by the last part of a dotted name", "taskTokn", "replyTo.taskToken"],
    ["the very last", "target", "models.fast.targets"],
    ["never when it is quite another", "temperature", undefined],
    ["though it has two letters, of which one is wrong", "ob", "op"],
    ["or one is left out", "p", "op"],
    ["no letters are swapped unless both are", "pa", undefined],
    ["whichever the other is", "xo", undefined],
  ])("%s", (_says, name, meant) => expect(nearest(name, known)).toBe(meant));

  test("the nearest of several", () => expect(nearest("params", ["param", "params", "paramsRef"])).toBe("params"));
  test("itself before its swapped twin", () => expect(nearest("ab", ["ba", "ab"])).toBe("ab"));
});

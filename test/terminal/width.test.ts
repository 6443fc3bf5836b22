import { describe, expect, test } from "vitest";

import { columnsOf, cut, fold, plain } from "../../lib/terminal/width.ts";

describe("a text on a line", () => {
  test.each<[says: string, text: string, columns: number, line: string]>([
    ["is left as it is where it fits", "abcd", 4, "abcd"],
    ["is cut where it does not, and says so", "abcde", 4, "abc…"],
    ["has colours that take no room", "\u001B[31mabcd\u001B[39m", 4, "\u001B[31mabcd\u001B[39m"],
    ["ends the colours that the cut would leave open", "\u001B[31mabcde\u001B[39m", 4, "\u001B[31mabc…\u001B[39m"],
    ["takes two columns for an emoji, and never half of one", "ab👋cd", 4, "ab…"],
    ["takes two for the letters of Asia", "日本語", 5, "日本…"],
  ])("%s", (_says, text, columns, line) => {
    expect(cut(text, columns)).toBe(line);
    expect(columnsOf(line)).toBeLessThanOrEqual(columns);
  });

  test("is broken at words where it must be read whole; a longer word stays in one piece", () =>
    expect(fold("to be or not-to-be-that-is", 10)).toEqual(["to be or", "  not-to-be-that-is"]));

  test("moves no cursor, whoever wrote it", () => expect(plain("a\n\u001B[2Jb\u2028c")).toBe("a [2Jb c"));
});

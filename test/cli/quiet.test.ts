import { expect, test } from "vitest";
import { quietTeller } from "../../lib/cli/quiet.ts";

function someQuiet() {
  const told: string[] = [];
  let nowMs = 0;
  const quiet = quietTeller(
    () => nowMs,
    (what) => void told.push(what),
  );
  const after = (ms: number, open: number) => {
    nowMs += ms;
    quiet(open);
    return told.length;
  };
  return { told, after };
}

test("whoever waits is told once where to look, when no job has ended for half a minute", () => {
  const { told, after } = someQuiet();
  after(0, 3);
  expect(after(29_999, 3)).toBe(0);
  expect(after(1, 3)).toBe(1);
  expect(told[0]).toContain("npx sluice jobs");
  expect(after(60_000, 3)).toBe(1);
});

test("and again when it comes to a stop another time", () => {
  const { after } = someQuiet();
  after(0, 3);
  after(30_000, 3);
  expect(after(1, 2)).toBe(1);
  expect(after(29_999, 2)).toBe(1);
  expect(after(1, 2)).toBe(2);
});

test("nobody is told while jobs end, or when none is open", () => {
  const { after } = someQuiet();
  for (const open of [9, 8, 7]) expect(after(29_999, open)).toBe(0);
  after(1, 0);
  expect(after(120_000, 0)).toBe(0);
});

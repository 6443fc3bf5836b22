import { describe, expect, test } from "vitest";
import { dark, light, stylesheet } from "../../lib/view/style.ts";

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test("contrast is measured as WCAG says", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
});

describe.each([
  ["light", light],
  ["dark", dark],
] as const)("in the %s theme", (_name, palette) => {
  const { ground, card, text, faint, link, chips, fill, full, trough, series } = palette;

  test.each([ground, card].flatMap((under) => [text, faint, link].map((over): [string, string] => [over, under])))(
    "text %s is readable on %s",
    (over, under) => expect(contrast(over, under)).toBeGreaterThanOrEqual(4.5),
  );

  test.each(Object.entries(chips))("a chip that says %s is readable", (_says, [over, under]) =>
    expect(contrast(over, under)).toBeGreaterThanOrEqual(4.5),
  );

  test("a bar is told from its trough, and a line of a chart from its ground", () => {
    expect(contrast(fill, trough)).toBeGreaterThanOrEqual(3);
    expect(contrast(full, trough)).toBeGreaterThanOrEqual(3);
    for (const line of Object.values(series)) expect(contrast(line, card)).toBeGreaterThanOrEqual(3);
  });

  test("what went well is told from what failed by its brightness too", () =>
    expect(contrast(series.green, series.red)).toBeGreaterThanOrEqual(1.5));
});

test("the theme is the reader's, or the one that was chosen", () => {
  expect(stylesheet("system")).toContain("@media(prefers-color-scheme:dark)");
  expect(stylesheet("dark")).toContain(`--ground:${dark.ground}`);
  expect(stylesheet("dark")).not.toContain("prefers-color-scheme");
  expect(stylesheet("light")).toContain(`--ground:${light.ground}`);
});

test("every rule is the view's own: the console around a widget keeps its looks", () => {
  const selectors = [...stylesheet("dark").matchAll(/(?:^|[}{])([^{}@]+)\{/g)].flatMap(([, selector = ""]) =>
    selector.split(","),
  );
  expect(selectors.length).toBeGreaterThan(50);
  expect(selectors.map((each) => each.trim()).filter((each) => !each.startsWith(".sluice"))).toEqual([]);
});

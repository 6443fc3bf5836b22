import { describe, expect, test } from "vitest";

import { tableLines } from "../../lib/terminal/table.ts";
import { columnsOf } from "../../lib/terminal/width.ts";

const titles = [
  { title: "job", gives: true },
  { title: "age", right: true },
  { title: "why", gives: true },
] as const;
const rows = [
  ["order-8812-summary", "2 s", "all 20 leases of fast-text@us-west-2 are out"],
  ["b", "10 min", ""],
];

describe("a table", () => {
  test("is whole where nobody counts columns, numbers on the right", () => {
    expect(tableLines(titles, rows, Infinity)).toEqual([
      "job                    age  why",
      "order-8812-summary     2 s  all 20 leases of fast-text@us-west-2 are out",
      "b                   10 min",
    ]);
  });

  test("may have more rows than a call takes arguments", () => {
    expect(
      tableLines(
        [{ title: "job" }],
        Array.from({ length: 600_000 }, () => ["a"]),
        80,
      ),
    ).toHaveLength(600_001);
  });

  test("gives way from the right, for a name that is cut cannot be typed again", () => {
    expect(tableLines(titles, rows, 50)).toEqual([
      "job                    age  why",
      "order-8812-summary     2 s  all 20 leases of fast…",
      "b                   10 min",
    ]);
  });

  test.each([80, 50, 40, 30, 20, 5])("fits %d columns", (columns) => {
    for (const line of tableLines(titles, rows, columns)) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
  });

  test("counts wide letters as two", () => {
    expect(
      tableLines(
        [{ title: "job" }, { title: "why" }],
        [
          ["日本", "x"],
          ["a", "y"],
        ],
        Infinity,
      ),
    ).toEqual(["job   why", "日本  x", "a     y"]);
  });
});

import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { split } from "../../lib/client/split.ts";

const mebibyte = 1_048_576;
const entry = (bytes: number) => ({ bytes });
const sizes = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.nat({ max: 2_000 }) },
    { weight: 1, arbitrary: fc.nat({ max: mebibyte }) },
    { weight: 1, arbitrary: fc.constantFrom(mebibyte / 2, mebibyte - 1, mebibyte) },
  ),
  { maxLength: 60, size: "max" },
);

describe("a list of messages is split for SendMessageBatch", () => {
  test("into chunks of 1 to 10 entries", () => {
    fc.assert(
      fc.property(sizes, (bytes) => {
        for (const chunk of split(bytes.map(entry))) {
          expect(chunk.length).toBeGreaterThanOrEqual(1);
          expect(chunk.length).toBeLessThanOrEqual(10);
        }
      }),
    );
  });

  test("of at most 1 MiB", () => {
    fc.assert(
      fc.property(sizes, (bytes) => {
        for (const chunk of split(bytes.map(entry))) {
          expect(chunk.reduce((sum, one) => sum + one.bytes, 0)).toBeLessThanOrEqual(mebibyte);
        }
      }),
    );
  });

  test("in order, with none lost and none twice", () => {
    fc.assert(
      fc.property(sizes, (bytes) => {
        const entries = bytes.map(entry);
        const flat = split(entries).flat();
        expect(flat).toHaveLength(entries.length);
        expect(flat.every((one, place) => one === entries[place])).toBe(true);
      }),
    );
  });

  test("and no chunk ends while its next entry would have fitted", () => {
    fc.assert(
      fc.property(sizes, (bytes) => {
        const chunks = split(bytes.map(entry));
        for (const [place, chunk] of chunks.entries()) {
          const next = chunks[place + 1]?.[0];
          if (next === undefined || chunk.length === 10) continue;
          expect(chunk.reduce((sum, one) => sum + one.bytes, next.bytes)).toBeGreaterThan(mebibyte);
        }
      }),
    );
  });

  const rows: [says: string, bytes: number[], lengths: number[]][] = [
    ["nothing needs no request", [], []],
    ["ten go together", Array.from({ length: 10 }, () => 1), [10]],
    ["the eleventh goes in a second", Array.from({ length: 11 }, () => 1), [10, 1]],
    ["exactly 1 MiB goes together", [mebibyte - 1, 1], [2]],
    ["a byte more does not", [mebibyte, 1], [1, 1]],
  ];
  test.each(rows)("%s", (_says, bytes, lengths) => {
    expect(split(bytes.map(entry)).map((chunk) => chunk.length)).toEqual(lengths);
  });
});

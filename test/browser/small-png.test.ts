import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { chunk, smallPng } from "./small-png.ts";

const width = 8;
const height = 4;

/** A picture as a browser writes it: each row behind the filter that is asked for, which leaves the differences. */
function picture(filter: number): Buffer {
  const dots = Array.from({ length: width * height * 3 }, (_, place) => (place * 7) % 256);
  const rows: number[] = [];
  for (let row = 0; row < height; row += 1) {
    rows.push(filter);
    for (let place = 0; place < width * 3; place += 1) {
      const at = row * width * 3 + place;
      const left = place >= 3 ? (dots[at - 3] ?? 0) : 0;
      const up = row > 0 ? (dots[at - width * 3] ?? 0) : 0;
      const before = [0, left, up, (left + up) >> 1][filter] ?? 0;
      rows.push(((dots[at] ?? 0) - before + 256) % 256);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", deflateSync(Buffer.from(rows)))]);
}

test.each([1, 2, 3])("a picture behind filter %i becomes the same as without one", (filter) =>
  expect(smallPng(picture(filter)).equals(smallPng(picture(0)))).toBe(true),
);

test("a palette is what it has instead", () => {
  const small = smallPng(picture(0));
  expect(small.subarray(12, 26).toString("latin1")).toMatch(/^IHDR/);
  expect(small[25]).toBe(3);
  expect(small.includes("PLTE")).toBe(true);
});

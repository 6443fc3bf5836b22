/** Makes the PNG of a screenshot smaller: 256 colours are enough for a page of text, and each of its dots is then one byte. */
import { deflateSync, inflateSync, crc32 } from "node:zlib";

interface Raster {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each dot. */
  readonly rgb: Uint8Array;
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const coloursMax = 256;

export function smallPng(png: Buffer): Buffer {
  const { width, height, rgb } = decode(png);
  const palette = paletteOf(rgb);
  const nearest = new Map<number, number>();
  const rows = Buffer.alloc(height * (width + 1));
  for (let dot = 0; dot < width * height; dot += 1) {
    const colour = colourAt(rgb, dot);
    const index = nearest.get(colour) ?? nearestTo(colour, palette);
    nearest.set(colour, index);
    rows[dot + Math.floor(dot / width) + 1] = index;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // eight bits a dot, out of a palette
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The colours that most dots have; of those that hardly differ, one. */
function paletteOf(rgb: Uint8Array): readonly number[] {
  const counts = new Map<number, number>();
  for (let dot = 0; dot * 3 < rgb.length; dot += 1) {
    const colour = colourAt(rgb, dot);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const alike = new Set<number>();
  const palette: number[] = [];
  for (const [colour] of [...counts].toSorted((a, b) => b[1] - a[1])) {
    const about = colour & 0xf0f0f0;
    if (palette.length >= 24 && alike.has(about)) continue;
    alike.add(about);
    palette.push(colour);
    if (palette.length === coloursMax) break;
  }
  return palette;
}

function nearestTo(colour: number, palette: readonly number[]): number {
  let [best, distance] = [0, Infinity];
  for (const [index, other] of palette.entries()) {
    const [red, green, blue] = [
      (colour >> 16) - (other >> 16),
      ((colour >> 8) & 255) - ((other >> 8) & 255),
      (colour & 255) - (other & 255),
    ];
    const far = red * red + green * green + blue * blue;
    if (far < distance) [best, distance] = [index, far];
  }
  return best;
}

function colourAt(rgb: Uint8Array, dot: number): number {
  return ((rgb[dot * 3] ?? 0) << 16) | ((rgb[dot * 3 + 1] ?? 0) << 8) | (rgb[dot * 3 + 2] ?? 0);
}

export function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** https://www.w3.org/TR/png-3: eight bits a channel, with alpha or without, not interlaced, as a browser writes it. */
export function decode(png: Buffer): Raster {
  const [width, height, type] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25]];
  if (png[24] !== 8 || (type !== 2 && type !== 6) || png[28] !== 0) throw new Error("no PNG as a browser writes it");
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const channels = type === 6 ? 4 : 3;
  const stride = width * channels;
  const raw = inflateSync(Buffer.concat(data));
  const out = new Uint8Array(stride * height);
  for (let row = 0; row < height; row += 1) {
    const filter = raw[row * (stride + 1)] ?? 0;
    for (let place = 0; place < stride; place += 1) {
      const at = row * stride + place;
      const left = place >= channels ? (out[at - channels] ?? 0) : 0;
      const up = row > 0 ? (out[at - stride] ?? 0) : 0;
      const corner = row > 0 && place >= channels ? (out[at - stride - channels] ?? 0) : 0;
      out[at] = (raw[row * (stride + 1) + 1 + place] ?? 0) + predicted(filter, left, up, corner);
    }
  }
  const rgb = channels === 3 ? out : out.filter((_, place) => place % 4 < 3);
  return { width, height, rgb };
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [toLeft, toUp, toCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner;
}

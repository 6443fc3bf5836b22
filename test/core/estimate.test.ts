import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateTokens, perhapsBilled } from "../../lib/core/estimate.ts";
import type { Json, JsonObject } from "../../lib/core/json.ts";

const base64 = (bytes: number) => "iVBORw0K".repeat(Math.ceil(bytes / 6));
const said = (...content: Json[]): JsonObject => ({ messages: [{ role: "user", content }] });
/** What the content adds to a message without any. */
const tokensOf = (...content: Json[]) => estimateTokens(said(...content)) - estimateTokens(said());

describe("input tokens are estimated", () => {
  test.each<[says: string, content: Json, least: number, most: number]>([
    ["four bytes of English a token", { text: "Say hello to Ada. ".repeat(1_000) }, 4_400, 4_600],
    ["Chinese by its bytes, three a character", { text: "请把下面的文章翻译成英文。".repeat(1_000) }, 9_700, 9_850],
    ["accents by their two bytes", { text: "é".repeat(4_000) }, 2_000, 2_010],
    ["a picture of a character by its four bytes", { text: "🦀".repeat(4_000) }, 4_000, 4_010],
    ["a word of the caller's without any blank is text still", { text: "a".repeat(900) }, 225, 235],
    ["a tool's input", { toolUse: { name: "f", input: { city: "Delft, in Holland" } } }, 10, 20],
    [
      "an image by its tokens, not its base64",
      { image: { format: "png", source: { bytes: base64(3_000_000) } } },
      1_600,
      1_610,
    ],
    ["a small one too", { image: { format: "png", source: { bytes: base64(60) } } }, 1_600, 1_610],
    ["one that lies in S3", { image: { format: "png", source: { s3Location: { uri: "s3://b/k" } } } }, 1_600, 1_610],
    [
      "an image in Anthropic's own form",
      { type: "image", source: { type: "base64", data: base64(3_000_000) } },
      1_600,
      1_620,
    ],
    ["an image in OpenAI's own form", { image_url: { url: `data:image/png;base64,${base64(9_000)}` } }, 1_600, 1_620],
    [
      "a PDF by its pages, some 40 KB each",
      { document: { format: "pdf", source: { bytes: base64(400_000) } } },
      19_990,
      20_010,
    ],
    ["a text file by its bytes", { document: { format: "csv", source: { bytes: base64(40_000) } } }, 9_990, 10_010],
    ["so a plain one", { document: { format: "txt", source: { bytes: base64(40_000) } } }, 9_990, 10_010],
    ["one of Markdown", { document: { format: "md", source: { bytes: base64(40_000) } } }, 9_990, 10_010],
    ["one of HTML", { document: { format: "html", source: { bytes: base64(40_000) } } }, 9_990, 10_010],
    ["a document of text", { document: { format: "txt", source: { text: "word ".repeat(800) } } }, 1_000, 1_010],
    ["a document of blocks", { document: { source: { content: [{ text: "word ".repeat(800) }] } } }, 1_000, 1_010],
    [
      "a document in S3, of which nothing is known",
      { document: { source: { s3Location: { uri: "s3://b/k" } } } },
      2_000,
      2_010,
    ],
    ["a video by its seconds", { video: { format: "mp4", source: { bytes: base64(1_200_000) } } }, 2_999, 3_010],
    ["a video in S3", { video: { format: "mp4", source: { s3Location: { uri: "s3://b/k" } } } }, 2_000, 2_000],
    ["sound as a video", { audio: { format: "mp3", source: { bytes: base64(120_000) } } }, 295, 310],
    ["what is called a document and is none", { document: { title: "word ".repeat(800) } }, 1_000, 1_010],
  ])("%s", (_says, content, least, most) => {
    const tokens = tokensOf(content);
    expect(tokens).toBeGreaterThanOrEqual(least);
    expect(tokens).toBeLessThanOrEqual(most);
  });

  test("a system prompt and tools count too", () => {
    const tools = {
      tools: [{ toolSpec: { name: "f", description: "word ".repeat(80), inputSchema: { json: { type: "object" } } } }],
    };
    expect(estimateTokens({ system: [{ text: "word ".repeat(80) }] })).toBeGreaterThan(100);
    expect(estimateTokens({ toolConfig: tools })).toBeGreaterThan(100);
  });

  test("numbers and flags count as they are written", () =>
    expect(estimateTokens({ "": [12_345_678, [true], null] })).toBe(3));

  test("not in the midst of others", () => expect(estimateTokens({ "": `see ${"a".repeat(2_000)}` })).toBe(501));

  test("a thousand characters without a blank are taken for a picture", () => {
    expect(estimateTokens({ "": "a".repeat(999) })).toBe(250);
    expect(estimateTokens({ "": "a".repeat(1_000) })).toBe(1_600);
  });

  test.each([
    ["one byte", "\u007F", 1],
    ["two bytes", "\u0080", 2],
    ["two bytes still", "\u07FF", 2],
    ["three bytes", "\u0800", 3],
    ["three bytes before the surrogates", "\uD7FF", 3],
    ["three bytes behind them", "\uE000", 3],
    ["four bytes", "\u{10000}", 4],
    ["four bytes still", "\u{10FFFF}", 4],
  ])("a character has %s", (_says, character, bytes) =>
    expect(estimateTokens({ "": character.repeat(40) })).toBe(bytes * 10),
  );

  test("nothing is no token", () => expect(estimateTokens({})).toBe(0));

  test("whatever the params are, it is a whole number, and more text is never less", () =>
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string({ unit: "binary" }), (params, more) => {
        const json: JsonObject = JSON.parse(JSON.stringify(params));
        const tokens = estimateTokens(json);
        expect(Number.isSafeInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(0);
        expect(estimateTokens({ first: json, more })).toBeGreaterThanOrEqual(tokens);
      }),
    ));

  test("text is counted as UTF-8 has it", () =>
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 500 }), (text) => {
        expect(estimateTokens({ "": text })).toBe(Math.ceil(new TextEncoder().encode(text).length / 4));
      }),
    ));
});

describe("a request that broke off may be billed", () => {
  test.each<[says: string, input: number, ceiling: number, tookMs: number, tokens: number]>([
    ["its input, when it was cut at once", 700, 1_000, 0, 700],
    ["what the quickest model writes in the time, begun tokens too", 700, 4_096, 2_001, 700 + 1_001],
    ["its ceiling and no more, however long it ran", 700, 4_096, 120_000, 700 + 4_096],
    ["its ceiling, when that is what can be written", 0, 500, 1_000, 500],
    ["its input, where a clock went backwards", 700, 1_000, -5, 700],
  ])("%s", (_says, input, ceiling, tookMs, tokens) => expect(perhapsBilled(input, ceiling, tookMs)).toBe(tokens));
});

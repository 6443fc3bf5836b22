import type { Json, JsonObject } from "./json.ts";
import { isObject } from "./json.ts";

/** English and code run at about four bytes a token; Chinese, at three bytes a character, comes out near too. */
const bytesPerToken = 4;
/** The most that Claude takes for one picture; it shrinks bigger ones. */
const imageTokens = 1_600;
/** A PDF page of some 40 KB is read as about 2,000 tokens of text and picture. */
const documentBytesPerToken = 20;
/** Nova reads a second of video, about 125 KB, as 288 tokens; sound is in the same order. */
const recordingBytesPerToken = 400;
/** Of something that lies in S3, nothing but its address is known. */
const unseenTokens = 2_000;

/**
 * A model writes no faster. The quickest are told of at some 300 tokens a second: with more than that a budget is kept too
 * well rather than too badly.
 */
const tokensPerSecondMax = 500;

const plainDocuments: ReadonlySet<unknown> = new Set(["txt", "md", "csv", "html"]);

/**
 * Input tokens of a request's params, roughly and never exactly: good enough to prefer a larger window, never to refuse
 * a job. Text is counted in UTF-8 bytes, media by what they show, not by the length of their base64.
 */
export function estimateTokens(params: JsonObject): number {
  return Math.ceil(tokensOf(params));
}

/**
 * The tokens that a request may be billed for which was cut, or broke off, after so long: all that it asked with, and what a
 * model may have written until then, its ceiling at most.
 */
export function perhapsBilled(inputTokens: number, maxTokens: number, tookMs: number): number {
  return inputTokens + Math.min(maxTokens, Math.ceil((Math.max(0, tookMs) * tokensPerSecondMax) / 1_000));
}

function tokensOf(value: Json | undefined): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === "string") return isBase64(value) ? imageTokens : utf8Bytes(value) / bytesPerToken;
  if (typeof value !== "object") return String(value).length / bytesPerToken;
  if (!isObject(value)) return value.reduce((sum: number, inner: Json) => sum + tokensOf(inner), 0);
  return Object.entries(value).reduce(
    (sum, [key, inner]) => sum + (mediaTokens(key, inner) ?? plainTokens(key, inner)),
    0,
  );
}

/** A key costs too: it stands for what the message format and the tool schemas add. */
function plainTokens(key: string, value: Json | undefined): number {
  return key.length / bytesPerToken + tokensOf(value);
}

/** Converse's media blocks: `{ format, source: { bytes } }`; undefined: the key holds something else. */
function mediaTokens(key: string, block: Json | undefined): number | undefined {
  if (!isObject(block) || !isObject(block.source)) return undefined;
  const { bytes, text, content } = block.source;
  const size = typeof bytes === "string" ? (bytes.length * 3) / 4 : undefined;
  switch (key) {
    case "image":
      return imageTokens;
    case "document":
      if (size === undefined) return tokensOf(text) + tokensOf(content) || unseenTokens;
      return size / (plainDocuments.has(block.format) ? bytesPerToken : documentBytesPerToken);
    case "video":
    case "audio":
      return size === undefined ? unseenTokens : size / recordingBytesPerToken;
    default:
      return undefined;
  }
}

/** Text has blanks; a thousand characters without one are a picture in a model's native body. */
function isBase64(text: string): boolean {
  return /^(?:data:[^,]{1,100},)?[A-Za-z0-9+/_-]{1000}/.test(text);
}

function utf8Bytes(text: string): number {
  let bytes = text.length;
  // mutant: `<` → `<=`: beyond the end is no unit, and no byte.
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    // Half of a surrogate pair counts two: both together are the four bytes of their character.
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes += 2;
    else if (unit >= 0x80) bytes += 1;
  }
  return bytes;
}

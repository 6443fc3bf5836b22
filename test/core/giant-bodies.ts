/** Bodies of the most that SQS takes, 1 MiB of UTF-8, each hostile in its own way. */
import { encode } from "../../lib/core/envelope.ts";
import { sqsMessageBytesMax } from "../../lib/core/limits.ts";
import { a } from "../a.ts";
import { secret } from "./a-body.ts";

const size = sqsMessageBytesMax;
const bytes = (text: string) => Buffer.byteLength(text);
const repeated = (part: string, space = size) => part.repeat(Math.floor(space / bytes(part)));
const text = (inner: string) => JSON.stringify(inner);

/** As many keys as fit, each with that value. */
function keys(name: string, value: string): string {
  const pair = (index: number) => `"${name}${1_000_000 + index}":${value}`;
  return `{${Array.from({ length: Math.floor((size - 200) / (bytes(pair(0)) + 1)) }, (_, index) => pair(index)).join(",")}}`;
}

const job = (jobId: string, field: string) => `{"jobId":"${jobId}","model":"fast","op":"converse",${field}}`;
const asking = (content: string) =>
  encode(a.envelope({ jobId: "full", model: "fast", params: { kind: "inline", params: { content } } }));
const full = (letter: string) => asking(repeated(letter, size - bytes(asking(""))));

export const giants: readonly (readonly [says: string, body: string])[] = [
  ["an envelope of a mebibyte", full("x")],
  ["and of characters of three bytes", full("世")],
  ["brackets", repeated("[", size / 2) + repeated("]", size / 2)],
  ["brackets that nobody closes", repeated("[")],
  ["objects in objects", `${repeated('{"a":', (size * 5) / 6 - 1)}1${"}".repeat(size / 6 - 1)}`],
  ["params in params", job("deep", `"params":${repeated('{"a":', 500_000)}1${"}".repeat(100_000)}`)],
  [
    "metadata too deep for any text",
    job("deeper", `"params":{},"metadata":{"k":${"[".repeat(400_000)}${"]".repeat(400_000)}}`),
  ],
  ["one text", text(repeated(secret, size - 2))],
  ["a text of quotation marks, quoted", text(text(repeated('"', size / 4 - 2)))],
  ["blanks", repeated(" ")],
  ["digits", repeated("9")],
  ["keys that nearly are fields", keys("lane", "1")],
  ["a job among keys that nearly are its fields", `{"jobId":"near",${keys("lane", "1").slice(1)}`],
  ["destinations", job("reply", `"params":{},"replyTo":${keys("sq", "1")}`)],
  ["metadata", job("metadata", `"params":{},"metadata":${keys("k", '"v"')}`)],
  ["params of keys", job("params", `"params":${keys("", "1")}`)],
  ["steps", job("steps", `"params":{},"fallback":[${repeated('"smart",', size - 200)}"fast"]`)],
  ["envelopes", keys("k", '{"jobId":"a","lanex":1}')],
  ["texts that nearly are JSON", keys("k", '"[1]]"')],
  ["half characters", `"${repeated("\\ud800", size - 2)}"`],
  ["a name", `{"jobId":"name","${repeated("x", size - 40)}":1}`],
];

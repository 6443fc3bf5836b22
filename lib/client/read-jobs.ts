import { createReadStream } from "node:fs";
import { faultOf, readEnvelope } from "../core/envelope.ts";
import type { Fault, Read } from "../core/envelope.ts";
import { parseJson } from "../core/json.ts";
import { objectBytesMax } from "../core/limits.ts";
import type { Job } from "./job.ts";

/** A line of a JSONL file, counted from 1. */
export type JobLine = { readonly line: number } & LineRead;
type LineRead = { readonly kind: "job"; readonly job: Job } | { readonly kind: "fault"; readonly fault: Fault };

/**
 * Jobs of a JSONL file (or of chunks of one, stdin), one by one, the file never whole in memory. A bad line is told and
 * the next one read; blank lines, CRLF and a byte order mark do no harm. Throws only if the file cannot be read.
 */
export async function* readJobs(from: string | URL | AsyncIterable<Uint8Array>): AsyncGenerator<JobLine> {
  const chunks = typeof from === "string" || from instanceof URL ? createReadStream(from) : from;
  let line = 0;
  for await (const bytes of lines(chunks)) {
    line += 1;
    const read = readLine(bytes);
    if (read !== undefined) yield { line, ...read };
  }
}

const lineFeed = 0x0a;
/** More than any job: the longest params, half of whose characters are written as escapes. What is longer is not held. */
const lineBytesMax = 2 * objectBytesMax;

/** Split at the byte: readline would also split at U+2028, which JSON allows inside a string. */
async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array | "too-long"> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const take = (part: Uint8Array) => {
    bytes += part.length;
    if (bytes <= lineBytesMax) parts.push(part);
    else parts = [];
  };
  const end = () => {
    const line = bytes <= lineBytesMax ? Buffer.concat(parts) : "too-long";
    parts = [];
    bytes = 0;
    return line;
  };

  for await (const chunk of chunks) {
    let from = 0;
    for (let to = chunk.indexOf(lineFeed); to >= 0; to = chunk.indexOf(lineFeed, from)) {
      take(chunk.subarray(from, to));
      yield end();
      from = to + 1;
    }
    take(chunk.subarray(from));
  }
  yield end();
}

/** undefined: a blank line. */
function readLine(bytes: Uint8Array | "too-long"): LineRead | undefined {
  if (bytes === "too-long")
    return lineFault(
      `has more than ${lineBytesMax} bytes, and no job is as long; end each job with a line feed, or store its params in S3 and send paramsRef`,
    );
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return lineFault("is not UTF-8; save the file as UTF-8");
  }
  if (text.trim() === "") return undefined;

  const value = parseJson(text);
  if (value === undefined) return lineFault("is not JSON; a line is one whole job");
  const read = readEnvelope(value);
  if (isJob(value, read)) return { kind: "job", job: value };
  return "fault" in read ? { kind: "fault", fault: read.fault } : lineFault("is no job, but an event about one");
}

/** What the worker reads as an envelope is a job as a sender writes it. */
function isJob(_value: unknown, read: Read): _value is Job {
  return read.kind === "envelope";
}

function lineFault(what: string): LineRead {
  return { kind: "fault", fault: faultOf("line", what) };
}

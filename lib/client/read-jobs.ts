import { createReadStream } from "node:fs";
import { faultOf, readEnvelope } from "../core/envelope.ts";
import type { Fault, Read } from "../core/envelope.ts";
import { parseJson } from "../core/json.ts";
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

/** Split at the byte: readline would also split at U+2028, which JSON allows inside a string. */
async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let to = chunk.indexOf(lineFeed); to >= 0; to = chunk.indexOf(lineFeed, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, to)]);
      parts = [];
      from = to + 1;
    }
    parts.push(chunk.subarray(from));
  }
  yield Buffer.concat(parts);
}

/** undefined: a blank line. */
function readLine(bytes: Uint8Array): LineRead | undefined {
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

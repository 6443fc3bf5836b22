/** Files and directories that a person names: what cannot be used is told before anything starts. */
import { accessSync, closeSync, constants, createWriteStream, mkdirSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";

import { lanes } from "../../lib/core/lane.ts";
import { Fault } from "../../lib/terminal/fault.ts";
import type { Options } from "./options.ts";

/** @throws Fault */
export function needReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch {
    throw new Fault(`${file} cannot be read; check the path`);
  }
  if (isDirectory(file)) throw new Fault(`${file} is a directory; name a file`);
}

/** Makes it if need be, with the lanes' logs in it. @throws Fault that ends with the remedy. */
export function needDirectory(directory: string, remedy: string): void {
  try {
    mkdirSync(directory, { recursive: true });
    for (const lane of lanes) closeSync(openSync(logFile(directory, lane), "a"));
  } catch (error) {
    throw new Fault(`${directory} cannot be written as a directory (${codeOf(error)}); ${remedy}`);
  }
}

export function directoryRemedy({ dataDirectory }: Pick<Options, "dataDirectory">): string {
  return dataDirectory === undefined
    ? "it is for logs; name another directory with --data DIR"
    : "give --data another one";
}

export function logFile(directory: string, lane: string): string {
  return join(directory, `${lane}.log`);
}

/**
 * What the file held is gone. `lost` is told once that it cannot be written, on a full disk say, with the code; what comes
 * then is dropped, for a process whose output nobody takes stands still.
 */
export function openLog(file: string, lost: (code: string) => void): Writable {
  const sink = createWriteStream(file);
  sink.once("error", (error) => lost(codeOf(error)));
  sink.on("error", () => undefined);
  return new Writable({
    write: (chunk, _encoding, done) => void sink.write(chunk, () => done()),
    final(done) {
      sink.once("close", () => done());
      if (sink.closed) done();
      else sink.end();
    },
  });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}

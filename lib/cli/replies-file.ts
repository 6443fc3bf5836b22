import { createWriteStream, fstatSync, openSync, statSync } from "node:fs";
import type { Stats } from "node:fs";
import { once } from "node:events";
import { finished } from "node:stream/promises";

import type { Reply } from "../core/reply.ts";
import { Fault } from "../terminal/fault.ts";

/** Where replies are written, one a line. */
export interface RepliesFile {
  /** @throws Fault once the file cannot be written. */
  write(reply: Reply): Promise<void>;
  close(): Promise<void>;
}

/** What the file held is gone: the same command again writes all of it anew. @throws Fault */
export function openReplies(file: string): RepliesFile {
  const sink = createWriteStream(file, { fd: descriptorOf(file) });
  let lost: Fault | undefined;
  // A disk that is full is told, and ends nothing in the midst of a sentence.
  sink.on("error", (error) => {
    lost ??= faultOf(file, error);
  });
  return {
    async write(reply) {
      if (lost === undefined && !sink.write(`${JSON.stringify(reply)}\n`))
        await once(sink, "drain").catch(() => undefined);
      if (lost !== undefined) throw lost;
    },
    async close() {
      await finished(sink.end()).catch(() => undefined);
      if (lost !== undefined) throw lost;
    },
  };
}

/** By whatever name: a link to the jobs is the jobs. `jobs` is `-` for stdin. */
export function isSameFile(jobs: string, replies: string): boolean {
  const there = statSync(replies, { throwIfNoEntry: false });
  const its: Stats = jobs === "-" ? fstatSync(0) : statSync(jobs);
  return there?.isFile() === true && there.dev === its.dev && there.ino === its.ino;
}

function descriptorOf(file: string): number {
  try {
    return openSync(file, "w");
  } catch (error) {
    throw faultOf(file, error);
  }
}

function faultOf(file: string, error: unknown): Fault {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  return new Fault(`--replies ${file} cannot be written (${code}); check its directory, and the disk's room`);
}

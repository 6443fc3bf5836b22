import { createWriteStream, fstatSync, ftruncateSync, openSync, statSync } from "node:fs";
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

/**
 * What the file held is gone with the first reply, no sooner: the same command again writes all of it anew, and one that
 * comes to nothing, for a login that has expired, takes nothing away. @throws Fault
 */
export function openReplies(file: string): RepliesFile {
  const fd = descriptorOf(file);
  const sink = createWriteStream(file, { fd });
  let lost: Fault | undefined;
  let isFresh = false;
  // A disk that is full is told, and ends nothing in the midst of a sentence.
  sink.on("error", (error) => {
    lost ??= faultOf(file, error);
  });
  return {
    async write(reply) {
      if (!isFresh) empty(fd, file);
      isFresh = true;
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

/** A pipe or a device has nothing to be emptied of. */
function empty(fd: number, file: string): void {
  try {
    if (fstatSync(fd).isFile()) ftruncateSync(fd);
  } catch (error) {
    throw faultOf(file, error);
  }
}

function descriptorOf(file: string): number {
  try {
    // To append: a file that is opened to be written is empty at once.
    return openSync(file, "a");
  } catch (error) {
    throw faultOf(file, error);
  }
}

function faultOf(file: string, error: unknown): Fault {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  return new Fault(`--replies ${file} cannot be written (${code}); check its directory, and the disk's room`);
}

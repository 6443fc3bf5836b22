import { createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";

import { Fault } from "../terminal/fault.ts";

/** The jobs as they come. */
export type Source = AsyncIterable<Uint8Array> & { readonly bytesRead: number; destroy(): unknown };

/**
 * What is wrong with the file is told now; it is read when it is asked for. It is opened once: a pipe that is closed in
 * between has lost its writer. `-` is stdin. @throws Fault
 */
export function openJobs(file: string): () => Source {
  if (file === "-") return () => process.stdin;
  const fd = descriptorOf(file);
  const facts = fstatSync(fd);
  if (facts.isDirectory()) throw new Fault(`${file} is a directory; name a file`);
  // A read of a pipe that stands still could not be broken off, were it a file's.
  if (facts.isFIFO()) return () => new Socket({ fd, readable: true, writable: false });
  return () => createReadStream(file, { fd });
}

function descriptorOf(file: string): number {
  try {
    return openSync(file, "r");
  } catch (error) {
    const isThere = !(error instanceof Error && "code" in error && error.code === "ENOENT");
    throw new Fault(isThere ? `${file} cannot be read; check its rights` : `${file} is not there; check the path`);
  }
}

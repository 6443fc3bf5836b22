import { digest } from "../aws/digest.ts";
import type { JobRow } from "../core/claim.ts";
import type { Op } from "../core/config.ts";
import type { Fault } from "../core/envelope.ts";
import { readBody } from "../core/feeds.ts";
import { contentOf } from "../core/job.ts";
import type { JobOf } from "./job.ts";
import { prepare } from "./message.ts";

/** For the workers behind a test's client, who see no adapter. */
export { digest };

/** The job that a caller means. */
export interface Meant {
  readonly jobId: string;
  /** What its row may have as content hash, where the content is known. */
  readonly hashes?: ReadonlySet<string>;
}

/** A job with a fault: it was never sent, and no row is its own. */
export interface Faulty {
  readonly jobId: string;
  readonly fault: Fault;
}

export function meant(job: string | JobOf<Op>, bucket: string | undefined): Meant | Faulty {
  if (typeof job === "string") return { jobId: job };
  const prepared = prepare(job, bucket);
  if (prepared.kind === "refused") return { jobId: job.jobId, fault: prepared.fault };
  const { jobId, body } = prepared.message;
  // An envelope that the worker refuses is named by its body: there a fault may hide what the content is.
  return { jobId, hashes: new Set([contentHashOf(body), digest(body)]) };
}

/** As a worker hashes it. `body`: of a message of the client's own, so that it holds an envelope. */
export function contentHashOf(body: string): string {
  const read = readBody(body);
  return read.kind === "envelope" ? digest(contentOf(read.envelope)) : "";
}

/** Whether a row is another job's. One without a hash, of a job that was cancelled before it came, is whoever's has the id. */
export function isAnothers({ contentHash }: Pick<JobRow, "contentHash">, { hashes }: Meant): boolean {
  return contentHash !== undefined && hashes !== undefined && !hashes.has(contentHash);
}

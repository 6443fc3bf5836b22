import { digest } from "../aws/digest.ts";
import type { JobRow } from "../core/claim.ts";
import type { Op } from "../core/config.ts";
import { faultOf, isJobId, jobIdMust } from "../core/envelope.ts";
import type { Fault } from "../core/envelope.ts";
import { readBody } from "../core/feeds.ts";
import { contentOf } from "../core/job.ts";
import type { JobOf } from "./job.ts";
import { idIn, prepare } from "./message.ts";
import { JobRefused } from "./submit.ts";

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
  if (typeof job !== "object" || job === null) return { jobId: checked(job) };
  const prepared = prepare(job, bucket);
  if (prepared.kind === "refused") return { jobId: idIn(job), fault: prepared.fault };
  const { jobId, body } = prepared.message;
  // An envelope that the worker refuses is named by its body: there a fault may hide what the content is.
  return { jobId, hashes: new Set([contentHashOf(body), digest(body)]) };
}

/** Of an id's text in an error: what is longer than any id is found by its beginning. Characters. */
const shownLengthMax = 130;

/**
 * An id as it was given, before the table is asked: one that no job can have would be waited for in vain, and cancelled in a
 * row that nobody reads.
 * @throws JobRefused for such an id.
 */
export function checked(jobId: string): string {
  if (isJobId(jobId)) return jobId;
  const given = typeof jobId === "string" ? jobId : "";
  const shown = given.length > shownLengthMax ? `${given.slice(0, shownLengthMax)}…` : given;
  const what = typeof jobId === "string" ? JSON.stringify(shown) : `of type ${typeof jobId}`;
  throw new JobRefused(given, faultOf("jobId", `${what} is none that a job can have; it must ${jobIdMust}`));
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

/** The lines that every summary of jobs has. */
import { grouped, seconds } from "../core/words.ts";
import { plain } from "./width.ts";
import { commas, laid } from "./words.ts";

const codeColumns = 20;

export function codeLines(codes: Readonly<Record<string, number>>, columns: number): readonly string[] {
  return laid("codes", commas(Object.entries(codes).map(([code, count]) => `${code} ${grouped(count)}`)), columns);
}

/** Of the jobs that succeeded, ms. */
export function latencyLines(p50: number | undefined, p99: number | undefined, columns: number): readonly string[] {
  if (p50 === undefined) return [];
  const words = "from queue to reply, of the succeeded".split(" ");
  return laid("latency", [`p50 ${seconds(p50)},`, `p99 ${seconds(p99 ?? p50)}`, ...words], columns);
}

/** Jobs by name, each with why. */
export function namedLines(
  jobs: readonly { readonly jobId: string; readonly code: string; readonly message: string }[],
): readonly string[] {
  const widest = jobs.reduce((most, { jobId }) => Math.max(most, jobId.length), 0);
  return jobs.map(({ jobId, code, message }) =>
    `  ${plain(jobId).padEnd(widest)}  ${code.padEnd(codeColumns)}  ${plain(message)}`.trimEnd(),
  );
}

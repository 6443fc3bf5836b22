/** Which jobs were sent, and what became of each. */
import type { Reply } from "../../lib/core/reply.ts";

export interface Counts {
  /** Different jobs: all messages of one count once. */
  readonly jobs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly expired: number;
  readonly cancelled: number;
  readonly unanswered: number;
}

export class Tally {
  readonly #all = new Set<string>();
  readonly #open = new Set<string>();
  readonly #by = { succeeded: 0, failed: 0, expired: 0, cancelled: 0 };
  readonly #codes: Record<string, number> = {};
  readonly #latenciesMs: number[] = [];
  messages = 0;

  /** A reply is expected; a second message of the same job changes nothing. */
  expect(jobId: string): void {
    if (this.#all.has(jobId)) return;
    this.#all.add(jobId);
    this.#open.add(jobId);
  }

  take(reply: Reply): void {
    this.#open.delete(reply.jobId);
    this.#by[reply.status]++;
    if (reply.ok) this.#latenciesMs.push(reply.meta.totalMs);
    else this.#codes[reply.error.code] = (this.#codes[reply.error.code] ?? 0) + 1;
  }

  get open(): readonly string[] {
    return [...this.#open];
  }

  get counts(): Counts {
    return { jobs: this.#all.size, ...this.#by, unanswered: this.#open.size };
  }

  /** Error codes of failed, expired and cancelled jobs. */
  get codes(): Readonly<Record<string, number>> {
    return this.#codes;
  }

  /** From the queue to the reply, of the jobs that succeeded; undefined: none did. */
  totalMsAt(percentile: number): number | undefined {
    const sorted = this.#latenciesMs.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor((percentile / 100) * sorted.length))];
  }
}

/** Which jobs were sent, and what became of each. */
import { ownSentence } from "../core/reply.ts";
import type { Reply } from "../core/reply.ts";

export interface Counts {
  /** Different jobs, sent or not: all messages of one count once. */
  readonly jobs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly expired: number;
  readonly cancelled: number;
  /** Those that were not sent are among them. */
  readonly unanswered: number;
  readonly notSent: number;
}

/** A job that did not succeed: the reply's code and message, or why there is no reply. */
export interface Unsuccessful {
  readonly jobId: string;
  readonly code: string;
  readonly message: string;
}

/** Of the jobs of a file so many are named. */
const namedMax = 20;

export class Tally {
  readonly #all = new Set<string>();
  readonly #open = new Set<string>();
  readonly #notSent = new Map<string, Omit<Unsuccessful, "jobId">>();
  readonly #by = { succeeded: 0, failed: 0, expired: 0, cancelled: 0 };
  readonly #codes: Record<string, number> = {};
  readonly #latenciesMs: number[] = [];
  readonly #named: Unsuccessful[] = [];
  messages = 0;

  /** A reply is expected from now on; a second message of the same job changes nothing. */
  sent(jobId: string): void {
    this.messages++;
    this.#notSent.delete(jobId);
    if (this.#all.has(jobId)) return;
    this.#all.add(jobId);
    this.#open.add(jobId);
  }

  /** Nobody waits for it, unless another message of the same job was sent. */
  notSent(jobId: string, why: string): void {
    if (!this.#all.has(jobId)) this.#notSent.set(jobId, { code: "not sent", message: why });
  }

  /** Nobody waits for it any more, whether a message was sent or not: its id is another job's, or it has a fault. */
  dropped(jobId: string, code: string, message: string): void {
    this.#all.delete(jobId);
    this.#open.delete(jobId);
    this.#notSent.set(jobId, { code, message });
    this.#count(code);
  }

  isOpen(jobId: string): boolean {
    return this.#open.has(jobId);
  }

  get openCount(): number {
    return this.#open.size;
  }

  take(reply: Reply): void {
    const { jobId } = reply;
    this.#open.delete(jobId);
    this.#by[reply.status]++;
    if (reply.ok) {
      this.#latenciesMs.push(reply.meta.totalMs);
      return;
    }
    const { code, message } = reply.error;
    this.#count(code);
    if (this.#named.length < namedMax) this.#named.push({ jobId, code, message: ownSentence(message) });
  }

  #count(code: string): void {
    this.#codes[code] = (this.#codes[code] ?? 0) + 1;
  }

  get open(): readonly string[] {
    return [...this.#open];
  }

  /** Of those that are open so many at most, the first sent first. */
  openFirst(count: number): readonly string[] {
    const first: string[] = [];
    for (const jobId of this.#open) {
      if (first.length === count) break;
      first.push(jobId);
    }
    return first;
  }

  get counts(): Counts {
    const notSent = this.#notSent.size;
    return { jobs: this.#all.size + notSent, ...this.#by, unanswered: this.#open.size + notSent, notSent };
  }

  /** Error codes of failed, expired, cancelled and dropped jobs. */
  get codes(): Readonly<Record<string, number>> {
    return this.#codes;
  }

  /** The first of the jobs that did not succeed: those with a reply, those that could not be sent, those that are open. */
  get unsuccessful(): readonly Unsuccessful[] {
    const notSent = [...this.#notSent].map(([jobId, why]) => ({ jobId, ...why }));
    const open = [...this.#open].map((jobId) => ({ jobId, code: "unanswered", message: "" }));
    return [...this.#named, ...notSent, ...open].slice(0, namedMax);
  }

  /** From the queue to the reply, of the jobs that succeeded; undefined: none did. */
  totalMsAt(percentile: number): number | undefined {
    const sorted = this.#latenciesMs.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor((percentile / 100) * sorted.length))];
  }
}

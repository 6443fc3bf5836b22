/** What a file's jobs came to, so far. Of each only its id and the hash of its content is kept. */
import type { JobRow } from "../core/claim.ts";
import { targetsOf } from "../core/config.ts";
import type { Config, Price } from "../core/config.ts";
import { costUsd } from "../core/reply.ts";
import type { Reply } from "../core/reply.ts";
import { Tally } from "../operate/tally.ts";

const rateMs = 30_000;

export class Sums {
  readonly hashes = new Map<string, string>();
  readonly #tally = new Tally();
  readonly #running = new Set<string>();
  readonly #prices: ReadonlyMap<string, Price>;
  readonly #done: { readonly atMs: number; readonly done: number }[] = [];
  linesRefused = 0;
  copies = 0;
  /** Jobs whose reply was there before they were sent. */
  answeredBefore = 0;
  sentCount = 0;
  inputTokens = 0;
  outputTokens = 0;
  costUsd = 0;
  unpriced = 0;

  constructor(config: Config | undefined) {
    const targets = config === undefined ? [] : targetsOf(config);
    this.#prices = new Map(
      targets.flatMap(({ step, target: { price } }) => (price === undefined ? [] : [[step, price]])),
    );
  }

  sent(jobId: string): void {
    this.sentCount += 1;
    this.#tally.sent(jobId);
  }

  /** It was sent before, and has no reply yet. */
  seenOpen({ jobId, state }: JobRow): void {
    this.#tally.sent(jobId);
    if (state === "running") this.#running.add(jobId);
    else this.#running.delete(jobId);
  }

  notSent(jobId: string, code: string, why: string): void {
    this.#tally.dropped(jobId, code, why);
    this.#running.delete(jobId);
  }

  take(reply: Reply, before: boolean): void {
    const { jobId, meta } = reply;
    this.#tally.sent(jobId);
    this.#tally.take(reply);
    this.#running.delete(jobId);
    this.inputTokens += meta.usage.inputTokens + meta.usage.cacheReadTokens + meta.usage.cacheWriteTokens;
    this.outputTokens += meta.usage.outputTokens;
    const price = this.#prices.get(`${meta.model}@${meta.target ?? ""}`);
    if (price !== undefined) this.costUsd += costUsd(meta.usage, price);
    else if (reply.ok) this.unpriced += 1;
    if (before) this.answeredBefore += 1;
  }

  openIds(): string[] {
    return [...this.#tally.open];
  }

  /** Of the open ones so many at most, the oldest first. */
  oldestIds(count: number): readonly string[] {
    return this.#tally.openFirst(count);
  }

  isOpen(jobId: string): boolean {
    return this.#tally.isOpen(jobId);
  }

  get open(): number {
    return this.#tally.openCount;
  }

  get running(): number {
    return this.#running.size;
  }

  get counts() {
    const { jobs, succeeded, failed, expired, cancelled, notSent } = this.#tally.counts;
    return { jobs, succeeded, failed, expired, cancelled, notSent };
  }

  get codes(): Readonly<Record<string, number>> {
    return this.#tally.codes;
  }

  get unsuccessful() {
    return this.#tally.unsuccessful;
  }

  /** Notes how far it is, for the rate. */
  sample(nowMs: number): void {
    const { jobs, notSent } = this.counts;
    this.#done.push({ atMs: nowMs, done: jobs - notSent - this.open - this.answeredBefore });
    while ((this.#done[0]?.atMs ?? nowMs) < nowMs - rateMs) this.#done.shift();
  }

  /** Replies a second over the last half minute of samples; undefined: nothing is known yet. */
  get rate(): number | undefined {
    const [first, last] = [this.#done[0], this.#done.at(-1)];
    if (first === undefined || last === undefined || last.atMs - first.atMs < 1_000) return undefined;
    return ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
  }

  /** From the queue to the reply, of those that succeeded. */
  totalMsAt(percentile: number): number | undefined {
    return this.#tally.totalMsAt(percentile);
  }
}

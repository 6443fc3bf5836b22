/** What a record does with the invocation's time. */
export type Doing = "asking" | "waiting" | "working";

/**
 * Splits an invocation's time: asking while any record has a request at Bedrock, else working while any record works,
 * else nothing but waiting, which is billed all the same.
 */
export class Meter {
  readonly #nowMs: () => number;
  readonly #doing = new Map<object, Doing>();
  #sinceMs: number;
  #billedWaitMs = 0;
  #overheadMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#sinceMs = nowMs();
  }

  set(who: object, doing: Doing): void {
    this.#account();
    this.#doing.set(who, doing);
  }

  forget(who: object): void {
    this.#account();
    this.#doing.delete(who);
  }

  read(): { readonly billedWaitMs: number; readonly overheadMs: number } {
    this.#account();
    return { billedWaitMs: this.#billedWaitMs, overheadMs: this.#overheadMs };
  }

  #account(): void {
    const nowMs = this.#nowMs();
    const passedMs = nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    const all = [...this.#doing.values()];
    if (all.includes("asking")) return;
    if (all.length > 0 && all.every((doing) => doing === "waiting")) this.#billedWaitMs += passedMs;
    else this.#overheadMs += passedMs;
  }
}

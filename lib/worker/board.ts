import { errorName } from "../core/error-name.ts";
import type { Head } from "../core/lease.ts";
import { sameHead } from "../core/limit.ts";
import type { World } from "../ports.ts";

/** Heads are read again when they are older than this: a learned limit or a pause is late by no more. */
const freshMs = 1_000;
const changeTriesMax = 2;

export interface Changed {
  readonly seen: Head | undefined;
  readonly next: Head;
}

/** One container's view of the heads. What cannot be read stays as it was last known. */
export class Board {
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  readonly #ledgers: Set<string>;
  readonly #heads = new Map<string, Head>();
  /** Learned by writing while a read was under way: what that read brings may be older. */
  readonly #learned = new Set<string>();
  #readAtMs = -Infinity;
  #reading: Promise<void> | undefined;
  #unreadable = false;

  /** `ledgers`: those that the config knows, read together. */
  constructor(world: Pick<World, "clock" | "leases" | "telemetry">, ledgers: readonly string[] = []) {
    this.#world = world;
    this.#ledgers = new Set(ledgers);
  }

  /** Answers when the heads are at most a second old, or could not be read. Callers at the same time share one request. */
  async read(ledgers: readonly string[] = []): Promise<void> {
    const strange = ledgers.filter((ledger) => !this.#ledgers.has(ledger));
    if (strange.length > 0) {
      await this.#reading; // began without them
      for (const ledger of strange) this.#ledgers.add(ledger);
      this.#readAtMs = -Infinity;
    }
    if (this.#reading === undefined && this.#world.clock.nowMs() - this.#readAtMs < freshMs) return;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  /** Resolves when no read is under way. */
  async idle(): Promise<void> {
    await this.#reading;
  }

  /** Undefined: never written, as far as is known. */
  head(ledger: string): Head | undefined {
    return this.#heads.get(ledger);
  }

  /** Writes what `change` makes of the head; refused, it looks once more, at the head that stands. Never throws. */
  async change(ledger: string, change: (seen: Head | undefined) => Head | undefined): Promise<Changed | undefined> {
    const { leases, telemetry } = this.#world;
    try {
      for (let tries = 0; tries < changeTriesMax; tries++) {
        const seen = this.#heads.get(ledger);
        const next = change(seen);
        if (next === undefined) return undefined;
        const written = await leases.writeHead(ledger, seen, next);
        // A resend is refused by its own success: the head that stands is ours then.
        const won = written.kind === "written" || sameHead(written.head, next);
        this.#learn(ledger, written.kind === "written" ? next : written.head);
        if (won) return { seen, next };
      }
    } catch (error) {
      telemetry.note({ kind: "trouble", what: "write a head", error: errorName(error) });
    }
    return undefined;
  }

  #learn(ledger: string, head: Head | undefined): void {
    this.#learned.add(ledger);
    this.#set(ledger, head);
  }

  async #readAll(): Promise<void> {
    const { clock, leases, telemetry } = this.#world;
    const ledgers = [...this.#ledgers];
    this.#learned.clear();
    // Also when it fails: an engine in trouble is not asked more often.
    this.#readAtMs = clock.nowMs();
    try {
      const heads = await leases.readHeads(ledgers);
      for (const ledger of ledgers) if (!this.#learned.has(ledger)) this.#set(ledger, heads.get(ledger));
      this.#unreadable = false;
    } catch (error) {
      if (!this.#unreadable) telemetry.note({ kind: "trouble", what: "read the heads", error: errorName(error) });
      this.#unreadable = true;
    }
  }

  #set(ledger: string, head: Head | undefined): void {
    if (head === undefined) this.#heads.delete(ledger);
    else this.#heads.set(ledger, head);
  }
}

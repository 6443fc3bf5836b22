import { sameBreaker } from "../core/breaker.ts";
import type { Breaker } from "../core/breaker.ts";
import { stepParts } from "../core/config.ts";
import { errorName } from "../core/error-name.ts";
import { lanes } from "../core/lane.ts";
import type { Head } from "../core/lease.ts";
import { boundsUnder, noOverrides, readOverrides } from "../core/override.ts";
import type { Overrides } from "../core/override.ts";
import { sameHead } from "../core/limit.ts";
import type { LimitBounds } from "../core/limit.ts";
import type { BoardNames, World } from "../ports.ts";
import type { Budgets } from "./budgets.ts";
import { Sheet } from "./sheet.ts";
import type { Changed } from "./sheet.ts";

/** Read again when it is older than this: a learned limit, a pause or an override is late by no more. */
export const freshMs = 1_000;

/**
 * One container's view of the heads, the breakers and what operators have said. What cannot be read stays as it was last
 * known.
 */
export class Board {
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  readonly #names: Omit<BoardNames, "budgets">;
  readonly #budgets: Budgets | undefined;
  readonly #heads: Sheet<Head>;
  readonly #breakers: Sheet<Breaker>;
  #overrides = noOverrides;
  /** What could not be understood of the overrides, by what they are about: said once, until it changes. */
  #troubles: ReadonlyMap<string, string> = new Map();
  #readAtMs = -Infinity;
  #reading: Promise<void> | undefined;
  #unreadable = false;

  /** Of what the config knows, read together. */
  constructor(
    world: Pick<World, "clock" | "leases" | "telemetry">,
    names: Partial<Omit<BoardNames, "lanes" | "budgets">>,
    budgets?: Budgets,
  ) {
    this.#world = world;
    this.#budgets = budgets;
    this.#names = { ledgers: [], targets: [], models: [], ...names, lanes };
    this.#heads = new Sheet(sameHead, (...write) => world.leases.writeHead(...write));
    this.#breakers = new Sheet(sameBreaker, (...write) => world.leases.writeBreaker(...write));
  }

  /** Answers when the board is at most a second old, or could not be read. Callers at the same time share one request. */
  async read(): Promise<void> {
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

  /** Undefined: closed, without a failure, as far as is known. */
  breaker(target: string): Breaker | undefined {
    return this.#breakers.get(target);
  }

  get overrides(): Overrides {
    return this.#overrides;
  }

  /** A ledger's configured bounds, as far as its operator lets them be. */
  bounds(ask: LimitBounds & { readonly ledger: string }): LimitBounds {
    return boundsUnder(ask, this.#overrides.ledgers.get(ask.ledger));
  }

  /** Writes what `change` makes of the head; refused, it looks once more, at the head that stands. Never throws. */
  async changeHead(
    ledger: string,
    change: (seen: Head | undefined) => Head | undefined,
  ): Promise<Changed<Head> | undefined> {
    return await this.#noting("write a head", this.#heads.change(ledger, change));
  }

  /** The same for a breaker; `supposed`: as it must stand, though no read may have shown it yet. */
  async changeBreaker(
    target: string,
    change: (seen: Breaker | undefined) => Breaker | undefined,
    supposed?: Breaker,
  ): Promise<Changed<Breaker> | undefined> {
    return await this.#noting("write a breaker", this.#breakers.change(target, change, supposed));
  }

  async #noting<T>(what: string, changing: Promise<T>): Promise<T | undefined> {
    try {
      return await changing;
    } catch (error) {
      this.#world.telemetry.note({ kind: "trouble", what, error: errorName(error) });
      // It may have been applied all the same: only a read tells.
      this.#readAtMs = -Infinity;
      return undefined;
    }
  }

  async #readAll(): Promise<void> {
    const { clock, leases, telemetry } = this.#world;
    this.#heads.beginRead();
    this.#breakers.beginRead();
    const budgets = this.#budgets?.beginRead() ?? [];
    // Also when it fails: an engine in trouble is not asked more often.
    this.#readAtMs = clock.nowMs();
    try {
      const { heads, breakers, overrides: rows, spent } = await leases.readBoard({ ...this.#names, budgets });
      this.#heads.endRead(this.#names.ledgers, heads);
      this.#breakers.endRead(this.#names.targets, breakers);
      const { overrides, troubles } = readOverrides(rows, (name) => this.#isKnown(name));
      this.#overrides = overrides;
      this.#budgets?.endRead(budgets, spent, overrides);
      this.#tell(troubles);
      this.#unreadable = false;
    } catch (error) {
      if (!this.#unreadable) telemetry.note({ kind: "trouble", what: "read the board", error: errorName(error) });
      this.#unreadable = true;
    }
  }

  #isKnown(name: string): boolean {
    return stepParts(name).target === undefined
      ? this.#names.models.includes(name)
      : this.#names.targets.includes(name);
  }

  #tell(troubles: ReadonlyMap<string, string>): void {
    for (const [about, error] of troubles)
      if (this.#troubles.get(about) !== error)
        this.#world.telemetry.note({ kind: "trouble", what: `read the override of ${about}`, error });
    this.#troubles = troubles;
  }
}

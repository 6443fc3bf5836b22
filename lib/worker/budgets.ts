import {
  budgetedLanes,
  budgetName,
  budgetPause,
  budgetUsdOf,
  dayOf,
  readSpent,
  spentTtlS,
  standingOfBudget,
} from "../core/budget.ts";
import type { Addition, BudgetDay, BudgetPause, Spent } from "../core/budget.ts";
import type { Config } from "../core/config.ts";
import { errorName } from "../core/error-name.ts";
import type { Json } from "../core/json.ts";
import type { Lane } from "../core/lane.ts";
import { budgetWriteMs } from "../core/limits.ts";
import { noOverrides } from "../core/override.ts";
import type { Overrides } from "../core/override.ts";
import type { World } from "../ports.ts";

/** Charged here, and not yet in the table. */
interface Unwritten {
  readonly of: BudgetDay;
  readonly ttlS: number;
  nanoUsd: number;
  /** Sent, and not answered: it may have been counted. */
  unclear?: Addition | undefined;
}

/**
 * What the lanes with a budget have spent today, as one container knows it, and what its own attempts add to that. A lane
 * without a budget costs it nothing.
 */
export class Budgets {
  readonly #world: Pick<World, "clock" | "leases" | "telemetry">;
  readonly #config: Pick<Config, "lanes">;
  readonly #lanes: readonly Lane[];
  #overrides: Overrides = noOverrides;
  readonly #known = new Map<Lane, Spent>();
  readonly #unwritten = new Map<string, Unwritten>();
  /** Learned by writing while a read was under way: what that read brings may be older. */
  readonly #learned = new Set<string>();
  /** What could not be read or written: said once, until it can. */
  readonly #troubles = new Set<string>();
  #writing: Promise<void> = Promise.resolve();
  #by: string | undefined;
  #additions = 0;
  #wroteAtMs = -Infinity;
  #cancelTimer: (() => void) | undefined;

  constructor(world: Pick<World, "clock" | "leases" | "telemetry">, config: Pick<Config, "lanes">) {
    this.#world = world;
    this.#config = config;
    this.#lanes = budgetedLanes(config);
  }

  /** Until when a lane waits since its money is spent. */
  pauseOf(lane: Lane): BudgetPause | undefined {
    if (!this.#lanes.includes(lane)) return undefined;
    const nowMs = this.#world.clock.nowMs();
    return budgetPause(lane, this.#spent({ lane, day: dayOf(nowMs) }), this.#config, this.#overrides, nowMs);
  }

  /** What the board is to read, and to hand to `endRead`. */
  beginRead(): readonly BudgetDay[] {
    this.#learned.clear();
    const day = dayOf(this.#world.clock.nowMs());
    return this.#lanes.map((lane) => ({ lane, day }));
  }

  /** A row that cannot be understood changes nothing: what was known of it stands. */
  endRead(asked: readonly BudgetDay[], rows: ReadonlyMap<string, Json>, overrides: Overrides): void {
    this.#overrides = overrides;
    for (const of of asked) {
      const name = budgetName(of);
      if (this.#learned.has(name)) continue;
      const nanoUsd = readSpent(rows.get(name) ?? (rows.has(name) ? null : 0));
      this.#tell(`read what ${of.lane} has spent`, nanoUsd === undefined ? "spentNanoUsd is no amount" : undefined);
      if (nanoUsd !== undefined) this.#known.set(of.lane, { day: of.day, nanoUsd });
    }
  }

  /**
   * Charges a lane for an attempt: known here at once, and to the others within the second in which a container writes
   * once, however many of its attempts have ended. After `lastMs` no request begins: it is written by the next invocation.
   */
  charge(lane: Lane, nanoUsd: number, lastMs: number): void {
    if (!this.#lanes.includes(lane) || !(nanoUsd > 0)) return;
    const { clock } = this.#world;
    const nowMs = clock.nowMs();
    const of = { lane, day: dayOf(nowMs) };
    const row = this.#unwritten.get(budgetName(of)) ?? { of, ttlS: spentTtlS(nowMs), nanoUsd: 0 };
    row.nanoUsd += nanoUsd;
    this.#unwritten.set(budgetName(of), row);
    // Those that end in one tick go together.
    const waitMs = Math.max(0, this.#wroteAtMs + budgetWriteMs - nowMs);
    if (nowMs + waitMs < lastMs) this.#cancelTimer ??= clock.after(waitMs, () => void this.write(lastMs));
  }

  /** Resolves when all that was charged before has been written, or could not be: then it goes with the next. Never throws. */
  async write(lastMs: number): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing = this.#writing.then(() => this.#writeAll(lastMs));
    await this.#writing;
  }

  async #writeAll(lastMs: number): Promise<void> {
    const nowMs = this.#world.clock.nowMs();
    if (this.#unwritten.size === 0 || nowMs >= lastMs) return;
    this.#wroteAtMs = nowMs;
    await Promise.all([...this.#unwritten.values()].map((row) => this.#writeOne(row, lastMs)));
  }

  async #writeOne(row: Unwritten, lastMs: number): Promise<void> {
    // As it was sent: only so is it known for the same. What was charged meanwhile goes after it.
    const { unclear } = row;
    if (unclear !== undefined && !(await this.#send(row, unclear))) return;
    if (row.nanoUsd <= 0 || this.#world.clock.nowMs() >= lastMs) return;
    this.#by ??= this.#world.clock.newId();
    await this.#send(row, { nanoUsd: row.nanoUsd, by: this.#by, number: ++this.#additions });
  }

  /** Whether it was answered. */
  async #send(row: Unwritten, addition: Addition): Promise<boolean> {
    const { of, ttlS } = row;
    const what = `write what ${of.lane} has spent`;
    row.unclear = addition;
    try {
      const sum = await this.#world.leases.addSpent(of, addition, ttlS);
      row.unclear = undefined;
      row.nanoUsd -= addition.nanoUsd;
      if (row.nanoUsd <= 0) this.#unwritten.delete(budgetName(of));
      this.#tell(what, undefined);
      this.#learn(of, sum);
      return true;
    } catch (error) {
      this.#tell(what, errorName(error));
      return false;
    }
  }

  #learn(of: BudgetDay, nanoUsd: number): void {
    const { lane, day } = of;
    this.#learned.add(budgetName(of));
    if ((this.#known.get(lane)?.day ?? "") <= day) this.#known.set(lane, { day, nanoUsd });
    const budgetUsd = budgetUsdOf(lane, this.#config, this.#overrides);
    if (budgetUsd !== undefined)
      this.#world.telemetry.note({ kind: "spent", lane, ...standingOfBudget(nanoUsd, budgetUsd) });
  }

  #spent(of: BudgetDay): Spent {
    const known = this.#known.get(of.lane);
    const unwritten = this.#unwritten.get(budgetName(of))?.nanoUsd ?? 0;
    return { day: of.day, nanoUsd: (known?.day === of.day ? known.nanoUsd : 0) + unwritten };
  }

  #tell(what: string, error: string | undefined): void {
    if (error === undefined) this.#troubles.delete(what);
    else if (!this.#troubles.has(what)) {
      this.#troubles.add(what);
      this.#world.telemetry.note({ kind: "trouble", what, error });
    }
  }
}

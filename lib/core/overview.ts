import type { Breaker } from "./breaker.ts";
import { budgetName, budgetPause, budgetUsdOf, dayOf, readSpent, standingOfBudget } from "./budget.ts";
import { isHeld } from "./claim.ts";
import type { JobRow } from "./claim.ts";
import { targetsOf } from "./config.ts";
import type { Config } from "./config.ts";
import type { Json } from "./json.ts";
import { lanes } from "./lane.ts";
import type { Lane } from "./lane.ts";
import { ledgerKind, ledgersOf } from "./ledgers.ts";
import type { LedgerKind } from "./ledgers.ts";
import { holderMark, isReclaimable, laneCap } from "./lease.ts";
import type { Head, Page } from "./lease.ts";
import { limitOf } from "./limit.ts";
import { boundsUnder } from "./override.ts";
import type { LedgerOverride, Overrides } from "./override.ts";
import { whyOpen } from "./why-open.ts";
import type { Standing } from "./why-open.ts";

/** About how many messages of a queue can be received now, and how many are in a worker's hands or hidden. */
export interface Depth {
  readonly visible: number;
  readonly hidden: number;
}

/** The queues that an operator looks at. */
export type WatchedQueue = Lane | `${Lane}-dead-letters` | "parked" | "replies";

export type Depths = Readonly<Partial<Record<WatchedQueue, Depth>>>;

/** Which open jobs are not among those that were read: some that are younger than all of these, or nobody knows which. */
export type Missing = "none" | "younger" | "any";

/** What has been read, a moment ago. */
export interface Seen {
  readonly nowMs: number;
  readonly config: Config;
  /** Jobs without a reply. */
  readonly rows: readonly JobRow[];
  readonly missing: Missing;
  readonly pages: ReadonlyMap<string, readonly Page[]>;
  readonly heads: ReadonlyMap<string, Head>;
  readonly breakers: ReadonlyMap<string, Breaker>;
  readonly overrides: Overrides;
  /** What lanes with a budget have spent, as the table has it. */
  readonly spent?: ReadonlyMap<string, Json>;
  readonly depths: Depths;
}

/** The service at one moment, as its operators see it. Times are epoch ms. */
export interface Overview {
  readonly atMs: number;
  readonly lanes: readonly LaneView[];
  /** Open ones, the oldest first. */
  readonly jobs: readonly JobView[];
  readonly missing: Missing;
  /** Targets first, in the config's order; then the limits over several of them. */
  readonly ledgers: readonly LedgerView[];
  /** Models whose chain an operator has put in another order. */
  readonly chains: readonly { readonly model: string; readonly chain: readonly string[] }[];
  readonly parked: Depth | undefined;
  readonly replies: Depth | undefined;
}

export interface LaneView {
  readonly lane: Lane;
  readonly depth: Depth | undefined;
  readonly deadLetters: Depth | undefined;
  readonly pausedUntilMs?: number;
  readonly budget?: BudgetView;
}

/** What a lane has spent today, of what it may spend. */
export interface BudgetView {
  readonly spentUsd: number;
  readonly budgetUsd: number;
  readonly usedPercent: number;
  /** It is spent: the lane waits until then. */
  readonly untilMs?: number;
}

export interface JobView extends Standing {
  readonly jobId: string;
  readonly lane?: Lane;
  readonly step?: string;
  readonly worker?: string;
  /** As its row has it: what a worker does shows there within a heartbeat. */
  readonly stage: string;
  readonly stageAtMs?: number;
  readonly enqueuedAtMs?: number;
  readonly deadlineAtMs?: number;
  readonly attempts: number;
  readonly requeues: number;
  readonly deliveries: number;
}

/** A limit, and who is within it. */
export interface LedgerView {
  readonly name: string;
  readonly kind: LedgerKind;
  /** Leases that are out. */
  readonly inUse: number;
  /** The limit in force: learned, overridden. */
  readonly limit: number;
  /** The configured maximum. */
  readonly limitMax: number;
  /** Lanes whose share of the limit is out, while others may still take. */
  readonly fullFor: readonly Lane[];
  readonly leases: readonly LeaseView[];
  readonly isOut: boolean;
  readonly paused?: { readonly untilMs: number; readonly by: "operator" | "throttle" };
  /** Of a target. */
  readonly breaker?: Breaker;
  readonly region?: string;
  readonly modelId?: string;
  /** What an operator has set, as it stands. */
  readonly override?: LedgerOverride;
}

export interface LeaseView {
  readonly id: string;
  readonly expiresAtMs: number;
  /** Nobody renewed it: the next who wants it takes it. */
  readonly hasLapsed: boolean;
  /** The container that holds it, as far as its jobs tell; and the jobs that it runs there. */
  readonly worker?: string;
  readonly jobIds: readonly string[];
}

export function overviewOf(seen: Seen): Overview {
  const { nowMs, config, rows, missing, overrides, depths } = seen;
  const targets = new Map(targetsOf(config).map(({ step, target }) => [step, target]));
  const ledgers = [...ledgersOf(config)].map(([name, limitMax]) => {
    const target = targets.get(name);
    return ledgerView(name, { limitStart: target?.limit.start ?? limitMax, limitMax }, target, seen);
  });
  const byName = new Map(ledgers.map((ledger) => [ledger.name, ledger]));
  const pauseOf = (lane: Lane) => stillPaused(overrides.lanes.get(lane)?.pausedUntilMs, nowMs);
  const jobs = rows.map((row) => ({
    ...described(row),
    ...whyOpen(row, {
      nowMs,
      lanePausedUntilMs: row.lane && pauseOf(row.lane),
      budgetUntilMs: row.lane && budgetView(row.lane, seen)?.untilMs,
      ledgerAt: (step) => byName.get(step),
    }),
  }));
  return {
    atMs: nowMs,
    lanes: lanes.map((lane) => {
      const pausedUntilMs = pauseOf(lane);
      const depth = depths[lane];
      const budget = budgetView(lane, seen);
      return { lane, depth, deadLetters: depths[`${lane}-dead-letters`], ...known({ pausedUntilMs, budget }) };
    }),
    jobs: jobs.toSorted(byAge),
    missing,
    ledgers,
    chains: [...overrides.models].flatMap(([model, { chain = [] }]) => (chain.length > 0 ? [{ model, chain }] : [])),
    parked: depths.parked,
    replies: depths.replies,
  };
}

/** The oldest first, those of unknown age last. */
export function byAge(a: Pick<JobRow, "enqueuedAtMs">, b: Pick<JobRow, "enqueuedAtMs">): number {
  const [aMs = Number.MAX_VALUE, bMs = Number.MAX_VALUE] = [a.enqueuedAtMs, b.enqueuedAtMs];
  return aMs - bMs;
}

function budgetView(lane: Lane, { nowMs, config, overrides, spent }: Seen): BudgetView | undefined {
  const budgetUsd = budgetUsdOf(lane, config, overrides);
  if (budgetUsd === undefined) return undefined;
  const day = dayOf(nowMs);
  // A row that cannot be read stops nobody, and says nothing here.
  const nanoUsd = readSpent(spent?.get(budgetName({ lane, day })) ?? 0) ?? 0;
  const pause = budgetPause(lane, { day, nanoUsd }, config, overrides, nowMs);
  return { ...standingOfBudget(nanoUsd, budgetUsd), ...known({ untilMs: pause?.untilMs }) };
}

function described(row: JobRow): Omit<JobView, keyof Standing> {
  const { jobId, lane, step, worker, stage = "queued", stageAtMs, enqueuedAtMs, deadlineAtMs } = row;
  return {
    jobId,
    stage,
    attempts: row.requests,
    requeues: row.requeues,
    deliveries: row.fence,
    ...known({ lane, step, worker, stageAtMs, enqueuedAtMs, deadlineAtMs }),
  };
}

/** Without what is undefined: an absent fact is an absent key. */
function known<Facts extends object>(facts: Facts): { readonly [Name in keyof Facts]?: NonNullable<Facts[Name]> };
function known(facts: object): object {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

function ledgerView(
  name: string,
  bounds: { readonly limitStart: number; readonly limitMax: number },
  target: { readonly region: string; readonly modelId: string } | undefined,
  { nowMs, config, rows, pages, heads, breakers, overrides }: Seen,
): LedgerView {
  const [head, override] = [heads.get(name), overrides.ledgers.get(name)];
  const leases = (pages.get(name) ?? []).flatMap((page) => leaseViews(name, page, rows, nowMs));
  const paused = pausedBy(override, head, nowMs);
  const breaker = breakers.get(name);
  const [inUse, limit] = [leases.length, limitOf(head, boundsUnder(bounds, override))];
  return {
    name,
    kind: ledgerKind(name),
    inUse,
    limit,
    limitMax: bounds.limitMax,
    fullFor: inUse < limit ? lanes.filter((lane) => inUse >= laneCap(limit, config.lanes[lane].share)) : [],
    leases,
    isOut: override?.out ?? false,
    ...known({ paused, breaker, override, region: target?.region, modelId: target?.modelId }),
  };
}

/** A lease does not name its job; its container's mark, and the rows of the jobs that run there, do. */
function leaseViews(ledger: string, page: Page, rows: readonly JobRow[], nowMs: number): readonly LeaseView[] {
  const there = rows.filter((row) => isHeld(row, nowMs) && (row.step === undefined || row.step === ledger));
  const everywhere = ledgerKind(ledger) === "target" ? there : rows.filter((row) => isHeld(row, nowMs));
  return Object.entries(page).map(([id, expiresAtMs]) => {
    const holding = everywhere.filter(({ worker }) => worker !== undefined && id.startsWith(holderMark(worker)));
    const worker = holding[0]?.worker;
    return {
      id,
      expiresAtMs,
      hasLapsed: isReclaimable(expiresAtMs, nowMs),
      jobIds: holding.map(({ jobId }) => jobId),
      ...known({ worker }),
    };
  });
}

/** The later of the two; an operator's is named where both last as long. */
function pausedBy(override: LedgerOverride | undefined, head: Head | undefined, nowMs: number): LedgerView["paused"] {
  const operator = stillPaused(override?.pausedUntilMs, nowMs);
  const throttle = stillPaused(head?.pausedUntilMs, nowMs);
  if (operator !== undefined && operator >= (throttle ?? operator)) return { untilMs: operator, by: "operator" };
  return throttle === undefined ? undefined : { untilMs: throttle, by: "throttle" };
}

function stillPaused(untilMs: number | undefined, nowMs: number): number | undefined {
  return untilMs !== undefined && untilMs > nowMs ? untilMs : undefined;
}

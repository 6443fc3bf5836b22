import { targetsOf } from "./config.ts";
import type { Config } from "./config.ts";
import type { Job } from "./job.ts";
import { pageCount } from "./lease.ts";
import type { LeaseAsk } from "./lease.ts";
import type { Need, Step } from "./plan.ts";
import type { Reservation } from "./rate.ts";
import { burndownOf, reservedTokens } from "./reserve.ts";

/** All that an attempt must have before its request goes out. */
export interface Wanted {
  /** `model@target`: the ledger whose limit is learned, and whose head or only page bears the clocks of the quota. */
  readonly target: string;
  /** One lease of each, the narrowest limit first, but last the one that bears the charge; the target's is among them. */
  readonly asks: readonly LeaseAsk[];
  /** To be charged on the target's head; absent where the target's ask bears it. */
  readonly charge?: Reservation;
}

/** Which of the limits that apply a ledger keeps. A target's ledger alone has an `@` in its name. */
export type LedgerKind = "operation" | "target" | "group" | "global";

const operationPrefix = "operation:";
const groupPrefix = "group:";
const globalLedger = "global";

export function ledgerKind(ledger: string): LedgerKind {
  if (ledger.startsWith(operationPrefix)) return "operation";
  if (ledger.startsWith(groupPrefix)) return "group";
  return ledger === globalLedger ? "global" : "target";
}

/** What an attempt of a job on a step takes: the leases of every limit that applies and can bind, and its charge. */
export function wantedBy(
  job: Pick<Job, "lane" | "operation">,
  step: Step,
  need: Pick<Need, "inputTokens" | "maxTokens">,
  config: Config,
): Wanted {
  const [target, asks, charge] = [step.name, leaseAsks(job, step, config), chargeFor(step, need)];
  if (charge === undefined) return { target, asks };
  const bearer = asks.find(({ ledger, limitMax }) => ledger === target && pageCount(limitMax) === 1);
  if (bearer === undefined) return { target, asks, charge };
  // Last: what is refused before it has charged nothing, and a request that was charged never comes back.
  return { target, asks: [...asks.filter((ask) => ask !== bearer), { ...bearer, charge }] };
}

/** What the attempt sets aside, wherever it is charged. */
export function chargeOf({ asks, charge }: Wanted): Reservation | undefined {
  return charge ?? asks.find((ask) => ask.charge !== undefined)?.charge;
}

/** Narrowest first, so that what is refused most is asked before anything is taken in vain. */
export function leaseAsks(
  { lane, operation }: Pick<Job, "lane" | "operation">,
  step: Pick<Step, "name" | "limit" | "quotaGroup">,
  config: Config,
): readonly LeaseAsk[] {
  const { share } = config.lanes[lane];
  const limits = sharedLimits(config);
  const shared = (ledger: string): readonly LeaseAsk[] => {
    const limitMax = limits.get(ledger);
    // Nothing is learned about a limit that several targets share: a throttle speaks of one target.
    return limitMax === undefined ? [] : [{ ledger, lane, share, limitStart: limitMax, limitMax }];
  };
  return [
    ...(operation === undefined ? [] : shared(operationPrefix + operation)),
    { ledger: step.name, lane, share, limitStart: step.limit.start, limitMax: step.limit.max },
    ...(step.quotaGroup === undefined ? [] : shared(groupPrefix + step.quotaGroup)),
    ...shared(globalLedger),
  ].toSorted((a, b) => a.limitMax - b.limitMax);
}

/** Every ledger that a config can take a lease from, and its configured maximum. */
export function ledgersOf(config: Config): ReadonlyMap<string, number> {
  const targets = targetsOf(config).map(({ step, target }) => [step, target.limit.max] as const);
  return new Map([...targets, ...sharedLimits(config)]);
}

/**
 * The limits over several targets, by ledger; without those that cannot bind, because all that they cover never has as
 * many leases out: such a ledger would be written for nothing.
 */
export function sharedLimits(config: Config): ReadonlyMap<string, number> {
  return new Map(
    sharedLedgers(config).flatMap(({ ledger, limitMax, outMax }) => (limitMax < outMax ? [[ledger, limitMax]] : [])),
  );
}

/** The paths of the settings for which no ledger is made. */
export function idleLimits(config: Config): readonly string[] {
  return sharedLedgers(config).flatMap(({ path, limitMax, outMax }) => {
    if (limitMax < outMax) return [];
    return outMax === 0 ? [`${path} (no target names it)`] : [path];
  });
}

/** The paths of the ceilings by which a job that does not say how long its answer may be never fits the minute's quota. */
export function neverAdmitted(config: Config): readonly string[] {
  return Object.entries(config.models).flatMap(([model, { targets }]) =>
    Object.entries(targets).flatMap(([name, { maxTokens, tokensPerMinute = Infinity }]) =>
      maxTokens < tokensPerMinute ? [] : [`models.${model}.targets.${name}.maxTokens`],
    ),
  );
}

interface SharedLedger {
  readonly ledger: string;
  /** In the config. */
  readonly path: string;
  readonly limitMax: number;
  /** The most leases that the other limits let out of what it covers. */
  readonly outMax: number;
}

function sharedLedgers(config: Config): readonly SharedLedger[] {
  const { global, ...others } = config;
  const members = Map.groupBy(targetsOf(config), ({ target }) => target.quotaGroup);
  const groups = Object.entries(config.quotaGroups).map(([name, { limitMax }]) => {
    const outMax = (members.get(name) ?? []).reduce((sum, { target }) => sum + target.limit.max, 0);
    return { ledger: groupPrefix + name, path: `quotaGroups.${name}`, limitMax, outMax };
  });
  const everything =
    global === undefined
      ? []
      : [{ ledger: globalLedger, path: "global", limitMax: global.limitMax, outMax: leasesOutMax(others) }];
  // A job names its operation itself, so that one operation may be all there is.
  const outMax = leasesOutMax(config);
  const named = Object.entries(config.operations).map(([name, { limitMax }]) => {
    return { ledger: operationPrefix + name, path: `operations.${name}`, limitMax, outMax };
  });
  return [...named, ...groups, ...everything];
}

/** How many leases of targets may be out at once, `cap` being what may be filled of a limit: all of it, or a lane's share. */
export function leasesOutMax(config: Config, cap = (limit: number) => limit): number {
  const { quotaGroups, global } = config;
  const members = Map.groupBy(targetsOf(config), ({ target }) => target.quotaGroup);
  const sums = [...members].map(([group, targets]) => {
    const together = targets.reduce((sum, { target }) => sum + cap(target.limit.max), 0);
    const limitMax = group === undefined ? undefined : quotaGroups[group]?.limitMax;
    return limitMax === undefined ? together : Math.min(together, cap(limitMax));
  });
  const all = sums.reduce((sum, leases) => sum + leases, 0);
  return global === undefined ? all : Math.min(all, cap(global.limitMax));
}

function chargeFor(step: Step, need: Pick<Need, "inputTokens" | "maxTokens">): Reservation | undefined {
  const { quota, maxTokens } = step;
  if (quota === undefined) return undefined;
  const { tokensPerMinute } = quota;
  if (tokensPerMinute === undefined) return { tokens: 0, quota };
  const { inputTokens, maxTokens: asked = maxTokens } = need;
  const ask = { inputTokens, maxTokens: Math.min(maxTokens, asked), burndown: burndownFor(step), tokensPerMinute };
  return { tokens: reservedTokens(ask), quota };
}

/** How many tokens of the quota an output token of this step costs. */
export function burndownFor({
  modelId,
  baseModelId,
  burndown,
}: Pick<Step, "modelId" | "baseModelId" | "burndown">): number {
  return burndownOf(baseModelId ?? modelId, burndown);
}

import { lanes } from "../../../lib/core/lane.ts";
import { laneCap } from "../../../lib/core/lease.ts";
import type { Page } from "../../../lib/core/lease.ts";
import { closingBellMs, lastCallMs, leaseGraceMs, sleepMsMax } from "../../../lib/core/limits.ts";
import { errorName } from "../../../lib/core/error-name.ts";
import { isObject } from "../../../lib/core/json.ts";
import { replyOf } from "./fate.ts";
import { momentsOf } from "./history.ts";
import type { Call, History, Moment } from "./history.ts";
import { skewMsMax } from "./laws.ts";
import type { Law } from "./laws.ts";
import { replay } from "./seen.ts";
import type { Seen, SeenContainer } from "./seen.ts";

const theLimitIsALimit: Law = {
  law: "4",
  says: "the leases out at a ledger, a new one included, are at most its maximum and its lane's share",
  at(moment, _seen, { limits, scenario }) {
    if (moment.kind !== "page") return undefined;
    const { after, before, call, ledger, out } = moment;
    const isNew = Object.keys(after).some((id) => before[id] === undefined);
    const lane = lanes.find((one) => call.container.startsWith(`${one}-`)) ?? "rt";
    const share = Math.max(...scenario.configs.map((config) => config.lanes[lane].share));
    const cap = laneCap(limits.get(ledger) ?? 0, share);
    const count = Object.keys(out).length;
    return isNew && count > cap
      ? { about: ledger, says: `has ${count} leases out of the ${cap} of ${lane}` }
      : undefined;
  },
};

const requestsAreCovered: Law = {
  law: "4",
  says: "requests in flight are covered by live leases, those of frozen holders excepted",
  at(moment, seen) {
    if (moment.kind !== "asked") return undefined;
    const { atMs, live, step } = moment;
    const inFlight = [moment, ...seen.askedNow].filter(
      (asked) => asked.step === step && !seen.hasFrozenSince(asked.call.container, asked.call.atMs),
    );
    const covered = stillOut(live, atMs).length;
    return inFlight.length > covered
      ? { about: step, says: `has ${inFlight.length} requests in flight under ${covered} leases` }
      : undefined;
  },
};

const whoStoresHoldsNothing: Law = {
  law: "5",
  says: "whoever validates or stores holds no lease",
  at(moment, seen) {
    if (moment.kind !== "called" || !isStoring.has(moment.call.name)) return undefined;
    const container = seen.container(moment.call.container);
    const open = [...container.open];
    // Of the others in its batch one may be on its way from lease to lease.
    if (open.some(({ name }) => isOnTheWay.has(name))) return undefined;
    const others = open.reduce((sum, call) => sum + leasesFor(call), 0);
    // What was heard of in this very moment is on its way to its request, as what is still unheard of.
    const held = inHandOf(container, moment.atMs).filter(({ knownAtMs = Infinity }) => knownAtMs < moment.atMs);
    for (const [ledger, leases] of Map.groupBy(held, (lease) => lease.ledger))
      if (leases.length > others)
        return { about: moment.call.container, says: `calls ${moment.call.name} with a lease of ${ledger} in hand` };
    return undefined;
  },
};

const isStoring = new Set(["jobs.complete", "jobs.giveBack", "objects.putOutput"]);
const isOnTheWay = new Set(["leases.readBoard", "leases.writeHead", "leases.charge", "leases.createPage"]);

/** How many leases of a ledger are in use, or taken, by a call. */
function leasesFor({ name, args }: Call): number {
  if (name === "models.ask") return 1;
  if (name !== "leases.take" && name !== "leases.reclaim") return 0;
  return args.reduce<number>((ids, arg) => (Array.isArray(arg) ? arg.length : ids), 0);
}

const whoWaitsHoldsNothing: Law = {
  law: "5",
  says: "whoever sleeps or waits holds no lease",
  at(moment, seen) {
    const idle = idleBefore(moment, seen);
    if (idle === undefined || idle.ms <= 1) return undefined;
    const [lease] = inHandOf(idle.container, moment.atMs);
    return lease && { about: lease.ledger, says: `had a lease out while its holder waited ${Math.round(idle.ms)} ms` };
  },
};

const leasesComeHome: Law = {
  law: "6",
  says: "every lease returns or lapses, and so does every probe",
  atEnd({ end, faults, scenario }) {
    // Where nothing went wrong nothing was left to time.
    const isCalm = faults.length === 0 && scenario.poison === undefined;
    const atMs = isCalm ? -Infinity : end.atMs - leaseGraceMs - skewMsMax;
    const leases = [...end.leases].flatMap(([ledger, page]) =>
      stillOut(page, atMs).map((id) => ({ about: ledger, says: `never got back ${id}` })),
    );
    const probes = [...end.breakers].flatMap(([target, breaker]) =>
      breaker.kind === "half-open" && breaker.probe !== undefined && breaker.probe.expiresAtMs > atMs
        ? [{ about: target, says: "still waits for a probe" }]
        : [],
    );
    return [...leases, ...probes];
  },
};

const sleepIsShort: Law = {
  law: "10",
  says: "no single sleep above 5 s inside an invocation",
  at(moment, seen) {
    const idle = idleBefore(moment, seen);
    if (idle === undefined || idle.ms <= sleepMsMax + 1) return undefined;
    return { about: idle.name, says: `did nothing for ${Math.round(idle.ms)} ms` };
  },
};

const sleepIsDeclared: Law = {
  law: "10",
  says: "sleeps and billed waits are in the reply",
  atEnd(history) {
    const [row, ...others] = history.end.rows;
    const reply = row && replyOf(row);
    // What a delivery that died has slept is lost with it.
    const isCalm = history.faults.length === 0 && momentsOf(history, "crashed").length === 0;
    if (row === undefined || !isObject(reply?.meta) || others.length > 0 || !isCalm) return [];
    const declaredMs = Number(reply.meta.sleptMs) + Number(reply.meta.leaseWaitMs);
    const idleMs = idleMsOf(history);
    const roundingMs = 10;
    if (idleMs <= declaredMs + roundingMs) return [];
    return [{ about: row.jobId, says: `slept ${Math.round(idleMs)} ms and says ${declaredMs}` }];
  },
};

function idleMsOf(history: History): number {
  let sumMs = 0;
  for (const [moment, seen] of replay(history)) sumMs += idleBefore(moment, seen)?.ms ?? 0;
  return sumMs;
}

const handlersReturn: Law = {
  law: "§3",
  says: "the handler answers in time, and leaves nothing under way",
  at(moment, seen) {
    if (moment.kind === "crashed" && moment.why === "timeout") {
      const { frozenUntilMs, invocation } = seen.container(moment.container);
      const wasFrozen = frozenUntilMs > (invocation?.atMs ?? 0);
      return wasFrozen ? undefined : { about: moment.container, says: "had not answered at its end" };
    }
    if (moment.kind !== "returned") return undefined;
    const { frozenUntilMs, invocation } = seen.container(moment.container);
    if (moment.threw !== undefined) return { about: moment.container, says: `threw ${errorName(moment.threw)}` };
    if (invocation === undefined || frozenUntilMs > invocation.atMs || moment.left.length === 0) return undefined;
    const isLastCall = moment.atMs >= invocation.endsAtMs - lastCallMs - 2;
    return isLastCall ? undefined : { about: moment.container, says: `answered and left ${moment.left.join(", ")}` };
  },
};

const nothingBegins: Law = {
  law: "§3",
  says: "after the closing bell nothing is asked",
  at(moment, seen) {
    if (moment.kind !== "called" || moment.call.name !== "models.ask") return undefined;
    const { frozenUntilMs, invocation } = seen.container(moment.call.container);
    if (invocation === undefined || frozenUntilMs > invocation.atMs) return undefined;
    const isLate = moment.atMs > invocation.endsAtMs - closingBellMs + 2;
    return isLate ? { about: moment.call.container, says: "asked after the bell" } : undefined;
  },
};

/** How long a container has done nothing at all inside its invocation, when it does something again. */
function idleBefore(
  moment: Moment,
  seen: Seen,
): { readonly container: SeenContainer; readonly name: string; readonly ms: number } | undefined {
  const name =
    moment.kind === "called" ? moment.call.container : moment.kind === "returned" ? moment.container : undefined;
  if (name === undefined) return undefined;
  const container = seen.container(name);
  const isIdle = container.invocation !== undefined && container.open.size === 0;
  if (!isIdle || container.frozenUntilMs > container.idleSinceMs) return undefined;
  return { container, name, ms: moment.atMs - container.idleSinceMs };
}

function inHandOf({ inHand }: SeenContainer, atMs: number) {
  return [...inHand.values()].filter(({ expiresAtMs }) => expiresAtMs > atMs);
}

function stillOut(page: Page, atMs: number): readonly string[] {
  return Object.entries(page).flatMap(([id, expiresAtMs]) => (expiresAtMs > atMs ? [id] : []));
}

export const lawsOfLeases: readonly Law[] = [
  theLimitIsALimit,
  requestsAreCovered,
  whoStoresHoldsNothing,
  whoWaitsHoldsNothing,
  leasesComeHome,
  sleepIsShort,
  sleepIsDeclared,
  handlersReturn,
  nothingBegins,
];

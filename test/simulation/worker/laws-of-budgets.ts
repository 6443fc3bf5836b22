import { budgetUsdOf, dayOf } from "../../../lib/core/budget.ts";
import type { Addition } from "../../../lib/core/budget.ts";
import { isObject, parseJson } from "../../../lib/core/json.ts";
import { isLane } from "../../../lib/core/lane.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import { noOverrides } from "../../../lib/core/override.ts";
import { momentsOf } from "./history.ts";
import type { Call, History } from "./history.ts";
import { skewMsMax } from "./laws.ts";
import type { Law } from "./laws.ts";

/** A second of age, two in a line for a lease, the way to Bedrock, and what may be known of it last on the wire. */
const hearsOfItMs = 5_000 + skewMsMax;

const spentIsSpent: Law = {
  law: "§14",
  says: "when a lane has spent its budget, only what is under way still costs anything before midnight",
  at(moment, seen, history) {
    if (moment.kind !== "asked" || isHardOfHearing(history)) return undefined;
    const { atMs, call, jobId } = moment;
    const lane = laneOf(history, jobId);
    // Another clock may have reached midnight.
    const day = dayOf(atMs + skewMsMax);
    const spentAtMs = lane === undefined || day !== dayOf(atMs) ? undefined : spentSinceMs(history, lane, day);
    if (spentAtMs === undefined || atMs - spentAtMs <= hearsOfItMs) return undefined;
    if (seen.hasFrozenSince(call.container, spentAtMs)) return undefined;
    return { about: jobId, says: `asks ${Math.round(atMs - spentAtMs)} ms after ${lane} had spent its budget` };
  },
};

const whatCostsIsCounted: Law = {
  law: "§14",
  says: "what an attempt cost has been written when its invocation is over",
  atEnd(history) {
    const { faults, scenario } = history;
    const mayBeLost = faults.some(({ call, kind }) => call === "leases.addSpent" || isFatal.test(kind));
    if (mayBeLost || scenario.poison !== undefined || crashes(history) > 0) return [];
    return scenario.configs.flatMap((config) =>
      (["rt", "bg", "bulk"] as const).flatMap((lane) => {
        if (budgetUsdOf(lane, config, noOverrides) === undefined) return [];
        const costUsd = momentsOf(history, "noted").reduce(
          (sum, { event }) => (event.kind === "attempted" && event.lane === lane ? sum + (event.costUsd ?? 0) : sum),
          0,
        );
        const writtenUsd = additions(history, lane).reduce((sum, nanoUsd) => sum + nanoUsd, 0) / 1e9;
        return writtenUsd >= costUsd - 1e-9
          ? []
          : [{ about: lane, says: `cost ${costUsd} USD, of which ${writtenUsd} were written` }];
      }),
    );
  },
};

const isFatal = /^(crash|freeze)/;

function crashes(history: History): number {
  return momentsOf(history, "crashed").length;
}

/** Whoever cannot read the board goes on as he last knew it. */
function isHardOfHearing({ faults }: History): boolean {
  return faults.some(({ call }) => call === "leases.readBoard");
}

/** When somebody was told for the first time that the day's sum has reached the budget. */
function spentSinceMs(history: History, lane: Lane, day: string): number | undefined {
  const budgets = history.scenario.configs.map((config) => budgetUsdOf(lane, config, noOverrides) ?? Infinity);
  const most = Math.max(...budgets) * 1e9;
  if (most === Infinity) return undefined;
  return momentsOf(history, "ended").find(
    ({ answer, call, heard }) => heard && isOf(call, lane, day) && Number(answer) >= most,
  )?.atMs;
}

/** Each once, however often it was sent. */
function additions(history: History, lane: Lane): readonly number[] {
  const calls = momentsOf(history, "called").flatMap(({ call }) => (isOf(call, lane) ? [call] : []));
  const amounts = calls.flatMap(({ args: [, addition] }) =>
    isAddition(addition) ? [[`${addition.by} ${addition.number}`, addition.nanoUsd] as const] : [],
  );
  return [...new Map(amounts).values()];
}

function isAddition(value: unknown): value is Addition {
  return typeof value === "object" && value !== null && "by" in value && "number" in value && "nanoUsd" in value;
}

function isOf({ args: [of], name }: Call, lane: Lane, day?: string): boolean {
  if (name !== "leases.addSpent" || typeof of !== "object" || of === null) return false;
  return "lane" in of && of.lane === lane && (day === undefined || ("day" in of && of.day === day));
}

/** The one that the job asks for, never above its queue's; of a body that cannot be read, none. */
function laneOf({ scenario }: History, jobId: string): Lane | undefined {
  const send = scenario.sends.find((sent) => sent.jobId === jobId);
  const body = send === undefined ? undefined : parseJson(send.body);
  if (send === undefined || !isObject(body)) return undefined;
  return isLane(body.lane) ? body.lane : send.lane;
}

export const lawsOfBudgets: readonly Law[] = [spentIsSpent, whatCostsIsCounted];

import { lanes } from "../../../lib/core/lane.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import type { Crew, Scenario } from "./simulate.ts";

/** Workers by lane, one job at a time each. */
export function crewsOf(workers: Partial<Record<Lane, number>>): readonly Crew[] {
  return lanes.flatMap((lane) => (workers[lane] === undefined ? [] : [{ lane, workers: workers[lane] }]));
}

/** Three times the demand, in all lanes, while everything goes wrong that may. */
export function inTrouble(limitMax: number, seed: number): Scenario {
  return {
    seed,
    crews: [...crewsOf({ rt: limitMax, bg: limitMax }), { lane: "bulk", workers: Math.ceil(limitMax / 5), batch: 5 }],
    limitMax,
    fromS: 0,
    untilS: 150,
    faults: { requestLost: 0.02, answerLost: 0.03, repeated: 0.03 },
    skewMsMax: 500,
    late: 0.2,
    lifeMsMean: 90_000,
  };
}

/** A fifth of a limit of 50 for people who wait; all that is left is fought for by bulk, three times over. */
export function rtOverBulk(seed: number): Scenario {
  const crews: readonly Crew[] = [
    { lane: "rt", workers: 40, idleMsMean: 15_000 },
    { lane: "bulk", workers: 120 },
  ];
  return { seed, crews, limitMax: 50, fromS: 15, untilS: 60 };
}

export const takesMoreFromS = 180;

/** A model that takes 12 at once for three minutes, then 40, under a limit that starts at 40. */
export function learning(seed: number, crews: readonly Crew[] = crewsOf({ rt: 60 })): Scenario {
  const trueLimit = (second: number) => (second < takesMoreFromS ? 12 : 40);
  return { seed, crews, limitStart: 40, limitMax: 60, fromS: 60, untilS: takesMoreFromS + 120, trueLimit };
}

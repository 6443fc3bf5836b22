/** The three lanes, from the most urgent to the most patient; one queue each. */
export const lanes = ["rt", "bg", "bulk"] as const;

/** `rt`: somebody is waiting. `bg`: soon. `bulk`: whenever. */
export type Lane = (typeof lanes)[number];

/** One of each. */
export function byLane<Value>(make: (lane: Lane) => Value): Readonly<Record<Lane, Value>> {
  return { rt: make("rt"), bg: make("bg"), bulk: make("bulk") };
}

export function isLane(value: unknown): value is Lane {
  return lanes.some((lane) => lane === value);
}

/** The variable by which the stack tells the dead letters' worker the URL of a lane's queue of them. */
export function deadLettersVariable(lane: Lane): string {
  return `SLUICE_${lane.toUpperCase()}_DEAD_LETTERS_URL`;
}

/** The variable by which the stack tells the dashboard's widget the URL of a lane's queue. */
export function queueVariable(lane: Lane): string {
  return `SLUICE_${lane.toUpperCase()}_QUEUE_URL`;
}

/** The lane whose share a job takes: the one it asks for, never above the queue it came by. */
export function effectiveLane(asked: Lane | undefined, cameBy: Lane): Lane {
  if (asked === undefined) return cameBy;
  // mutant: `>` → `>=`: of one lane and the same either will do.
  return lanes.indexOf(asked) > lanes.indexOf(cameBy) ? asked : cameBy;
}

/** A machine whose states can be told apart by a key, and that has no more of them than can be walked through. */
export interface Machine<State> {
  readonly start: State;
  readonly keyOf: (state: State) => string;
  /** All that may happen next, each with its name. */
  readonly steps: (state: State) => readonly (readonly [did: string, next: State])[];
  /** The promises that a state breaks; those that it keeps are empty. */
  readonly broken: (state: State) => readonly string[];
}

export interface Explored {
  readonly states: number;
  readonly violation?: string;
  /** The shortest way to the violation. */
  readonly path?: readonly string[];
}

interface Reached<State> {
  readonly state: State;
  readonly did: string;
  readonly before?: Reached<State>;
}

/** Walks through every state within so many steps, nearest first, until a promise (or the one asked for) is broken. */
export function explore<State>(
  { start, keyOf, steps, broken }: Machine<State>,
  { stepsMax = Infinity, promise = /./ } = {},
): Explored {
  const seen = new Set([keyOf(start)]);
  let level: Reached<State>[] = [{ state: start, did: "start" }];
  for (let taken = 0; level.length > 0 && taken < stepsMax; taken++) {
    const next: Reached<State>[] = [];
    for (const before of level)
      for (const [did, state] of steps(before.state)) {
        const key = keyOf(state);
        if (seen.has(key)) continue;
        seen.add(key);
        const reached = { state, did, before };
        const violation = broken(state).find((text) => promise.test(text));
        if (violation !== undefined) return { states: seen.size, violation, path: pathTo(reached) };
        next.push(reached);
      }
    level = next;
  }
  return { states: seen.size };
}

function pathTo<State>({ did, before }: Reached<State>): readonly string[] {
  return before === undefined ? [] : [...pathTo(before), did];
}

import { createDice } from "../../../lib/memory/clock.ts";
import { kindsAt } from "./faults.ts";
import type { Fault } from "./faults.ts";
import { breaches } from "./invariants.ts";
import type { Breach } from "./invariants.ts";
import type { History } from "./history.ts";
import type { Mutant } from "./functions.ts";
import { calm, run } from "./run.ts";
import type { Trouble } from "./run.ts";
import type { Scenario } from "./scenario.ts";

/** A run, and what is wrong with it. */
export interface Walked {
  readonly scenario: Scenario;
  readonly trouble: Trouble;
  readonly history: History;
  readonly breaches: readonly Breach[];
}

const skewMs = 500;
const faultsMax = 6;

export async function walk(scenario: Scenario, trouble: Trouble = calm, mutant?: Mutant): Promise<Walked> {
  const history = await run(scenario, trouble, mutant);
  return { scenario, trouble, history, breaches: breaches(history) };
}

/** Every call of a calm run with each thing that may happen to it, a crash before and after it among them. */
export function singleFaults({ counts }: History): readonly Fault[] {
  return [...counts].flatMap(([call, calls]) =>
    Array.from({ length: calls }, (_, before) =>
      kindsAt(call).map((kind): Fault => ({ call, nth: before + 1, kind })),
    ).flat(),
  );
}

/** Several faults at once, thrown over the calls of a calm run and some that come only of faults. */
export function troubleOf(seed: number, { counts, scenario }: History): Trouble {
  const dice = createDice(seed);
  const pick = <T>(among: readonly T[]): T | undefined => among[Math.floor(dice() * among.length)];
  const calls = [...counts].flatMap(([call, times]) => Array.from({ length: times }, () => ({ call, times })));
  const faults = Array.from(
    { length: 1 + Math.floor(dice() * (scenario.isWild ? 2 : 1) * faultsMax) },
    (): readonly Fault[] => {
      const at = pick(calls);
      const kind = pick(kindsAt(at?.call ?? ""));
      if (at === undefined || kind === undefined) return [];
      return [{ call: at.call, nth: 1 + Math.floor(dice() * (at.times + 2)), kind }];
    },
  );
  return { seed, faults: faults.flat(), skewMs: dice() < 0.5 ? skewMs : 0 };
}

/** Drops fault after fault while a breach of the same law stays. */
export async function minimise({ scenario, trouble, breaches: [first] }: Walked, mutant?: Mutant): Promise<Walked> {
  let least = trouble;
  for (const fault of trouble.faults) {
    const fewer = { ...least, faults: least.faults.filter((one) => one !== fault) };
    const { breaches: left } = await walk(scenario, fewer, mutant);
    if (left.some(({ law }) => law === first?.law)) least = fewer;
  }
  return walk(scenario, least, mutant);
}

import { t0 } from "../../a.ts";
import type { History } from "./history.ts";
import type { Found, Law } from "./laws.ts";
import { lawsOfBudgets } from "./laws-of-budgets.ts";
import { lawsOfLeases } from "./laws-of-leases.ts";
import { lawsOfReplies } from "./laws-of-replies.ts";
import { replay } from "./seen.ts";

/** A promise that was broken, when, and on whom. */
export interface Breach extends Found {
  readonly law: Law;
  readonly atMs: number;
}

export const laws: readonly Law[] = [...lawsOfReplies, ...lawsOfLeases, ...lawsOfBudgets];

export function breaches(history: History): readonly Breach[] {
  const found: Breach[] = [];
  for (const [moment, seen] of replay(history))
    for (const law of laws) {
      const broken = law.at?.(moment, seen, history);
      if (broken !== undefined) found.push({ law, atMs: moment.atMs, ...broken });
    }
  const atMs = history.end.atMs;
  return [...found, ...laws.flatMap((law) => (law.atEnd?.(history) ?? []).map((broken) => ({ law, atMs, ...broken })))];
}

export function breachText({ law, atMs, about, says }: Breach): string {
  return `${law.law} (${law.says}) at ${((atMs - t0) / 1_000).toFixed(3)} s: ${about} ${says}`;
}

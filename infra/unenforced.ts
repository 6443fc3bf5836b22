import type { Config } from "../lib/core/config.ts";

/** Settings that the runtime does not enforce yet, by their path. A limit that limits nothing is worse than none. */
export function unenforced({ lanes }: Config): readonly string[] {
  return Object.entries(lanes).flatMap(([lane, { dailyBudgetUsd }]) =>
    dailyBudgetUsd === undefined ? [] : [`lanes.${lane}.dailyBudgetUsd`],
  );
}

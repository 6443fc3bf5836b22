import type { Config } from "../lib/core/config.ts";

/** Settings that the runtime does not enforce yet, by their path. A limit that limits nothing is worse than none. */
export function unenforced({ lanes, replies }: Config): readonly string[] {
  const budgets = Object.entries(lanes).flatMap(([lane, { dailyBudgetUsd }]) =>
    dailyBudgetUsd === undefined ? [] : [`lanes.${lane}.dailyBudgetUsd`],
  );
  const { eventBuses, sns, taskTokens } = replies.allow;
  return [
    ...budgets,
    ...(eventBuses.length > 0 ? ["replies.allow.eventBuses"] : []),
    ...(sns.length > 0 ? ["replies.allow.sns"] : []),
    ...(taskTokens ? ["replies.allow.taskTokens"] : []),
  ];
}

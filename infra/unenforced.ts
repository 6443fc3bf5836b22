import { targetsOf } from "../lib/core/config.ts";
import type { Config } from "../lib/core/config.ts";

/** Settings that the runtime does not enforce yet, by their path. A limit that limits nothing is worse than none. */
export function unenforced(config: Config): readonly string[] {
  const { operations, quotaGroups, global, lanes, replies } = config;
  const targets = targetsOf(config).flatMap(({ model, name, target }) => {
    const { tokensPerMinute, requestsPerMinute, quotaGroup } = target;
    return named(`models.${model}.targets.${name}`, { tokensPerMinute, requestsPerMinute, quotaGroup });
  });
  const budgets = Object.entries(lanes).flatMap(([lane, { dailyBudgetUsd }]) =>
    named(`lanes.${lane}`, { dailyBudgetUsd }),
  );
  const { sqs, eventBuses, sns, taskTokens } = replies.allow;
  return [
    ...targets,
    ...Object.keys(operations).map((name) => `operations.${name}`),
    ...Object.keys(quotaGroups).map((name) => `quotaGroups.${name}`),
    ...(global === undefined ? [] : ["global"]),
    ...budgets,
    ...(taskTokens || [sqs, eventBuses, sns].some((list) => list.length > 0) ? ["replies.allow"] : []),
  ];
}

function named(path: string, settings: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => (value === undefined ? [] : [`${path}.${name}`]));
}

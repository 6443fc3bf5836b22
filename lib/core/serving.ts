import type { Config } from "./config.ts";

/**
 * The part of a config by which jobs are served, as text with one spelling: what a deployment says of its config, so that
 * whoever holds a copy can tell whether it is the same. Names that only CDK knows before a deploy are not in it.
 */
export function servingOf({ models, operations, quotaGroups, global, lanes }: Config): string {
  return JSON.stringify([models, operations, quotaGroups, global ?? null, lanes]);
}

import { createHash } from "node:crypto";

import type { Config } from "./core/config.ts";

/**
 * What a deployment says of its config, so that whoever holds a copy can tell whether it is the same: the part by which
 * jobs are served. Names that only CDK knows before a deploy are not in it.
 */
export function configHashOf({ models, operations, quotaGroups, global, lanes }: Config): string {
  const serving = JSON.stringify([models, operations, quotaGroups, global ?? null, lanes]);
  return createHash("sha256").update(serving).digest("hex").slice(0, 16);
}

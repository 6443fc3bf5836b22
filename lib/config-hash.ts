import { createHash } from "node:crypto";

import type { Config } from "./core/config.ts";

/**
 * What a deployment says of its config, so that whoever holds a copy can tell whether it is the same, as checked and
 * completed: settings that are written in another order, and defaults that are left out, are no difference.
 */
export function configHashOf(config: Config): string {
  return createHash("sha256").update(JSON.stringify(config)).digest("hex").slice(0, 16);
}

/** What all functions share: the config and the telemetry of a sandbox, opened when it starts. */
import { readFileSync } from "node:fs";
import type { Context } from "aws-lambda";
import { systemClock } from "../lib/aws/clock.ts";
import { powertoolsTelemetry } from "../lib/aws/telemetry.ts";
import { checkConfig, ConfigError } from "../lib/config.ts";
import type { Config } from "../lib/core/config.ts";
import { hooksEndMs, hooksMsMax } from "../lib/core/limits.ts";
import { hookedTelemetry } from "../lib/worker/hooks.ts";
import type { Hooks } from "../lib/worker/hooks.ts";

const metered = powertoolsTelemetry("sluice");

export const config = readConfig(new URL("./sluice.config.json", import.meta.url));

/** Synth puts it beside the bundle. A sandbox that throws here has taken no message: they come again, to another. */
function readConfig(file: URL): Config {
  try {
    return checkConfig(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(
      `sluice.config.json beside the bundle cannot be used; deploy again, for synth writes it: ${why}`,
    );
  }
}

/** The telemetry that tells the hooks too, and a middleware: an invocation ends with its hooks done and its metrics written. */
export function open(hooks: Hooks) {
  const telemetry = hookedTelemetry(metered, hooks, systemClock);
  const end = async ({ context }: { readonly context: Context }) => {
    await telemetry.idle(Math.min(hooksMsMax, context.getRemainingTimeInMillis() - hooksEndMs));
    metered.flush();
  };
  return { telemetry, ending: { after: end, onError: end } };
}

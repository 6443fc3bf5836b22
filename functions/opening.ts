/** What all functions share: the config and the telemetry of a sandbox, opened when it starts. */
import { readFileSync } from "node:fs";
import { powertoolsTelemetry } from "../lib/aws/telemetry.ts";
import { checkConfig } from "../lib/config.ts";

export const telemetry = powertoolsTelemetry("sluice");

/** Synth puts it beside the bundle. */
export const config = checkConfig(JSON.parse(readFileSync(new URL("./sluice.config.json", import.meta.url), "utf8")));

/** Middleware: an invocation's metrics are written before it ends, however it ends. */
export const flushing = { after: () => telemetry.flush(), onError: () => telemetry.flush() };

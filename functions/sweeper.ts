import { readFileSync } from "node:fs";
import middy from "@middy/core";
import type { ScheduledEvent } from "aws-lambda";
import { powertoolsTelemetry } from "../lib/aws/telemetry.ts";
import { sweepSettingsOf, sweepWorld } from "../lib/aws/world.ts";
import { checkConfig } from "../lib/config.ts";
import { sweep } from "../lib/worker/sweep.ts";

const telemetry = powertoolsTelemetry("sluice");
const config = checkConfig(JSON.parse(readFileSync(new URL("./sluice.config.json", import.meta.url), "utf8")));
const settings = sweepSettingsOf(process.env);
const sweeper = { config, name: "sweeper", version: settings.version, world: sweepWorld(settings, telemetry) };

/** Looks at the rows that are due; whatever it has no time for is the next one's. */
export const handler = middy<ScheduledEvent, void>()
  .use({ after: () => telemetry.flush(), onError: () => telemetry.flush() })
  .handler((_event, context) => sweep(sweeper, sweeper.world.clock.nowMs() + context.getRemainingTimeInMillis()));

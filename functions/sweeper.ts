import middy from "@middy/core";
import type { ScheduledEvent } from "aws-lambda";
import { sweeperSettingsOf } from "../lib/aws/settings.ts";
import { sweeperWorld } from "../lib/aws/world.ts";
import { sweeperName } from "../lib/core/sweep.ts";
import { sweep } from "../lib/worker/sweep.ts";
import { config, flushing, telemetry } from "./opening.ts";

const settings = sweeperSettingsOf(process.env);
const sweeper = {
  config,
  name: sweeperName,
  version: settings.workerVersion,
  world: sweeperWorld(settings, telemetry),
};

/** Looks at the rows that are due; whatever it has no time for is the next one's. */
export const handler = middy<ScheduledEvent, void>()
  .use(flushing)
  .handler((_event, context) => sweep(sweeper, sweeper.world.clock.nowMs() + context.getRemainingTimeInMillis()));

import middy from "@middy/core";
import type { ScheduledEvent } from "aws-lambda";
import { sweeperSettingsOf } from "../../lib/aws/settings.ts";
import { sweeperWorld } from "../../lib/aws/world.ts";
import { sweeperName } from "../../lib/core/sweep.ts";
import { sweep } from "../../lib/worker/sweep.ts";
import type { Hooks } from "../../lib/worker/hooks.ts";
import { config, open } from "../opening.ts";

/** Looks at the rows that are due; whatever it has no time for is the next one's. */
export function sweeperHandler(hooks: Hooks = {}) {
  const { telemetry, ending } = open(hooks);
  const settings = sweeperSettingsOf(process.env);
  const sweeper = {
    config,
    name: sweeperName,
    version: settings.workerVersion,
    world: sweeperWorld(settings, telemetry),
  };

  return middy<ScheduledEvent, void>()
    .use(ending)
    .handler((_event, context) => sweep(sweeper, sweeper.world.clock.nowMs() + context.getRemainingTimeInMillis()));
}

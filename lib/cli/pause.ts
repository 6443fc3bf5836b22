import type { Command } from "commander";

import { foreverMs } from "../core/override.ts";
import { changeOverride, resumed } from "../operate/set-override.ts";
import { Fault } from "../terminal/fault.ts";
import type { Cli } from "./cli.ts";
import { ending } from "./help.ts";
import { endText } from "./ledgers.ts";
import { needLaneOrLedger, needStanding } from "./look.ts";
import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";
import { duration, instant } from "./numbers.ts";

interface PauseOptions {
  readonly for?: number;
  readonly until?: number;
}

const json = "{ name, override }, what stands now";
const nameText = "a lane (rt, bg, bulk), or a target as npx sluice targets names it";

export function addPause(program: Command, run: Run): void {
  const pauseCommand = program
    .command("pause")
    .summary("stop a lane or a target")
    .description("Stops a lane or a target: nothing new begins there. Jobs wait, or take another step.")
    .argument("<name>", nameText)
    .option("--for <duration>", "like 15m, 2h; without it and --until, until it is resumed", duration)
    .option("--until <time>", "like 2030-01-31T06:00:00Z", instant)
    .addHelpText(
      "after",
      ending(json, ["pause fast-text@us-west-2 --for 15m", "pause bulk --until 2030-01-31T06:00:00Z"]),
    );
  pauseCommand.action((name: string, options: PauseOptions) => run(pauseCommand, (cli) => pause(cli, name, options)));

  const resumeCommand = program
    .command("resume")
    .summary("take a pause back")
    .description("Takes back a pause, and a target's being out. A throttle's own pause ends by itself.")
    .argument("<name>", nameText)
    .addHelpText("after", ending(json, ["resume fast-text@us-west-2", "resume bulk"]));
  resumeCommand.action((name: string) => run(resumeCommand, (cli) => resume(cli, name)));
}

async function pause(cli: Cli, name: string, asked: PauseOptions): Promise<number> {
  if (asked.for !== undefined && asked.until !== undefined)
    throw new Fault("--for and --until both say when it ends; give one");
  needLaneOrLedger(name, await cli.config());
  const nowMs = cli.nowMs();
  const pausedUntilMs = asked.until ?? (asked.for === undefined ? foreverMs : nowMs + asked.for);
  if (pausedUntilMs <= nowMs) throw new Fault("--until has passed; give a time that is to come");
  const { leases } = await cli.deployment();
  const override = await changeOverride(leases, name, { pausedUntilMs });
  if (cli.isJson) cli.document({ name, override });
  else cli.lines([`${name} is paused, ${endText(pausedUntilMs, nowMs)}; workers know within 5 s, and what runs ends`]);
  return exitCodes.ok;
}

async function resume(cli: Cli, name: string): Promise<number> {
  await needStanding(cli, name);
  const { leases } = await cli.deployment();
  const override = await changeOverride(leases, name, resumed);
  if (cli.isJson) cli.document({ name, override });
  else
    cli.lines([`${name} is resumed; its jobs come when SQS shows their messages again, those of a long pause later`]);
  return exitCodes.ok;
}

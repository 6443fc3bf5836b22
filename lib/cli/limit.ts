import { InvalidArgumentError } from "commander";
import type { Command } from "commander";

import { isLane } from "../core/lane.ts";
import { ledgersOf } from "../core/ledgers.ts";
import { changeOverride } from "../operate/set-override.ts";
import { Fault } from "../terminal/fault.ts";
import type { Cli } from "./cli.ts";
import { ending } from "./help.ts";
import { needLedger, needStanding } from "./look.ts";
import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";
import { wholeFrom1 } from "./numbers.ts";

export function addLimit(program: Command, run: Run): void {
  const command = program
    .command("limit")
    .summary("set how many leases of a target may be out")
    .description("Sets how many leases of a target may be out, at most; `default` takes that back.")
    .argument("<target>", "as npx sluice targets names it; limits over several targets too")
    .argument("<n>", "a whole number from 1, or default", limitOrDefault)
    .addHelpText(
      "after",
      ending("{ name, override }, what stands now", [
        "limit fast-text@us-west-2 5",
        "limit fast-text@us-west-2 default",
      ]),
    );
  command.action((name: string, asked: number | "default") => run(command, (cli) => limit(cli, name, asked)));
}

function limitOrDefault(text: string): number | "default" {
  if (text === "default") return text;
  if (text === "0") throw new InvalidArgumentError("Nothing would end any more; npx sluice pause stops a target.");
  return wholeFrom1(text);
}

async function limit(cli: Cli, name: string, asked: number | "default"): Promise<number> {
  const config = await cli.config();
  if (asked === "default" && !isLane(name)) await needStanding(cli, name);
  else needLedger(name, config);
  const limitMax = ledgersOf(config).get(name) ?? Infinity;
  if (asked !== "default" && asked > limitMax)
    throw new Fault(
      `the config's maximum of ${name} is ${limitMax}; raise it there and deploy, an operator can only lower it`,
    );
  const { leases } = await cli.deployment();
  const override = await changeOverride(leases, name, { limit: asked === "default" ? undefined : asked });
  if (cli.isJson) cli.document({ name, override });
  else if (asked === "default" && limitMax === Infinity) cli.lines([goneText(name, override)]);
  else if (asked === "default")
    cli.lines([`${name}: the limit is learned again, at most ${limitMax}; workers know within 5 s`]);
  else cli.lines([`${name}: at most ${asked} leases; workers know within 5 s, and what is out runs to its end`]);
  return exitCodes.ok;
}

/** Of a target that the config does not have. */
function goneText(name: string, override: object): string {
  const stands =
    Object.keys(override).length === 0 ? "nothing stands for it" : `npx sluice resume ${name} takes back the rest`;
  return `${name}: no limit is set any more; the config does not have it, and ${stands}`;
}

import { CommanderError } from "commander";

import { ConfigError } from "../config.ts";
import { Fault } from "../terminal/fault.ts";
import { Cli } from "./cli.ts";
import type { GlobalOptions } from "./cli.ts";
import { explain } from "./explain.ts";
import { programOf } from "./program.ts";
import { exitCodes } from "./run.ts";

/** Answers the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  let code: number = exitCodes.ok;
  const program = programOf(async (command, act) => {
    const options = command.optsWithGlobals<GlobalOptions>();
    const cli = new Cli(options, process.stdout, process.stderr);
    try {
      code = await act(cli);
    } catch (error) {
      code = told(error, cli);
    }
  });
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // `sluice jobs | head` has what it wanted.
    if (error.code === "EPIPE") process.exit(code);
    // What nobody can read is no success, whatever was done.
    process.exit(told(error, new Cli({}, process.stdout, process.stderr)));
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  }
}

function told(error: unknown, { screen, options }: Cli): number {
  screen.clear();
  if (options.debug === true) screen.tell(error instanceof Error ? (error.stack ?? error.message) : String(error));
  if (error instanceof Fault || error instanceof ConfigError) {
    screen.tell(error.message, "red");
    return exitCodes.usage;
  }
  const { what, remedy } = explain(error);
  screen.tell(what, "red");
  screen.tell(`  ${remedy}`);
  return exitCodes.failed;
}

import type { Command } from "commander";

import type { Cli } from "./cli.ts";

export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** Runs a command's act and keeps the exit code that it answers. */
export type Run = (command: Command, act: (cli: Cli) => Promise<number>) => Promise<void>;

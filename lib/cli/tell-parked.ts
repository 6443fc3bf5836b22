/** What is done to parked messages one by one, and told however it ends. */
import { createParkedQueue } from "../client/parked-queue.ts";
import type { Cli } from "./cli.ts";
import { interruption } from "./interruption.ts";
import { outputOf } from "./outputs.ts";
import { exitCodes } from "./run.ts";
import { walkChosen } from "./walk-parked.ts";
import type { Walked, WalkEnd } from "./walk-parked.ts";

/** `failed`: an error is told after it. */
export type ToldEnd = WalkEnd | "failed";

interface Walk {
  readonly ids: readonly string[];
  readonly reason: string | undefined;
  readonly act: (walked: Walked) => Promise<boolean>;
  /** Told how far it came, also where an error then ends it: what was done is done. */
  readonly tell: (end: ToldEnd) => void;
}

/** Walks over the messages that were chosen, and tells what came of it; answers how it ended. */
export async function forEachParked(cli: Cli, { ids, reason, act, tell }: Walk): Promise<WalkEnd> {
  const { clients, outputs } = await cli.deployment();
  const queue = createParkedQueue(clients.sqs, outputOf(outputs, "parkedQueueUrl"));
  const { signal, release } = interruption();
  let walked = 0;
  const counting = async (each: Walked) => {
    const goesOn = await act(each);
    walked += 1;
    return goesOn;
  };
  try {
    const end = await walkChosen(queue, { ids, reason }, signal, counting);
    cli.screen.clear();
    tell(end);
    return end;
  } catch (error) {
    cli.screen.clear();
    if (walked > 0) tell("failed");
    throw error;
  } finally {
    release();
  }
}

export function exitCodeOf(end: WalkEnd, ok: boolean): number {
  if (end === "interrupted") return exitCodes.interrupted;
  return ok ? exitCodes.ok : exitCodes.failed;
}

/** What is to be read beside a count that is not the whole. */
export function brokenOff(end: ToldEnd): readonly string[] {
  return end === "interrupted" || end === "failed"
    ? ["Broken off: there may be more. The same command again takes up what is left."]
    : [];
}

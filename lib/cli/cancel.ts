import type { Command } from "commander";

import { cancel as cancelJob } from "../client/cancel.ts";
import { isJobId } from "../core/envelope.ts";
import { Fault } from "../terminal/fault.ts";
import { plain } from "../terminal/width.ts";
import type { Cli } from "./cli.ts";
import { ending } from "./help.ts";
import { replyTtlDaysOf } from "./outputs.ts";
import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";

type Outcome = "cancelled" | "asked" | "ended" | "unseen";

const says: Readonly<Record<Outcome, string>> = {
  cancelled: "cancelled",
  asked: "is running; its worker ends it within seconds",
  ended: "had ended before; its reply stands",
  unseen: "no worker has seen it; if it comes, it is answered cancelled",
};

const json = `{ jobs: [{ jobId, outcome: cancelled | asked | ended | unseen, status }] }`;

export function addCancel(program: Command, run: Run): void {
  const command = program
    .command("cancel")
    .summary("end jobs that have no reply yet")
    .description("Ends jobs that have no reply yet. Exit code 1 if one had ended before.")
    .argument("<ids...>", "their jobIds")
    .addHelpText("after", ending(json, ["cancel order-8812-summary", "cancel order-1 order-2 --json"]));
  command.action((ids: readonly string[]) => run(command, (cli) => cancel(cli, ids)));
}

interface Done {
  readonly jobId: string;
  readonly outcome: Outcome;
  readonly status?: string;
}

async function cancel(cli: Cli, ids: readonly string[]): Promise<number> {
  const wrong = ids.find((id) => !isJobId(id));
  if (wrong !== undefined) throw new Fault(`${plain(wrong)} can be no jobId, and no job has it; nothing was done`);
  const { jobs, clock, outputs } = await cli.deployment();
  const ttlDays = replyTtlDaysOf(outputs);
  const seen = new Set((await jobs.readMany(ids)).map(({ jobId }) => jobId));
  const done: Done[] = [];
  try {
    for (const jobId of new Set(ids)) {
      const cancelled = await cancelJob(jobId, jobs, clock, ttlDays);
      if (cancelled.kind === "ended") done.push({ jobId, outcome: "ended", status: cancelled.reply.status });
      else
        done.push({ jobId, outcome: cancelled.kind === "cancelled" && !seen.has(jobId) ? "unseen" : cancelled.kind });
    }
  } catch (error) {
    // What was done is done, whatever became of the next.
    if (done.length > 0) tell(cli, done);
    throw error;
  }
  tell(cli, done);
  return done.some(({ outcome }) => outcome === "ended") ? exitCodes.failed : exitCodes.ok;
}

function tell(cli: Cli, done: readonly Done[]): void {
  if (cli.isJson) return cli.document({ jobs: done });
  cli.table(
    [
      { title: "job", gives: true },
      { title: "what", gives: true },
    ],
    done.map(({ jobId, outcome }) => [jobId, says[outcome]]),
  );
}

import type { Command } from "commander";

import { cancel as cancelJob } from "../client/cancel.ts";
import { replyTtlDaysDefault } from "../core/limits.ts";
import type { Cli } from "./cli.ts";
import { ending } from "./help.ts";
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

async function cancel(cli: Cli, ids: readonly string[]): Promise<number> {
  const { jobs, clock, outputs } = await cli.deployment();
  const ttlDays = outputs.local === undefined ? replyTtlDaysDefault : (await cli.config()).replies.ttlDays;
  const seen = new Set((await jobs.readMany(ids)).map(({ jobId }) => jobId));
  const done: { readonly jobId: string; readonly outcome: Outcome; readonly status?: string }[] = [];
  for (const jobId of new Set(ids)) {
    const cancelled = await cancelJob(jobId, jobs, clock, ttlDays);
    if (cancelled.kind === "ended") done.push({ jobId, outcome: "ended", status: cancelled.reply.status });
    else done.push({ jobId, outcome: cancelled.kind === "cancelled" && !seen.has(jobId) ? "unseen" : cancelled.kind });
  }
  if (cli.isJson) cli.document({ jobs: done });
  else
    cli.table(
      [
        { title: "job", gives: true },
        { title: "what", gives: true },
      ],
      done.map(({ jobId, outcome }) => [jobId, says[outcome]]),
    );
  return done.some(({ outcome }) => outcome === "ended") ? exitCodes.failed : exitCodes.ok;
}

import type { Command } from "commander";

import type { JobRow } from "../core/claim.ts";
import { ownSentence, replyIn } from "../core/reply.ts";
import type { Reply, ReplyError } from "../core/reply.ts";
import { plain, plainJson } from "../terminal/width.ts";
import { counted } from "../core/words.ts";
import { when } from "../terminal/words.ts";
import type { Cli } from "./cli.ts";
import { ending } from "./help.ts";
import { whyText } from "./jobs.ts";
import { lookAround } from "./look.ts";
import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";
import { timelineOf } from "./timeline.ts";

interface JobOptions {
  readonly output?: boolean;
}

const json = `{ jobId, found, row, doing, why, untilMs, reply }; content (output, metadata
and the provider's own words in the reply) only with --output`;

export function addJob(program: Command, run: Run): void {
  const command = program
    .command("job")
    .summary("the life of one job, and why it waits")
    .description("One job: its life, and why it waits.")
    .argument("<id>", "its jobId")
    .option("--output", "show its output, its metadata and the provider's own words too")
    .addHelpText("after", ending(json, ["job order-8812-summary", "job order-8812-summary --output --json"]));
  command.action((jobId: string, options: JobOptions) => run(command, (cli) => job(cli, jobId, options)));
}

async function job(cli: Cli, jobId: string, { output = false }: JobOptions): Promise<number> {
  const { jobs } = await cli.deployment();
  const row = await jobs.read(jobId);
  if (row === undefined) {
    if (cli.isJson) cli.document({ jobId, found: false });
    else cli.lines([`${jobId}: no worker has taken it`, ...(await whyUnseen(cli)).map((why) => `  ${why}`)]);
    return exitCodes.failed;
  }
  const standing = row.reply === undefined ? (await lookAround(cli, [row])).jobs[0] : undefined;
  if (cli.isJson) {
    const { reply: _text, holder: _nonce, ...facts } = row;
    const { doing, why, untilMs } = standing ?? {};
    cli.document({ jobId, found: true, row: facts, doing, why, untilMs, reply: shownReply(row, output) });
    return exitCodes.ok;
  }
  const nowMs = cli.nowMs();
  const reply = replyIn(row);
  cli.lines([
    `${cli.bold(jobId)}  ${standing === undefined ? cli.paint(reply?.ok === true ? "green" : "red", reply?.status ?? "") : standing.doing}`,
    ...(standing === undefined ? [] : cli.labelled("why", whyText(standing, nowMs))),
    ...(reply === undefined || reply.ok
      ? []
      : cli.labelled(
          "error",
          `${reply.error.code}: ${plain(output ? reply.error.message : ownSentence(reply.error.message))}`,
        )),
    "",
  ]);
  const titles = [{ title: "when" }, { title: "ago", right: true }, { title: "what", gives: true }] as const;
  cli.table(
    titles,
    timelineOf(row, standing).map(({ atMs, what }) => [clock(atMs), when(atMs, nowMs), what]),
  );
  cli.lines(["", ...factLines(cli, row)]);
  if (output && reply !== undefined) cli.lines(["", ...plainJson(contentOf(reply), 2).split("\n")]);
  else if (reply?.ok === true) cli.lines(["", "The output: add --output"]);
  else if (reply?.error.providerMessage !== undefined) cli.lines(["", "The provider's own words: add --output"]);
  return exitCodes.ok;
}

/** A job without a row: nobody can tell which it is, but what it may be. */
async function whyUnseen(cli: Cli): Promise<readonly string[]> {
  const { atMs, lanes, ledgers } = await lookAround(cli);
  const paused = [
    ...lanes.flatMap(({ lane, pausedUntilMs }) => (pausedUntilMs === undefined ? [] : [`the lane ${lane}`])),
    ...ledgers.flatMap(({ name, paused: by }) => (by === undefined || by.untilMs < atMs ? [] : [name])),
  ];
  return [
    "It waits in its queue: npx sluice jobs counts the messages.",
    ...(paused.length === 0 ? [] : [`Paused now: ${paused.join(", ")}; what can go nowhere else waits untaken.`]),
    "Or it is parked (npx sluice parked list), was never sent, or its reply has gone after replies.ttlDays.",
  ];
}

/** What it has used up so far. */
function factLines(cli: Cli, row: JobRow): readonly string[] {
  const meta = replyIn(row)?.meta;
  const { requests, requeues, releases, fence, usage, leaseWaitMs, providerMs, sleptMs } = row;
  const { inputTokens, outputTokens } = meta?.usage ?? usage;
  const steps = meta?.steps ?? [];
  return [
    ...cli.labelled(
      "attempts",
      [
        counted(requests, "request"),
        counted(fence, "delivery", "deliveries"),
        counted(requeues, "requeue"),
        ...(releases > 0 ? [counted(releases, "release")] : []),
      ].join(", "),
    ),
    ...cli.labelled("time", `${providerMs} ms at Bedrock, ${leaseWaitMs} ms for leases, ${sleptMs} ms of backoff`),
    ...cli.labelled("tokens", `${inputTokens} in, ${outputTokens} out`),
    ...(steps.length === 0
      ? []
      : cli.labelled(
          "steps",
          steps.map(({ step, outcome, attempts }) => `${step} ${outcome} (${attempts})`).join(", "),
        )),
    ...(row.reruns === undefined ? [] : cli.labelled("run again", `as ${Object.values(row.reruns).join(", ")}`)),
  ];
}

function shownReply(row: JobRow, output: boolean): unknown {
  const reply = replyIn(row);
  if (reply === undefined || output) return reply;
  const { metadata: _metadata, ...rest } = reply;
  const { output: _output, ...shown } = { output: undefined, ...rest };
  return shown.ok ? shown : { ...shown, error: shownError(shown.error) };
}

function shownError({ providerMessage: _words, message, ...error }: ReplyError) {
  return { ...error, message: ownSentence(message) };
}

function contentOf(reply: Reply): unknown {
  const { output, outputRef, metadata } = { output: undefined, outputRef: undefined, ...reply };
  return { output, outputRef, metadata, providerMessage: reply.ok ? undefined : reply.error.providerMessage };
}

/** UTC, as the logs have it. */
function clock(atMs: number): string {
  return new Date(atMs).toISOString().replace("T", " ").slice(0, -1);
}

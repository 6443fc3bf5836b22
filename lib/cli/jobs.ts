import { Option } from "commander";
import type { Command } from "commander";

import type { JobRow } from "../core/claim.ts";
import type { Depth, JobView, Missing } from "../core/overview.ts";
import { isEndless } from "../core/override.ts";
import { isReplyStatus, ownSentence, replyIn, replyStatuses } from "../core/reply.ts";
import type { Reply, ReplyStatus } from "../core/reply.ts";
import { Fault } from "../terminal/fault.ts";
import { plain } from "../terminal/width.ts";
import { counted, lasting } from "../core/words.ts";
import { when } from "../terminal/words.ts";
import type { Cli } from "./cli.ts";
import { ending } from "./help.ts";
import { lookAtJobs, wholeFromJobs } from "./look.ts";
import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";
import { wholeFrom1 } from "./numbers.ts";

interface JobsOptions {
  readonly open?: boolean;
  readonly failed?: boolean;
  readonly status?: string;
  readonly limit: number;
}

const json = `open: { atMs, all, jobs: [{ jobId, lane, doing, why, untilMs, step, stage, … }],
        lanes: [{ lane, depth: { visible, hidden }, pausedUntilMs }], parked }
others: { all, jobs: [{ jobId, status, code, message, lane, totalMs, target, … }] }`;

export function addJobs(program: Command, run: Run): void {
  const command = program
    .command("jobs")
    .summary("open jobs and why each waits, or ended ones")
    .description("Open jobs and why each waits, the oldest first; or those that ended in a way.")
    .option("--open", "without a reply (the default)")
    .option("--failed", "for --status failed")
    .addOption(new Option("--status <status>", "that ended so").choices(replyStatuses))
    .option("--limit <n>", "at most so many", wholeFrom1, 50)
    .addHelpText("after", ending(json, ["jobs", "jobs --failed --limit 200", "jobs --status expired --json"]));
  command.action((options: JobsOptions) => run(command, (cli) => jobs(cli, options)));
}

async function jobs(cli: Cli, { open, failed, status, limit }: JobsOptions): Promise<number> {
  if ([open, failed, status].filter((each) => each !== undefined).length > 1)
    throw new Fault("--open, --failed and --status are different lists; ask for one");
  const wanted = failed === true ? "failed" : status;
  return isReplyStatus(wanted) ? await endedJobs(cli, wanted, limit) : await openJobs(cli, limit);
}

async function openJobs(cli: Cli, limit: number): Promise<number> {
  const overview = await lookAtJobs(cli, limit);
  const { atMs, jobs: shown, missing, parked } = overview;
  const lanes = overview.lanes.map(({ lane, depth, pausedUntilMs }) => ({ lane, depth, pausedUntilMs }));
  if (cli.isJson) {
    cli.document({ atMs, all: missing === "none", jobs: shown, lanes, parked });
    return exitCodes.ok;
  }
  if (shown.length > 0) {
    const titles = [
      { title: "job", gives: true },
      { title: "lane" },
      { title: "age", right: true },
      { title: "doing" },
      { title: "until", right: true },
      { title: "why", gives: true },
    ] as const;
    cli.table(
      titles,
      shown.map((job) => openRow(job, atMs)),
    );
  }
  cli.lines([
    countText(shown.length, missing),
    // A job that no worker has seen has no row yet: it is counted here alone.
    `messages, waiting and hidden: ${[...lanes.map(({ lane, depth }) => `${lane} ${depthText(depth)}`), `parked ${depthText(parked)}`].join(", ")}`,
  ]);
  return exitCodes.ok;
}

/** How many these are of all: what helps to see the others. */
export function countText(count: number, missing: Missing): string {
  switch (missing) {
    case "none":
      return said(count, "open job");
    case "younger":
      return `the oldest ${said(count, "open job")}; more with --limit`;
    case "any":
      return `${said(count, "open job")} in what was read of a long table; --limit ${wholeFromJobs} reads all of it`;
  }
}

function depthText(depth: Depth | undefined): string {
  return depth === undefined ? "unknown" : `${depth.visible}+${depth.hidden}`;
}

function openRow(job: JobView, nowMs: number): readonly string[] {
  const { jobId, lane = "", enqueuedAtMs, doing, untilMs, why } = job;
  const age = enqueuedAtMs === undefined ? "" : lasting(nowMs - enqueuedAtMs);
  return [jobId, lane, age, doing, untilMs === undefined ? "" : endOf(untilMs, nowMs), why];
}

/** Why it waits, and when that ends. */
export function whyText({ why, untilMs }: Pick<JobView, "why" | "untilMs">, nowMs: number): string {
  return untilMs === undefined ? why : `${why}; ${endOf(untilMs, nowMs)}`;
}

function endOf(untilMs: number, nowMs: number): string {
  return isEndless(untilMs, nowMs) ? "until resumed" : when(untilMs, nowMs);
}

/** Rows of this end; no index serves them, so the table is read from its beginning until there are enough. */
async function endedJobs(cli: Cli, status: ReplyStatus, limit: number): Promise<number> {
  const { jobs: table } = await cli.deployment();
  const rows: JobRow[] = [];
  let after: string | undefined;
  do {
    const page = await table.scan(status, after);
    rows.push(...page.rows);
    after = page.next;
    cli.screen.status(`${rows.length} found, reading the table`);
  } while (after !== undefined && rows.length < limit);
  cli.screen.clear();
  const all = after === undefined && rows.length <= limit;
  const shown = rows.slice(0, limit).flatMap((row) => endedView(row));
  if (cli.isJson) {
    cli.document({ all, jobs: shown });
    return exitCodes.ok;
  }
  if (shown.length > 0) {
    const titles = [
      { title: "job", gives: true },
      { title: "lane" },
      { title: "ended", right: true },
      { title: "took", right: true },
      { title: "what", gives: true },
    ] as const;
    const nowMs = cli.nowMs();
    cli.table(
      titles,
      shown.map(({ jobId, lane = "", endedAtMs = nowMs, totalMs, ...view }) => [
        jobId,
        lane,
        when(endedAtMs, nowMs),
        lasting(totalMs),
        view.code === undefined ? (view.target ?? "") : `${view.code}: ${plain(view.message ?? "")}`,
      ]),
    );
  }
  cli.lines([
    all
      ? said(shown.length, `${status} job`)
      : `${said(shown.length, `${status} job`)}, in no order; more with --limit`,
  ]);
  return exitCodes.ok;
}

function endedView(row: JobRow) {
  const reply = replyIn(row);
  return reply === undefined
    ? []
    : [{ ...viewOf(reply), ...(row.lane && { lane: row.lane }), endedAtMs: row.stageAtMs }];
}

/** Of a reply all but what is content. */
export function viewOf({ jobId, status, meta, ...rest }: Reply) {
  const error = rest.ok
    ? {}
    : { code: rest.error.code, message: ownSentence(rest.error.message), retryable: rest.error.retryable };
  const { model, target, attempts, deliveries, totalMs, fallbackUsed } = meta;
  return {
    jobId,
    status,
    ...error,
    totalMs,
    attempts,
    deliveries,
    fallbackUsed,
    ...(target === undefined ? {} : { target: `${model}@${target}` }),
  };
}

function said(count: number, what: string): string {
  return count === 0 ? `no ${what}` : counted(count, what);
}

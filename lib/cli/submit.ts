import { Option } from "commander";
import type { Command } from "commander";

import { createOutbox } from "../client/outbox.ts";
import { readJobs } from "../client/index.ts";
import type { Job, JobLine } from "../client/index.ts";
import { submitBatch } from "../client/submit.ts";
import type { Config } from "../core/config.ts";
import { lanes } from "../core/lane.ts";
import type { Lane } from "../core/lane.ts";
import type { Reply } from "../core/reply.ts";
import { unknownName } from "../core/unknown-name.ts";
import { Fault } from "../terminal/fault.ts";
import { plain } from "../terminal/width.ts";
import { columnsMax } from "../terminal/words.ts";
import type { Cli, Deployment } from "./cli.ts";
import { ending } from "./help.ts";
import { interruption } from "./interruption.ts";
import { openJobs } from "./jobs-file.ts";
import { laneUrls } from "./outputs.ts";
import type { PlaceOptions } from "./place.ts";
import { quietTeller } from "./quiet.ts";
import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";
import { isSameFile, openReplies } from "./replies-file.ts";
import { sendAndHear } from "./submit-file.ts";
import type { Hearing } from "./submit-file.ts";
import { documentOf, progressText, summaryLines } from "./submit-summary.ts";
import { Sums } from "./sums.ts";

interface SubmitOptions {
  readonly lane?: Lane;
  readonly wait?: boolean;
  readonly replies?: string;
}

const json = `{ jobs, sent, answeredBefore, succeeded, failed, expired, cancelled, open, notSent,
linesRefused, copies, codes, totalMs: { p50, p99 }, perSecond, inputTokens,
outputTokens, costUsd, wallMs, rssMbMax, interrupted }`;

/** What is wrong with many lines of one file is mostly one thing. */
const refusalsToldMax = 20;

export function addSubmit(program: Command, run: Run): void {
  const command = program
    .command("submit")
    .summary("send the jobs of a file")
    .description(
      "Sends the jobs of a file, one envelope a line; - reads them from stdin. The same command again picks up where " +
        "it was left: what has been answered, or is under way, is not sent again.",
    )
    .argument("<file>", "FILE.jsonl")
    .addOption(new Option("--lane <lane>", "for jobs that name none").choices([...lanes]))
    .option("--wait", "until every job has its reply, with progress on stderr")
    .option("--replies <file>", "write the replies there, one a line; implies --wait")
    .addHelpText(
      "after",
      ending(json, [
        "submit jobs.jsonl --lane bulk",
        "submit jobs.jsonl --replies replies.jsonl",
        "submit - --wait --json < jobs.jsonl",
      ]),
    );
  command.action((file: string, options: SubmitOptions) => run(command, (cli) => submit(cli, file, options)));
}

async function submit(cli: Cli, file: string, options: SubmitOptions): Promise<number> {
  const { lane, wait = false, replies } = options;
  const open = openJobs(file);
  if (replies !== undefined && isSameFile(file, replies))
    throw new Fault(`--replies ${replies} would overwrite the jobs; name another file`);
  const deployment = await cli.deployment();
  const config = await cli.config().catch(noConfig);
  const sink = replies === undefined ? undefined : openReplies(replies);
  const startedAtMs = cli.nowMs();
  const waits = wait || sink !== undefined;
  const sums = new Sums(config);
  const { signal, release } = interruption();
  const quiet = quietTeller(
    () => cli.nowMs(),
    (what) => cli.screen.tell(what, "yellow"),
  );
  let told = 0;
  const hearing: Hearing = {
    refused(what) {
      told += 1;
      if (told <= refusalsToldMax) cli.screen.tell(plain(what), "yellow");
      if (told === refusalsToldMax) cli.screen.tell("what else is refused is counted, not named");
    },
    async replied(reply: Reply) {
      await sink?.write(reply);
    },
    silence(what) {
      cli.screen.tell(plain(what), "yellow");
    },
    progress() {
      if (waits) quiet(sums.open);
      sums.sample(cli.nowMs());
      cli.screen.status(progressText(sums, waits, cli.columns));
    },
  };
  const sender = { ...sides(deployment), sums, hearing, signal };
  const source = open();
  const stop = () => void source.destroy();
  const lines = tellingUnknown(readJobs(source), file, config, (what) => cli.screen.tell(plain(what), "yellow"));
  const sending = await outcomeOf(() =>
    sendAndHear({ lines, bytesRead: () => source.bytesRead, file, lane, waits, stop }, sender),
  );
  const closing = await outcomeOf(async () => sink?.close());
  const failure = sending ?? closing;
  release();
  cli.screen.clear();

  const result = {
    sums,
    waits,
    wallMs: cli.nowMs() - startedAtMs,
    interrupted: signal.aborted || failure !== undefined,
    again: againText(cli.options, file, options),
    replies,
  };
  if (cli.isJson) cli.document(documentOf(result));
  else cli.lines(summaryLines(result, Math.min(cli.columns, columnsMax)));
  // Told last, and yet what was done is known, and how to go on.
  if (failure !== undefined) throw failure.error;
  if (signal.aborted) return exitCodes.interrupted;
  const { failed, expired, cancelled, notSent } = sums.counts;
  return failed + expired + cancelled + notSent + sums.linesRefused > 0 ? exitCodes.failed : exitCodes.ok;
}

/** undefined: it went well. */
async function outcomeOf(act: () => Promise<unknown>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Its lines, each model that no worker of this config knows told once: nobody is to wait for a typo until its deadline. */
async function* tellingUnknown(
  lines: AsyncIterable<JobLine>,
  file: string,
  config: Config | undefined,
  tell: (what: string) => void,
): AsyncGenerator<JobLine> {
  const before = new Set<string>();
  for await (const line of lines) {
    const unknown = line.kind === "job" && config !== undefined ? unknownName(line.job, config) : undefined;
    if (unknown !== undefined && !before.has(unknown) && before.size < refusalsToldMax) {
      before.add(unknown);
      tell(`${file}:${line.line}: ${unknown}; npx sluice cancel ends it earlier`);
    }
    yield line;
  }
}

/** The command that goes on where one was stopped: at the same place, for a shorter one would look elsewhere. */
function againText(place: PlaceOptions, file: string, { lane, wait = false, replies }: SubmitOptions): string {
  const { local, stack, outputs, region, profile, endpoint, config } = place;
  const named = { lane, replies, stack, outputs, region, profile, endpoint, config };
  return [
    "npx sluice submit",
    file,
    ...(wait ? ["--wait"] : []),
    ...Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${value}`])),
    ...(local === true ? ["--local"] : []),
  ].join(" ");
}

/** Without a config there is no price, and no word on models. */
function noConfig(error: unknown): undefined {
  if (!(error instanceof Fault)) throw error;
  return undefined;
}

function sides({ outputs, clients, jobs, clock }: Deployment) {
  const bucket = outputs.values["repliesBucketName"];
  const outbox = createOutbox(clients.sqs, clients.s3, laneUrls(outputs));
  const client = { submitBatch: (list: readonly Job[]) => submitBatch(list, outbox, bucket, clock) };
  return { client, jobs, clock, bucket };
}

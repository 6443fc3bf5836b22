/** One run from the command line: opens the service, sends the work, shows it, and ends everything. */
import { setTimeout as sleep } from "node:timers/promises";
import { constants } from "node:os";
import { join } from "node:path";

import { isSameFile, openReplies } from "../../lib/cli/replies-file.ts";
import type { RepliesFile } from "../../lib/cli/replies-file.ts";
import { checkConfig, ConfigError } from "../../lib/config.ts";
import { lanes } from "../../lib/core/lane.ts";
import type { Reply } from "../../lib/core/reply.ts";
import config from "../sluice.config.ts";
import { Fault } from "../../lib/terminal/fault.ts";
import { directoryRemedy, needDirectory } from "./files.ts";
import { readInput } from "./input.ts";
import type { Input } from "./input.ts";
import type { Options } from "./options.ts";
import { screenOn, widthOf } from "../../lib/terminal/screen.ts";
import type { Page } from "./page/server.ts";
import type { Service } from "./service.ts";
import { showOn } from "./show.ts";
import { seconds } from "../../lib/core/words.ts";
import { columnsMax, laid } from "../../lib/terminal/words.ts";
import { isClean, jsonLine, summaryLines, unsuccessfulLines } from "./summary.ts";
import type { Result } from "./summary.ts";
import { cut } from "../../lib/terminal/width.ts";

const logDirectoryDefault = ".sluice/logs";
const toldDirectoryDefault = ".sluice";
const ends = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Answers the exit code. Everything it started has ended by then. */
export async function start(options: Options): Promise<number> {
  const startedAtMs = Date.now();
  const screen = screenOn(process.stderr);
  const ending = endingOf(options, (text) => screen.line(text));

  const directory = options.dataDirectory ?? logDirectoryDefault;
  let service: Service | undefined;
  let page: Page | undefined;
  try {
    const input = await readInput(options, checkConfig(config), (text) => screen.tell(text, "yellow"));
    if (options.bedrock === "aws") await (await import("./credentials.ts")).needCredentials();
    needDirectory(directory, directoryRemedy(options));
    const replies = repliesOf(options);
    const show = showOn(screen, input.samples);
    // Loaded only now, engines, CDK and SDK too: what is wrong with the command is told at once.
    const { openService } = await import("./service.ts");
    const toldIn = join(options.dataDirectory ?? toldDirectoryDefault, "local.json");
    const { createLookout } = await import("./page/lookout.ts");
    const lookout = createLookout();
    const { hear } = lookout;
    service = await openService({ ...options, script: input.script, logDirectory: directory, toldIn, hear }, (news) =>
      show.news(news),
    );
    if (options.pagePort !== undefined) {
      page = await lookout.open(options.pagePort, service);
      if (options.pagePort !== 0 && page.port !== options.pagePort)
        screen.tell(`port ${options.pagePort} is taken; --port N names another`, "yellow");
      screen.tell(`watch it at ${page.url}`);
    }
    killOnSignal(service, (text) => screen.tell(text));
    screen.tell(`ready in ${seconds(Date.now() - startedAtMs)}, process ${process.pid}; logs in ${directory}`);

    const result = await runInput(input, service, replies, show, ending.signal);
    screen.clear();
    show.afterwards(result);
    print(result, options, directory, page?.url);
    if (options.stays && !ending.signal.aborted) {
      screen.tell(`all is answered; ${page === undefined ? "" : `the page stays at ${page.url}, and `}Ctrl-C ends`);
      await new Promise((resolve) => ending.signal.addEventListener("abort", resolve, { once: true }));
    }
    return ending.code() ?? (isClean(result) ? 0 : 1);
  } catch (error) {
    screen.clear();
    if (isTheirs(error)) {
      screen.tell(error.message, "red");
      return 2;
    }
    // A Ctrl-C goes to the whole group: a child that it stops may tell before we have heard of it.
    await sleep(100);
    if (ending.signal.aborted) return ending.code() ?? 1;
    throw error;
  } finally {
    await page?.close();
    await service?.close();
  }
}

/** @throws Fault, for the jobs' own file by another name too: what it held would be gone. */
function repliesOf({ file, repliesFile }: Options): RepliesFile | undefined {
  if (repliesFile === undefined) return undefined;
  if (file !== undefined && isSameFile(file, repliesFile))
    throw new Fault(`--replies ${repliesFile} would overwrite the jobs; name another file`);
  return openReplies(repliesFile);
}

async function runInput(
  input: Input,
  service: Service,
  replies: RepliesFile | undefined,
  show: ReturnType<typeof showOn>,
  signal: AbortSignal,
): Promise<Result> {
  const replied = async (reply: Reply, afterMs: number) => {
    show.replied(reply, afterMs);
    await replies?.write(reply);
  };
  const { runWork } = await import("./run.ts");
  try {
    const outcome = await runWork(input.work, service, { ...show, replied }, signal);
    return {
      outcome,
      linesRefused: input.linesRefused(),
      config: service.config,
      bedrock: service.bedrockRecord(),
      workers: service.stats(),
    };
  } finally {
    await replies?.close();
  }
}

function print(result: Result, options: Options, directory: string, pageUrl: string | undefined): void {
  if (options.json) {
    process.stdout.write(`${jsonLine(result)}\n`);
    return;
  }
  const { stdout } = process;
  const columns = stdout.isTTY ? widthOf(stdout) : Infinity;
  const summaryColumns = Math.min(columns, columnsMax);
  const next = [
    ...(options.stays && pageUrl !== undefined ? [["page", pageUrl] as const] : []),
    ["replies", options.repliesFile ?? "add --replies OUT.jsonl to keep them"],
    ["logs", join(directory, `{${lanes.join(",")}}.log`)],
    [
      "tables",
      options.dataDirectory === undefined
        ? "were in memory; add --data DIR to keep them"
        : `${options.dataDirectory}; queues were in memory and are gone`,
    ],
    ["your jobs", "npm start -- FILE.jsonl, one envelope a line, as infra/local/samples/jobs.jsonl"],
  ] as const;
  const named = options.file === undefined ? [] : unsuccessfulLines(result);
  const lines = [
    "",
    ...summaryLines(result, summaryColumns),
    ...(named.length > 0 ? ["", ...named.map((line) => cut(line, columns))] : []),
    "",
    "Where to look next",
    ...next.flatMap(([what, where]) => laid(what, where, summaryColumns)),
  ];
  stdout.write(`${lines.join("\n")}\n`);
}

/** SIGUSR2 kills a busy worker. */
function killOnSignal(service: Service, tell: (text: string) => void): void {
  process.on("SIGUSR2", () => {
    void service.killOne().then((killed) => {
      if (killed !== undefined)
        tell(killed ? "one worker was killed; its jobs come again within 35 s" : "no worker is busy");
    });
  });
}

/** The first signal, or the time that is up, ends the run in order; a second signal ends the process at once. */
function endingOf(options: Options, tell: (text: string) => void) {
  const asked = new AbortController();
  let by: (typeof ends)[number] | undefined;
  for (const name of ends) {
    process.on(name, () => {
      if (by !== undefined) process.exit(128 + constants.signals[name]);
      by = name;
      tell("ending; once more to end at once");
      asked.abort();
    });
  }
  const signals = [asked.signal, ...(options.timeoutMs === undefined ? [] : [AbortSignal.timeout(options.timeoutMs)])];
  return {
    signal: AbortSignal.any(signals),
    code: () => (by === undefined ? undefined : 128 + constants.signals[by]),
  };
}

/** Faults of the person's own files: told without a stack. */
function isTheirs(error: unknown): error is Error {
  return error instanceof Fault || error instanceof ConfigError;
}

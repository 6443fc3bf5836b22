import { Option } from "commander";
import type { Command } from "commander";

import { createObjects } from "../aws/objects.ts";
import type { ParkedMessage } from "../client/parked-queue.ts";
import { createOutbox } from "../client/outbox.ts";
import { rerun, RerunRefused } from "../client/rerun.ts";
import type { Rerun, RerunOutside } from "../client/rerun.ts";
import { Fault } from "../terminal/fault.ts";
import { plain } from "../terminal/width.ts";
import { counted } from "../core/words.ts";
import { when } from "../terminal/words.ts";
import type { Cli, Deployment } from "./cli.ts";
import { ending } from "./help.ts";
import { wholeFrom1 } from "./numbers.ts";
import { laneUrls, outputOf } from "./outputs.ts";
import type { Run } from "./run.ts";
import { brokenOff, exitCodeOf, forEachParked } from "./tell-parked.ts";
import type { ToldEnd } from "./tell-parked.ts";
import { idShown } from "./walk-parked.ts";
import type { Walked } from "./walk-parked.ts";

interface Chosen {
  readonly reason?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

interface ListOptions extends Chosen {
  readonly limit: number;
}

interface ShowOptions {
  readonly params?: boolean;
}

interface RerunOptions extends Chosen {
  readonly rate?: number;
}

const idsText = "jobIds, or the ids of messages";
const reasonOption = () => new Option("--reason <reason>", "those parked for it, like dead_lettered");
const yesOption = () => new Option("--yes", "all of them, without a filter");
const dryRunOption = () => new Option("--dry-run", "say what would be done");
const shape = "{ id, messageId, jobId, lane, reason, detail, parkedAtMs }";

/** Messages are hidden while they are looked at, and shown again at the end. */
export function addParked(program: Command, run: Run): void {
  const parked = program
    .command("parked")
    .summary("list, show, rerun or delete parked messages")
    .description("Messages that wait for an operator.");
  const list = parked
    .command("list")
    .description("What is parked, and why.")
    .addOption(reasonOption())
    .option("--limit <n>", "at most so many", wholeFrom1, 100)
    .addHelpText(
      "after",
      ending(`{ all, messages: [${shape}] }`, ["parked list", "parked list --reason job_id_reused --json"]),
    );
  list.action((options: ListOptions) => run(list, (cli) => listParked(cli, options)));

  const show = parked
    .command("show")
    .description("One parked message.")
    .argument("<id>", "a jobId, or the id of a message")
    .option("--params", "its body too, with the job's params")
    .addHelpText(
      "after",
      ending(`{ messages: [${shape}] }; body with --params`, ["parked show order-8812-summary --params"]),
    );
  show.action((id: string, options: ShowOptions) => run(show, (cli) => showParked(cli, id, options)));

  const again = parked
    .command("rerun")
    .description("Runs the jobs again, as new ones: order-8812 as order-8812~2. The old reply stands.")
    .argument("[ids...]", idsText)
    .addOption(reasonOption())
    .addOption(yesOption())
    .addOption(dryRunOption())
    .option("--rate <n>", "at most so many a second", wholeFrom1)
    .addHelpText(
      "after",
      ending("{ jobs: [{ id, kind: sent | refused | chosen, was, jobId, lane, refused }], dryRun }", [
        "parked rerun order-8812-summary",
        "parked rerun --reason dead_lettered --rate 5 --dry-run",
      ]),
    );
  again.action((ids: readonly string[], options: RerunOptions) => run(again, (cli) => rerunParked(cli, ids, options)));

  const remove = parked
    .command("delete")
    .description("Takes messages away for good. What they asked for is not answered.")
    .argument("[ids...]", idsText)
    .addOption(reasonOption())
    .addOption(yesOption())
    .addOption(dryRunOption())
    .addHelpText(
      "after",
      ending(`{ messages: [${shape}], dryRun }`, [
        "parked delete --reason not_an_envelope --dry-run",
        "parked delete --yes",
      ]),
    );
  remove.action((ids: readonly string[], options: Chosen) => run(remove, (cli) => deleteParked(cli, ids, options)));
}

async function listParked(cli: Cli, { reason, limit }: ListOptions): Promise<number> {
  const found: ParkedMessage[] = [];
  const end = await forEachParked(cli, {
    ids: [],
    reason,
    async act({ message }) {
      found.push(message);
      return found.length < limit;
    },
    tell(how) {
      if (cli.isJson) return cli.document({ all: how === "whole", messages: found.map(shown) });
      if (found.length > 0) table(cli, found);
      const none = how === "whole" ? "nothing is parked" : "none was seen";
      const some = how === "enough" ? `the first ${found.length}; more with --limit` : counted(found.length, "message");
      cli.lines([found.length === 0 ? none : some, ...brokenOff(how)]);
    },
  });
  return exitCodeOf(end, true);
}

async function showParked(cli: Cli, id: string, { params = false }: ShowOptions): Promise<number> {
  const found: ParkedMessage[] = [];
  const end = await forEachParked(cli, {
    ids: [id],
    reason: undefined,
    async act({ message }) {
      found.push(message);
      return true;
    },
    tell(how) {
      if (cli.isJson)
        return cli.document({
          messages: found.map((message) => (params ? { ...shown(message), body: message.body } : shown(message))),
        });
      if (found.length === 0 && how === "whole")
        cli.lines([`no parked message is of ${id}; npx sluice parked list has them all`]);
      for (const message of found) cli.lines(messageLines(cli, message, params));
      cli.lines(brokenOff(how));
    },
  });
  return exitCodeOf(end, found.length > 0);
}

function messageLines(cli: Cli, message: ParkedMessage, params: boolean): readonly string[] {
  const { id, jobId = "of no job that can be named", lane = "", reason, detail, parkedAtMs, body } = message;
  const lay = (label: string, text: string) => cli.labelled(label, text);
  return [
    cli.bold(id),
    ...lay("job", plain(jobId)),
    ...lay("reason", plain(reason)),
    ...(detail === "" ? [] : lay("detail", plain(detail))),
    ...(lane === "" ? [] : lay("lane", lane)),
    ...lay("parked", `${new Date(parkedAtMs).toISOString()}, ${when(parkedAtMs, cli.nowMs())}`),
    ...(params ? ["", plain(body)] : lay("body", `${Buffer.byteLength(body)} bytes; add --params`)),
  ];
}

/** What became of a message that was to run again; `chosen` is one that a dry run leaves as it is. */
type Again = { readonly id: string } & (
  | { readonly kind: "chosen"; readonly was?: string; readonly lane?: string }
  | ({ readonly kind: "sent" } & Rerun)
  | { readonly kind: "refused"; readonly was?: string; readonly refused: string }
);

async function rerunParked(cli: Cli, ids: readonly string[], options: RerunOptions): Promise<number> {
  needChoice("rerun", ids, options);
  const { reason, dryRun = false, rate } = options;
  const deployment = await cli.deployment();
  const outside = rerunOutside(deployment);
  const done: Again[] = [];
  const act = async ({ message, remove }: Walked) => {
    const { id, jobId, lane } = message;
    const was = jobId === undefined ? {} : { was: jobId };
    if (dryRun) done.push({ id, kind: "chosen", ...was, ...(lane && { lane }) });
    else {
      try {
        done.push({ id, kind: "sent", ...(await rerun(message, { ...outside, remove })) });
      } catch (error) {
        if (!(error instanceof RerunRefused)) throw error;
        done.push({ id, kind: "refused", ...was, refused: `${error.field}: ${error.message}` });
      }
      cli.screen.status(`${done.length} done`);
      if (rate !== undefined) await deployment.clock.sleep(1_000 / rate);
    }
    return true;
  };
  const end = await forEachParked(cli, { ids, reason, act, tell: (how) => tellRerun(cli, done, dryRun, how) });
  const ok = done.every(({ kind }) => kind !== "refused") && (ids.length === 0 || done.length > 0);
  return exitCodeOf(end, ok);
}

function tellRerun(cli: Cli, done: readonly Again[], dryRun: boolean, end: ToldEnd): void {
  if (cli.isJson) return cli.document({ jobs: done, dryRun });
  const refused = done.filter(({ kind }) => kind === "refused");
  const titles = [{ title: "message" }, { title: "job", gives: true }, { title: "now", gives: true }] as const;
  if (done.length > 0)
    cli.table(
      titles,
      done.map((each) => [each.id.slice(0, idShown), plain(each.was ?? ""), plain(nowText(each))]),
    );
  cli.lines([
    dryRun
      ? `${counted(done.length, "message")}; nothing was done`
      : `${counted(done.length - refused.length, "job")} sent again${refused.length > 0 ? `, ${refused.length} refused; they stay parked` : ""}`,
    ...brokenOff(end),
  ]);
}

function nowText(again: Again): string {
  switch (again.kind) {
    case "chosen":
      return "would be run again, if it holds a job";
    case "sent":
      return again.jobId;
    case "refused":
      return again.refused;
  }
}

async function deleteParked(cli: Cli, ids: readonly string[], options: Chosen): Promise<number> {
  needChoice("delete", ids, options);
  const { reason, dryRun = false } = options;
  const gone: ParkedMessage[] = [];
  const end = await forEachParked(cli, {
    ids,
    reason,
    async act({ message, remove }) {
      if (!dryRun) await remove();
      gone.push(message);
      return true;
    },
    tell(how) {
      if (cli.isJson) return cli.document({ messages: gone.map(shown), dryRun });
      if (gone.length > 0) table(cli, gone);
      const count = counted(gone.length, "message");
      cli.lines([dryRun ? `${count}; nothing was done` : `${count} deleted`, ...brokenOff(how)]);
    },
  });
  return exitCodeOf(end, ids.length === 0 || gone.length > 0);
}

/** @throws Fault: what may touch every message needs a filter, or a yes. */
function needChoice(verb: string, ids: readonly string[], { reason, yes = false, dryRun = false }: Chosen): void {
  if (ids.length === 0 && reason === undefined && !yes && !dryRun)
    throw new Fault(
      `parked ${verb} without a filter is about every message; name ids or a --reason, or say --yes; --dry-run shows them`,
    );
}

function rerunOutside({ clients, jobs, clock, outputs }: Deployment): Omit<RerunOutside, "remove"> {
  const bucket = outputOf(outputs, "repliesBucketName");
  const outbox = createOutbox(clients.sqs, clients.s3, laneUrls(outputs));
  return { jobs, clock, outbox, bucket, objects: createObjects(clients.s3, bucket) };
}

function shown({ body: _body, receiptHandle: _handle, ...rest }: ParkedMessage) {
  return rest;
}

function table(cli: Cli, messages: readonly ParkedMessage[]): void {
  const nowMs = cli.nowMs();
  const titles = [
    { title: "message" },
    { title: "job", gives: true },
    { title: "lane" },
    { title: "reason" },
    { title: "parked", right: true },
    { title: "detail", gives: true },
  ] as const;
  cli.table(
    titles,
    messages.map(({ id, jobId = "", lane = "", reason, parkedAtMs, detail }) => [
      cli.columns === Infinity ? id : id.slice(0, idShown),
      plain(jobId),
      lane,
      plain(reason),
      when(parkedAtMs, nowMs),
      plain(detail),
    ]),
  );
}

import type { Command } from "commander";

import { allows } from "../core/breaker.ts";
import { isEndless } from "../core/override.ts";
import type { LedgerView } from "../core/overview.ts";
import { when } from "../terminal/words.ts";
import type { Cli } from "./cli.ts";
import { ending } from "./help.ts";
import { lookAround, lookAtJobs } from "./look.ts";
import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";

const targetsJson = `{ atMs, ledgers: [{ name, kind, inUse, limit, limitMax, isOut, paused, breaker,
region, modelId, override }], lanes: [{ lane, pausedUntilMs }], chains }`;

export function addTargets(program: Command, run: Run): void {
  const command = program
    .command("targets")
    .summary("limits, leases in use, breakers, pauses")
    .description("Targets, and the limits over several of them: limit, leases in use, breaker, pause.")
    .addHelpText("after", ending(targetsJson, ["targets", "targets --json"]));
  command.action(() => run(command, targets));
}

async function targets(cli: Cli): Promise<number> {
  const { atMs, ledgers, lanes, chains } = await lookAround(cli);
  const paused = lanes.filter(({ pausedUntilMs }) => pausedUntilMs !== undefined);
  if (cli.isJson) {
    const shown = ledgers.map(({ leases: _leases, ...ledger }) => ledger);
    cli.document({
      atMs,
      ledgers: shown,
      lanes: lanes.map(({ lane, pausedUntilMs }) => ({ lane, pausedUntilMs })),
      chains,
    });
    return exitCodes.ok;
  }
  const titles = [
    { title: "target", gives: true },
    { title: "in use", right: true },
    { title: "limit", right: true },
    { title: "max", right: true },
    { title: "breaker" },
    { title: "now", gives: true },
  ] as const;
  cli.table(
    titles,
    ledgers.map((ledger) => [
      ledger.name,
      String(ledger.inUse),
      String(ledger.limit),
      String(ledger.limitMax),
      breakerText(ledger, atMs),
      nowText(ledger, atMs),
    ]),
  );
  for (const { lane, pausedUntilMs } of paused)
    cli.lines([`the lane ${lane} is paused, ${endText(pausedUntilMs ?? 0, atMs)}`]);
  for (const { model, chain } of chains) cli.lines([`${model} is asked in another order: ${chain.join(", ")}`]);
  return exitCodes.ok;
}

function breakerText({ kind, breaker }: LedgerView, nowMs: number): string {
  if (kind !== "target") return "";
  if (breaker === undefined || breaker.kind === "closed") return "closed";
  const allowed = allows(breaker, nowMs);
  return allowed.kind === "no" ? `${breaker.kind}, ${when(allowed.untilMs, nowMs)}` : "half-open";
}

function nowText({ isOut, paused, override }: LedgerView, nowMs: number): string {
  return [
    ...(isOut ? ["taken out by an operator"] : []),
    ...(paused === undefined
      ? []
      : [`paused by ${paused.by === "operator" ? "an operator" : "a throttle"}, ${endText(paused.untilMs, nowMs)}`]),
    ...(override?.limit === undefined ? [] : [`limit set to ${override.limit}`]),
  ].join("; ");
}

export function endText(untilMs: number, nowMs: number): string {
  return isEndless(untilMs, nowMs) ? "until it is resumed" : `ends ${when(untilMs, nowMs)}`;
}

const leasesJson = `{ atMs, leases: [{ ledger, id, expiresAtMs, hasLapsed, worker, jobIds }] }`;

export function addLeases(program: Command, run: Run): void {
  const command = program
    .command("leases")
    .summary("leases that are out, and who holds them")
    .description("Leases that are out: of which limit, who holds them, until when.")
    .addHelpText("after", ending(leasesJson, ["leases", "leases --json"]));
  command.action(() => run(command, leases));
}

/** So many open jobs are asked which of them holds a lease. */
const jobsMax = 1_000;

async function leases(cli: Cli): Promise<number> {
  const { atMs, ledgers } = await lookAtJobs(cli, jobsMax);
  const all = ledgers.flatMap(({ name, leases: out }) => out.map((lease) => ({ ledger: name, ...lease })));
  if (cli.isJson) {
    cli.document({ atMs, leases: all });
    return exitCodes.ok;
  }
  if (all.length > 0) {
    const titles = [
      { title: "limit", gives: true },
      { title: "lease" },
      { title: "expires", right: true },
      { title: "worker", gives: true },
      { title: "jobs there", gives: true },
    ] as const;
    cli.table(
      titles,
      all.map(({ ledger, id, expiresAtMs, hasLapsed, worker = "", jobIds }) => [
        ledger,
        id,
        hasLapsed ? "lapsed" : when(expiresAtMs, atMs),
        worker,
        jobIds.join(" "),
      ]),
    );
  }
  const used = ledgers.filter(({ inUse }) => inUse > 0).map(({ name, inUse, limit }) => `${name} ${inUse} of ${limit}`);
  cli.lines([all.length === 0 ? "no lease is out" : used.join(", ")]);
  return exitCodes.ok;
}

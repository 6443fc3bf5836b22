import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Command } from "commander";

import { ConfigError } from "../config.ts";
import { targetsOf } from "../core/config.ts";
import type { Config } from "../core/config.ts";
import { Fault } from "../terminal/fault.ts";
import { fold } from "../terminal/width.ts";
import { counted, lasting } from "../core/words.ts";
import { checkFunctions } from "./check-functions.ts";
import { checkModels } from "./check-models.ts";
import { checkQueues, checkTables } from "./check-stores.ts";
import type { Cli, Deployment } from "./cli.ts";
import { explain } from "./explain.ts";
import type { Explained } from "./explain.ts";
import { checked, ok, problem, problemsOr, unknown } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { ending } from "./help.ts";
import { lookAround } from "./look.ts";
import { outputOf } from "./outputs.ts";
import { readConfig } from "./read-config.ts";
import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";

const json = `{ findings: [{ check, kind: ok | problem | unknown, says, remedy }], problems }`;

/** Workers take clocks as equal that differ by less, for leases; an answer's Date has whole seconds. */
const clockMs = 5_000;

export function addDoctor(program: Command, run: Run): void {
  const command = program
    .command("doctor")
    .summary("check a deployment, and say what to do")
    .description(
      "Checks a deployment, and says what to do: credentials, clock, tables, queues, keys, functions, config, access\n" +
        "to the models, quotas. It changes nothing and asks no model. What it may not see, it says. Exit code 1: a problem.",
    )
    .addHelpText("after", ending(json, ["doctor", "doctor --stack Sluice --json"]));
  command.action(() => run(command, doctor));
}

async function doctor(cli: Cli): Promise<number> {
  const findings = await findingsOf(cli);
  cli.screen.clear();
  const problems = findings.filter(({ kind }) => kind === "problem").length;
  if (cli.isJson) cli.document({ findings, problems });
  else {
    const marks = {
      ok: cli.paint("green", "ok     "),
      problem: cli.paint("red", "PROBLEM"),
      unknown: cli.paint("yellow", "unknown"),
    };
    const width = Math.max(...findings.map(({ check }) => check.length));
    for (const finding of findings) {
      const indent = " ".repeat(width + 11);
      cli.lines(fold(`${marks[finding.kind]}  ${finding.check.padEnd(width)}  ${finding.says}`, cli.columns, indent));
      if (finding.kind === "problem") cli.lines(fold(`${indent}→ ${finding.remedy}`, cli.columns, indent));
    }
    const unseen = findings.filter(({ kind }) => kind === "unknown").length;
    cli.lines([
      "",
      `${problems === 0 ? "no problem" : counted(problems, "problem")}${unseen > 0 ? `, ${unseen} unknown` : ""}`,
    ]);
  }
  return problems > 0 ? exitCodes.failed : exitCodes.ok;
}

async function findingsOf(cli: Cli): Promise<readonly Finding[]> {
  let deployment: Deployment;
  try {
    deployment = await cli.deployment();
  } catch (error) {
    if (error instanceof Fault) return [problem("deployment", error.message, "npx sluice --help says how it is found")];
    const { what, remedy } = explain(error);
    return [problem("deployment", what, remedy)];
  }
  const { name, clients, outputs } = deployment;
  cli.screen.status(`looking at ${name}`);
  const account = await checkAccount(clients.dynamo, outputOf(outputs, "jobTableName"));
  const found = [ok("deployment", name), ...account];
  // Whoever is nobody to AWS, or does not reach it, sees nothing else.
  if (account.some(({ kind, check }) => kind === "problem" && check !== "clock")) return found;
  const [config, inForce] = await checkConfig(cli, deployment);
  const rest = await Promise.all([
    checkTables(clients.dynamo, outputs),
    checkQueues(clients.sqs, outputs),
    checkFunctions(outputs),
    config === undefined ? [] : checkModels(config, outputs),
    config === undefined ? [] : checked("models", () => checkAliases(cli, config)),
  ]);
  return [...found, ...inForce, ...rest.flat()];
}

/** One request says who we are to AWS, and what time it is there. */
async function checkAccount(dynamo: DynamoDBClient, TableName: string): Promise<readonly Finding[]> {
  let date: string | undefined;
  dynamo.middlewareStack.add(
    (next) => async (args) => {
      const answered = await next(args);
      const { response } = answered;
      if (isHttp(response)) date = response.headers["date"];
      return answered;
    },
    { step: "deserialize", priority: "low" },
  );
  const credentials = await dynamo.send(new DescribeTableCommand({ TableName })).then(
    () => ok("credentials", "AWS knows them"),
    (error: unknown) => accountFinding(explain(error)),
  );
  const offMs = date === undefined ? Number.NaN : Date.now() - Date.parse(date);
  if (Number.isNaN(offMs)) return [credentials, unknown("clock", "no answer told the time")];
  const off = `this machine's clock is ${lasting(Math.abs(offMs))} ${offMs > 0 ? "ahead of" : "behind"} AWS's`;
  return [
    credentials,
    Math.abs(offMs) > clockMs
      ? problem("clock", off, "set the clock; pauses and ages are told wrongly")
      : ok("clock", "as AWS's"),
  ];
}

function accountFinding({ kind, what, remedy }: Explained): Finding {
  switch (kind) {
    // Whoever is refused a right, or has the wrong table, is known.
    case "denied":
    case "missing":
      return ok("credentials", "AWS knows them");
    case "credentials":
    case "clock":
      return problem("credentials", what, remedy);
    case "region":
      return problem("region", what, remedy);
    case "unreachable":
      return problem("network", what, remedy);
    // An answer that says nothing of who asked.
    case "throttled":
    case "unwritten":
    case "other":
      return unknown("credentials", `${what}; ${remedy}`);
  }
}

function isHttp(response: unknown): response is { readonly headers: Readonly<Record<string, string>> } {
  return typeof response === "object" && response !== null && "headers" in response;
}

async function checkConfig(
  { options }: Cli,
  { outputs, name }: Deployment,
): Promise<readonly [Config | undefined, readonly Finding[]]> {
  try {
    const { config, from, isDeployed } = await readConfig(outputs, options.config);
    if (isDeployed === undefined)
      return [config, [unknown("config", `${name} does not say which config it has; it is of an earlier version`)]];
    if (isDeployed) return [config, [ok("config", `as deployed, from ${from}`)]];
    return [
      config,
      [
        problem(
          "config",
          `${from} is not the config that ${name} was deployed with, or another version deployed it`,
          "name the right file with --config, or deploy",
        ),
      ],
    ];
  } catch (error) {
    if (error instanceof ConfigError)
      return [undefined, [problem("config", error.message.replaceAll(/\n */g, " "), "mend it")]];
    if (error instanceof Fault) return [undefined, [unknown("config", error.message)]];
    throw error;
  }
}

/** A model that an operator has left without a target fails or waits, and nobody remembers why. */
async function checkAliases(cli: Cli, config: Config): Promise<readonly Finding[]> {
  const { ledgers } = await lookAround(cli);
  const out = new Set(
    ledgers.filter(({ isOut, paused }) => isOut || paused?.by === "operator").map((ledger) => ledger.name),
  );
  const problems = Object.keys(config.models).flatMap((model) => {
    const steps = targetsOf(config)
      .filter((target) => target.model === model)
      .map(({ step }) => step);
    return steps.every((step) => out.has(step))
      ? [
          problem(
            "models",
            `operators have paused or taken out every target of ${model}`,
            `npx sluice resume ${steps[0]}`,
          ),
        ]
      : [];
  });
  return problemsOr("models", "each has a target that is open", problems);
}

/** The commands, their options and their help. */
import { Command, Option } from "commander";

import { addCancel } from "./cancel.ts";
import { addCompletion } from "./completion.ts";
import { addDoctor } from "./doctor.ts";
import { addJob } from "./job.ts";
import { addJobs } from "./jobs.ts";
import { addLeases, addTargets } from "./ledgers.ts";
import { addLimit } from "./limit.ts";
import type { Run } from "./run.ts";
import { addParked } from "./parked.ts";
import { addPause } from "./pause.ts";
import { localFile, stackDefault } from "./place.ts";
import { addSubmit } from "./submit.ts";

const after = `
Where the deployment is: a stack's outputs, from CloudFormation (--stack) or
from the file of cdk deploy --outputs-file (--outputs), or npm start on this
machine (--local). Without any: the stack ${stackDefault}.

SLUICE_STACK, SLUICE_OUTPUTS and SLUICE_CONFIG stand for the options; the SDK's
own variables (AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_SQS, …) hold here too.

Exit codes: 0 done; 1 it failed, or some of it did; 2 the command line, a file
or the config is wrong; 130 ended by Ctrl-C.

Examples:
  npx sluice --local jobs
  npx sluice --stack Sluice --region us-west-2 job order-8812-summary
  npx sluice --outputs outputs.json targets --json`;

export function programOf(run: Run): Command {
  const program = new Command("sluice")
    .usage("[options] COMMAND")
    .description("Sends jobs to a deployment of Sluice, and operates it.")
    .option("--stack <name>", `the stack's name (default ${stackDefault})`)
    .option("--outputs <file>", "the file of its outputs, instead of asking CloudFormation")
    .option("--local", `the service of npm start on this machine (${localFile})`)
    .option("--region <region>", "where it is, if neither the environment nor the outputs say it")
    .option("--profile <name>", "the AWS profile")
    .option("--endpoint <url>", "of all AWS services, for engines of your own")
    .option("--config <file>", "its config, .ts or .json (default infra/sluice.config.ts)")
    .option("--json", "one JSON document on stdout")
    .addOption(new Option("--debug", "where an error comes from"))
    .addHelpText("after", after)
    .showHelpAfterError("See npx sluice --help")
    .exitOverride();
  for (const add of [
    addSubmit,
    addJob,
    addJobs,
    addLeases,
    addTargets,
    addLimit,
    addPause,
    addCancel,
    addParked,
    addDoctor,
  ])
    add(program, run);
  addCompletion(program, run);
  for (const command of program.commands) inherit(command, program);
  return program;
}

function inherit(command: Command, parent: Command, path = command.name()): void {
  command.copyInheritedSettings(parent).showHelpAfterError(`See npx sluice ${path} --help`);
  for (const inner of command.commands) inherit(inner, command, `${path} ${inner.name()}`);
}

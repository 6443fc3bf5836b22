/** The doctor's look at what SQS invokes. */
import type { LambdaClient } from "@aws-sdk/client-lambda";

import { lanes } from "../core/lane.ts";
import { checked, problem, problemsOr, unknown } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { outputOf } from "./outputs.ts";
import type { Outputs } from "./outputs.ts";

export async function checkFunctions(outputs: Outputs): Promise<readonly Finding[]> {
  if (outputs.local !== undefined)
    return [unknown("functions", "npm start runs them in processes of its own, and says how they fare")];
  const found = [...lanes, "replies"].map((name) =>
    checked(`function of ${name}`, async () => {
      const { LambdaClient } = await import("@aws-sdk/client-lambda");
      return await checkMappings(new LambdaClient({}), `function of ${name}`, outputOf(outputs, `${name}QueueArn`));
    }),
  );
  return (await Promise.all(found)).flat();
}

async function checkMappings(lambda: LambdaClient, check: string, EventSourceArn: string): Promise<readonly Finding[]> {
  const { GetFunctionConfigurationCommand, ListEventSourceMappingsCommand } = await import("@aws-sdk/client-lambda");
  const { EventSourceMappings: mappings = [] } = await lambda.send(
    new ListEventSourceMappingsCommand({ EventSourceArn }),
  );
  if (mappings.length === 0)
    return [problem(check, "no function is fed by this queue: its messages wait for nobody", "deploy the stack again")];
  const found = mappings.map(async ({ UUID = "", State = "", FunctionArn = "", FunctionResponseTypes = [] }) => {
    const { LastUpdateStatus, State: its } = await lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: FunctionArn }),
    );
    return problemsOr(check, `${FunctionArn.split(":").slice(6).join(":")}, mapping ${State.toLowerCase()}`, [
      ...(/^(Enabled|Enabling|Updating|Creating)$/.test(State)
        ? []
        : [
            problem(
              check,
              `its event source mapping is ${State.toLowerCase()}: nothing is received`,
              `aws lambda update-event-source-mapping --uuid ${UUID} --enabled`,
            ),
          ]),
      ...(FunctionResponseTypes.includes("ReportBatchItemFailures")
        ? []
        : [
            problem(
              check,
              "its mapping does not report single failures: one bad record brings back its whole batch",
              "deploy the stack again",
            ),
          ]),
      ...(its === "Failed" || LastUpdateStatus === "Failed"
        ? [
            problem(
              check,
              `the function is ${its ?? ""}, its last update ${LastUpdateStatus ?? ""}`,
              "look at its StateReason, then deploy again",
            ),
          ]
        : []),
    ]);
  });
  return (await Promise.all(found)).flat();
}

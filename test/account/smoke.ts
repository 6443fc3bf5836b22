/** Deploys the service into an account, tries it there, and takes it away again, whatever happened. */
import { BedrockRuntimeClient } from "@aws-sdk/client-bedrock-runtime";
import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { AssertionError } from "node:assert";
import { setTimeout as sleep } from "node:timers/promises";

import writtenConfig from "../../infra/sluice.config.ts";
import { dynamoClient, s3Client, sqsClient } from "../../lib/aws/clients.ts";
import { readModelId } from "../../lib/core/model-id.ts";
import type { Caller } from "../deploy/call.ts";
import { cheapModel } from "../deploy/config.ts";
import { clientOf } from "../deploy/deployed.ts";
import type { Deployment, Outputs } from "../deploy/deployed.ts";
import { deploy } from "../deploy/deployment.ts";
import type { Deploying } from "../deploy/deployment.ts";
import type { Place } from "../deploy/place.ts";
import { scenarios } from "../deploy/scenarios.ts";
import { facts } from "./facts.ts";
import type { Ground } from "./facts.ts";
import { statusOf, tearDown } from "./tear-down.ts";

export const stackName = "SluiceSmoke";
const scenariosAtOnce = 6;
const scenarioMsMax = 8 * 60_000;
const arrivalMsMax = 90_000;

/** What can be tried, by its name. */
export const trials: readonly { readonly name: string; readonly says: string }[] = [...scenarios, ...facts];

export interface Smoke {
  readonly place: Place;
  readonly aws: Caller;
  readonly deploying: Deploying;
  readonly apiOf: (outputs: Outputs) => Deployment["api"];
  readonly isWanted: (name: string) => boolean;
  readonly say: (line: string) => void;
  /** Ends the trials early; what is there is taken away all the same. */
  readonly signal: AbortSignal;
}

export type Outcome = { readonly name: string; readonly says: string } & (
  | { readonly kind: "holds" }
  | { readonly kind: "fails"; readonly why: string }
);

/** @throws before anything is made when a stack of an earlier run is there, and when it cannot be deployed or taken away. */
export async function smoke(asked: Smoke): Promise<readonly Outcome[]> {
  const { place, aws, deploying, say, signal } = asked;
  const status = await statusOf(aws, place.stack);
  if (status !== undefined)
    throw new Error(
      `the stack ${place.stack} is there already (${status}): another run is under way, or was cut off; if it was: npm run test:aws -- --clean`,
    );
  try {
    say(`deploying ${place.stack} into ${place.account}, ${place.region}: some minutes`);
    const outputs = await deploy({ ...deploying, signal }, "test/deploy/app.ts", place.stack);
    return await tryAll(asked, outputs);
  } finally {
    say(`taking ${place.stack} away: some minutes`);
    await tearDown(aws, s3Client(), place.stack);
    say("nothing of it is left but a key that CloudFormation deletes in 30 days, and the bundles in CDK's own bucket");
  }
}

async function tryAll(asked: Smoke, outputs: Outputs): Promise<readonly Outcome[]> {
  const { place, aws } = asked;
  const deployment: Deployment = { place, aws, outputs, client: clientOf(outputs), api: asked.apiOf(outputs) };
  const ground = groundOf(asked, outputs);
  const outcomes: Outcome[] = [];

  const works = scenarios
    .filter(({ name }) => asked.isWanted(name))
    .map((scenario) => async () => outcomes.push(await outcomeOf(asked, scenario, () => scenario.run(deployment))))
    .values();
  const hand = async () => {
    for (const work of works) await work();
  };
  // Facts share queues: one at a time, so that none takes what another waits for.
  const look = async () => {
    for (const fact of facts.filter(({ name }) => asked.isWanted(name)))
      outcomes.push(await outcomeOf(asked, fact, () => fact.run(ground)));
  };
  await Promise.all([look(), ...Array.from({ length: scenariosAtOnce }, hand)]);
  return outcomes;
}

function groundOf({ place, aws }: Smoke, outputs: Outputs): Ground {
  const { leaseTableName = "", factsQueueUrl = "", factsDeadQueueUrl = "", strangerQueueUrl = "" } = outputs;
  const counted = readModelId(writtenConfig.models["smart-text"]?.targets["us-west-2"]?.modelId ?? "");
  return {
    dynamo: dynamoClient(),
    sqs: sqsClient(),
    events: new EventBridgeClient(),
    // Over HTTP/1.1, as the workers ask.
    bedrock: new BedrockRuntimeClient({ requestHandler: new NodeHttpHandler() }),
    aws,
    stack: place.stack,
    leaseTable: leaseTableName,
    factsQueueUrl,
    factsDeadQueueUrl,
    strangerQueueUrl,
    profileId: cheapModel.modelId,
    countedModelId: counted?.kind === "own" ? "" : (counted?.modelId ?? ""),
    arrivalMsMax,
  };
}

async function outcomeOf(
  { say, signal }: Smoke,
  { name, says }: { readonly name: string; readonly says: string },
  run: () => Promise<void>,
): Promise<Outcome> {
  const startMs = Date.now();
  try {
    signal.throwIfAborted();
    await Promise.race([run(), tooLate(), aborted(signal)]);
    say(`holds  ${name}, after ${Math.round((Date.now() - startMs) / 1_000)} s: ${says}`);
    return { name, says, kind: "holds" };
  } catch (error) {
    const why = whyOf(error);
    say(`FAILS  ${name}: ${says}\n       ${why}`);
    return { name, says, kind: "fails", why };
  }
}

async function tooLate(): Promise<never> {
  await sleep(scenarioMsMax, undefined, { ref: false });
  throw new Error(`nothing was seen within ${scenarioMsMax / 1_000} s`);
}

async function aborted(signal: AbortSignal): Promise<never> {
  return await new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("the run was interrupted")), { once: true });
  });
}

/** A reply that is not as it should be is shown whole: these jobs say hello, and nothing else. */
function whyOf(error: unknown): string {
  if (error instanceof AssertionError) return error.message.slice(0, 2_000);
  return error instanceof Error ? `${error.name}: ${error.message.slice(0, 1_000)}` : String(error);
}

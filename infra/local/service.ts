/** The whole service on loopback: engines, the stack on them, the mappings with their environments, and Bedrock's stand-in. */
import { SQSClient } from "@aws-sdk/client-sqs";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { dynamoClient, s3Client } from "../../lib/aws/clients.ts";
import type { Config } from "../../lib/core/config.ts";
import type { Lane } from "../../lib/core/lane.ts";
import type { WatchedQueue } from "../../lib/core/overview.ts";
import type { BedrockRecord } from "../../lib/memory/bedrock-play.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { startBedrock } from "./bedrock/server.ts";
import { ownCredentials } from "./credentials.ts";
import { endpointsGiven } from "./endpoints.ts";
import { dynoxideBinary, startDynamo, startFauxqs } from "./engines.ts";
import type { Engine } from "./engines.ts";
import type { Environment, LocalFunction } from "./environment.ts";
import { killLongest, openEnvironments, sumOf } from "./environments.ts";
import type { EnvironmentStats, Environments } from "./environments.ts";
import { startMapping } from "./event-source-mapping.ts";
import type { MappingNews } from "./event-source-mapping.ts";
import { logFile, openLog } from "./files.ts";
import { startSchedule } from "./schedule.ts";
import type { RunningSchedule } from "./schedule.ts";
import { depthUrlsOf, makeStack } from "./stack.ts";
import type { Clients, Fed, Scheduled, Stack } from "./stack.ts";
import { synthesize } from "./synth.ts";
import { tellWhere } from "./told.ts";

export interface ServiceOptions {
  readonly limits: Readonly<Record<string, number>>;
  readonly bedrock: "stand-in" | "aws";
  readonly script: ScriptText;
  readonly dataDirectory?: string;
  readonly logDirectory: string;
  readonly environmentsMax: number;
  /** Where the workers find the engines, if elsewhere than they are: behind proxies that break things. */
  readonly reach?: (engines: Endpoints) => Promise<Endpoints>;
  /** Where it is told how the service is reached; removed at the end. */
  readonly toldIn?: string;
  /** Given each line that a function prints, as it comes. */
  readonly hear?: (line: string) => void;
  /** No queue's own visibility hides for longer: six times a function's timeout is more than a test can wait. */
  readonly visibilitySMax?: number;
}

export interface Service {
  readonly config: Config;
  /** The template's outputs: `rtQueueUrl`, `jobTableName` and so on. */
  readonly outputs: Stack["outputs"];
  readonly clients: Clients;
  /** The queues that an operator looks at. */
  readonly depthUrls: Readonly<Partial<Record<WatchedQueue, string>>>;
  /** Undefined without the stand-in. */
  bedrockRecord(): BedrockRecord | undefined;
  stats(): EnvironmentStats;
  /** Environments in the middle of an invocation. */
  running(): readonly Environment[];
  /** Invokes now whatever the clock would invoke later. */
  runScheduled(): Promise<void>;
  /** Messages that the mappings have received and not yet dealt with. */
  messagesHeld(): number;
  /** Kills the worker that has been busy longest; false: none is, within some seconds; undefined: the service closed first. */
  killOne(): Promise<boolean | undefined>;
  /** Ends everything that was started, processes too. */
  close(): Promise<void>;
}

/** The region that local queues and tables are in; targets have their own. */
const region = "us-west-2";

/** Which lane, function or engine has something to tell; `gone`: an engine has died, and nothing works without it. */
export type ServiceNews = (MappingNews | { readonly kind: "gone" } | LogLost) & { readonly from: string };
type LogLost = { readonly kind: "log-lost"; readonly code: string };

/** Ends what it has started before it throws. What the end itself does to workers is no news. */
export async function openService(options: ServiceOptions, tell: (news: ServiceNews) => void): Promise<Service> {
  const ending: (() => Promise<unknown>)[] = [];
  // Last started, first ended: nobody loses an engine that still uses it. One that fails does not keep the others alive.
  const closing = new AbortController();
  const tellOpen = (news: ServiceNews) => {
    if (!closing.signal.aborted) tell(news);
  };
  async function close(): Promise<void> {
    closing.abort();
    const failed: unknown[] = [];
    for (const end of ending.splice(0).toReversed()) await end().catch((error: unknown) => failed.push(error));
    if (failed.length > 0) throw failed[0];
  }

  try {
    const outdir = mkdtempSync(join(tmpdir(), "sluice-"));
    const remove = () => rmSync(outdir, { recursive: true, force: true });
    process.once("exit", remove);
    ending.push(async () => {
      process.off("exit", remove);
      remove();
    });
    // First of all: a wrong config is told before anything runs.
    const synthesized = synthesize(options.limits, outdir);
    const { endpoints, bedrockRecord } = await startEngines(options, ending, (from) =>
      tellOpen({ kind: "gone", from }),
    );
    const clients = clientsOf(endpoints);
    ending.push(async () => Object.values(clients).forEach((client) => client.destroy()));
    const stack = await makeStack(synthesized, clients, region);

    const reached = (await options.reach?.(endpoints)) ?? endpoints;
    mkdirSync(options.logDirectory, { recursive: true });
    const running = stack.fed.map((fed) => {
      const from = fed.variables["SLUICE_LANE"] ?? shortNameOf(fed.name);
      return startFed(fed, from, reached, options, clients.sqs, tellOpen);
    });
    ending.push(() => Promise.all(running.map((fed) => fed.stop())));
    const schedules = stack.scheduled.map((fn) => startScheduled(fn, reached, options, tellOpen));
    ending.push(() => Promise.all(schedules.map((schedule) => schedule.stop())));
    if (options.toldIn !== undefined) {
      const { config } = synthesized;
      const takeBack = tellWhere(options.toldIn, {
        pid: process.pid,
        region,
        outputs: stack.outputs,
        endpoints,
        config,
      });
      process.once("exit", takeBack);
      ending.push(async () => {
        process.off("exit", takeBack);
        takeBack();
      });
    }

    return {
      config: synthesized.config,
      outputs: stack.outputs,
      clients,
      depthUrls: depthUrlsOf(stack),
      bedrockRecord,
      running: () => running.flatMap(({ environments }) => environments.running()),
      stats: () => sumOf(running.map(({ environments }) => environments.stats())),
      messagesHeld: () => running.reduce((all, fed) => all + fed.messagesHeld(), 0),
      runScheduled: async () => void (await Promise.all(schedules.map((schedule) => schedule.run()))),
      killOne: () =>
        killLongest(
          running.map(({ environments }) => environments),
          closing.signal,
        ),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The names of the SDK's own variables. */
export type Endpoints = Readonly<Record<`AWS_ENDPOINT_URL_${"DYNAMODB" | "SQS" | "S3"}`, string>> &
  Readonly<Partial<Record<`AWS_ENDPOINT_URL_${"BEDROCK_RUNTIME" | "EVENTBRIDGE" | "SFN" | "SNS"}`, string>>>;

/** Endpoints that the environment names are used as they are; the others are started. */
async function startEngines(
  options: ServiceOptions,
  ending: (() => Promise<unknown>)[],
  gone: (engine: string) => void,
) {
  const env = endpointsGiven(process.env);
  function owned(name: string, engine: Engine): string {
    void engine.ended?.then(() => gone(name));
    ending.push(() => engine.stop());
    return engine.endpoint;
  }

  const dynamo =
    env["AWS_ENDPOINT_URL_DYNAMODB"] ?? owned("DynamoDB", await startDynamo(tablesIn(options.dataDirectory)));
  const [givenSqs, givenS3] = [env["AWS_ENDPOINT_URL_SQS"], env["AWS_ENDPOINT_URL_S3"]];
  const fauxqs = givenSqs !== undefined && givenS3 !== undefined ? "" : owned("SQS", await startFauxqs());
  const queues = givenSqs ?? fauxqs;
  const endpoints = {
    AWS_ENDPOINT_URL_DYNAMODB: dynamo,
    AWS_ENDPOINT_URL_SQS: queues,
    AWS_ENDPOINT_URL_S3: givenS3 ?? fauxqs,
    // Whoever waits on AWS for the replies of a deployment is not told of what happens here.
    AWS_ENDPOINT_URL_EVENTBRIDGE: env["AWS_ENDPOINT_URL_EVENTBRIDGE"] ?? queues,
    AWS_ENDPOINT_URL_SFN: env["AWS_ENDPOINT_URL_SFN"] ?? queues,
    AWS_ENDPOINT_URL_SNS: env["AWS_ENDPOINT_URL_SNS"] ?? queues,
  };

  const givenBedrock = env["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"];
  if (givenBedrock !== undefined) {
    return { endpoints: { ...endpoints, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: givenBedrock }, bedrockRecord: none };
  }
  if (options.bedrock === "aws") return { endpoints, bedrockRecord: none };
  const standIn = await startBedrock({ script: options.script });
  ending.push(() => standIn.close());
  return {
    endpoints: { ...endpoints, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: standIn.endpoint },
    bedrockRecord: () => standIn.record(),
  };
}

function none(): undefined {
  return undefined;
}

/** dynoxide keeps a file, dynalite a directory. */
function tablesIn(dataDirectory: string | undefined): string | undefined {
  if (dataDirectory === undefined) return undefined;
  mkdirSync(dataDirectory, { recursive: true });
  return join(dataDirectory, dynoxideBinary() === undefined ? "tables" : "tables.sqlite");
}

/** Local engines take any credentials, and the SDK insists on some. */
const credentials = { accessKeyId: "local", secretAccessKey: "local" };

function clientsOf(endpoints: Endpoints): Clients {
  // A worker's client gives up after three seconds, a long poll lasts twenty; a local engine's queue URLs do not resolve.
  const endpoint = endpoints.AWS_ENDPOINT_URL_SQS;
  const sqs = new SQSClient({ region, credentials, endpoint, useQueueUrlAsEndpoint: false });
  return {
    dynamo: dynamoClient({ region, credentials, endpoint: endpoints.AWS_ENDPOINT_URL_DYNAMODB }),
    sqs,
    s3: s3Client({ region, credentials, endpoint: endpoints.AWS_ENDPOINT_URL_S3 }),
  };
}

/** `LlmReplyStoreFunction5F9C1D0A` → `reply-store`. */
function shortNameOf(logicalId: string): string {
  const [, noun = logicalId] = /^Llm(\w+?)Function[0-9A-F]{8}$/.exec(logicalId) ?? [];
  return noun.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();
}

function environmentsOf(
  fn: LocalFunction,
  logName: string,
  endpoints: Endpoints,
  { bedrock, logDirectory, hear }: ServiceOptions,
  tell: (news: ServiceNews) => void,
): Environments {
  const variables = { ...variablesOf(fn, bedrock), ...endpoints };
  const log = openLog(logFile(logDirectory, logName), (code) => tell({ kind: "log-lost", from: logName, code }));
  return openEnvironments({ ...fn, variables }, log, hear);
}

/** A function that queues feed. */
interface RunningFed {
  readonly environments: Environments;
  messagesHeld(): number;
  stop(): Promise<void>;
}

function startFed(
  fed: Fed,
  from: string,
  endpoints: Endpoints,
  options: ServiceOptions,
  sqs: SQSClient,
  tell: (news: ServiceNews) => void,
): RunningFed {
  const environments = environmentsOf(fed, from, endpoints, options, tell);
  const mappings = fed.mappings.map((mapping) => {
    const concurrencyMax = Math.min(mapping.concurrencyMax, options.environmentsMax);
    const visibilityS = Math.min(mapping.visibilityS, options.visibilitySMax ?? Infinity);
    const bounded = { ...mapping, concurrencyMax, visibilityS };
    return startMapping(
      bounded,
      sqs,
      (event) => environments.invoke(event),
      (news) => tell({ ...news, from }),
    );
  });
  return {
    environments,
    messagesHeld: () => mappings.reduce((all, mapping) => all + mapping.messagesHeld(), 0),
    stop: async () => void (await Promise.all([...mappings.map((mapping) => mapping.stop()), environments.stop()])),
  };
}

/** A sweep that fails is told by the function's own log: the next one is near. */
function startScheduled(
  scheduled: Scheduled,
  endpoints: Endpoints,
  options: ServiceOptions,
  tell: (news: ServiceNews) => void,
): RunningSchedule {
  const environments = environmentsOf(scheduled, shortNameOf(scheduled.name), endpoints, options, tell);
  const schedule = startSchedule(scheduled.everyMs, (event) => environments.invoke(event));
  return {
    run: () => schedule.run(),
    stop: async () => void (await Promise.all([schedule.stop(), environments.stop()])),
  };
}

/** What Lambda gives a function, and what the template adds. */
function variablesOf(fn: LocalFunction, bedrock: ServiceOptions["bedrock"]): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    TZ: ":UTC",
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
    AWS_LAMBDA_FUNCTION_NAME: fn.name,
    AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(fn.memoryMb),
    ...(bedrock === "aws" ? ownCredentials() : localCredentials),
    ...fn.variables,
  };
}

const localCredentials = {
  AWS_ACCESS_KEY_ID: credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  AWS_EC2_METADATA_DISABLED: "true",
};

/** The URL of a lane's queue, or of the parked one. */
export function queueUrl(service: Service, queue: Lane | "parked"): string {
  return outputOf(service, `${queue}QueueUrl`);
}

export function outputOf({ outputs }: Service, name: string): string {
  const value = outputs[name];
  if (value === undefined) throw new Error(`the template has no output ${name}`);
  return value;
}

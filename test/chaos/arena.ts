/** The whole local service behind proxies, with jobs in it, and hands that kill and freeze its workers. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestContext } from "vitest";

import type { Environment } from "../../infra/local/environment.ts";
import { openService, outputOf, queueUrl } from "../../infra/local/service.ts";
import type { Endpoints, Service, ServiceNews } from "../../infra/local/service.ts";
import { targetsOf } from "../../lib/core/config.ts";
import { isObject, parseJson } from "../../lib/core/json.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { targetOf } from "../../lib/memory/bedrock-play.ts";
import type { CallRecord } from "../../lib/memory/bedrock-play.ts";
import { createDice } from "../../lib/memory/clock.ts";
import config from "../../infra/sluice.config.ts";
import { bodyOf, keyOfParams, paramsOfAll } from "./jobs.ts";
import type { ChaosJob } from "./jobs.ts";
import type { History, Hit, Span } from "./judge.ts";
import { startProxy } from "./proxy.ts";
import type { Proxy, Rule } from "./proxy.ts";
import { reportOf } from "./report.ts";
import { leftIn, outputsOf, until, watchReplies } from "./seen.ts";
import type { Watch } from "./seen.ts";
import { bedrockWire, dynamoWire, s3Wire, sqsWire } from "./wire.ts";
import type { Wire } from "./wire.ts";

/** What a worker reaches over the network. */
export const boundaries = ["dynamo", "sqs", "s3", "bedrock"] as const;
export type Boundary = (typeof boundaries)[number];
export type Proxies = Readonly<Record<Boundary, Proxy>>;

export type Weather = Partial<Readonly<Record<Boundary, readonly Rule[]>>>;

export interface Plan {
  readonly jobs: readonly ChaosJob[];
  readonly weather?: Weather;
  /** Worker processes a lane, at most. */
  readonly environmentsMax: number;
  /** The bodies that no job is made of, and why each is parked. */
  readonly parkable?: readonly { readonly reason: string; readonly body: string }[];
}

/** One limit for all targets, low enough to be felt. */
const limit = 4;
/** In the place of six times a function's timeout; a little more than a claim holds. */
const visibilitySMax = 40;

/** The seed of all dice: of `CHAOS_SEED`, to play a run again, else a new one. */
const seed = Number(process.env["CHAOS_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

/** What a scenario does to a running service. */
export class Arena {
  readonly proxies: Proxies;
  readonly dice: () => number;
  readonly hits: Hit[] = [];
  readonly dark: Span[] = [];
  readonly #service: Service;
  readonly #jobs: readonly ChaosJob[];
  readonly #watch: Watch;

  constructor(service: Service, proxies: Proxies, jobs: readonly ChaosJob[], watch: Watch) {
    this.#service = service;
    this.#jobs = jobs;
    this.#watch = watch;
    this.proxies = proxies;
    this.dice = createDice(seed);
  }

  /** Bedrock's own record. */
  calls(): readonly CallRecord[] {
    return this.#service.bedrockRecord()?.calls ?? [];
  }

  inFlight(): readonly CallRecord[] {
    return this.calls().filter(({ outcome }) => outcome === undefined);
  }

  /** All of these are out of reach for so long. */
  async goDark(which: readonly Boundary[], ms: number): Promise<Span> {
    const fromMs = Date.now();
    const lights = which.map((boundary) => this.proxies[boundary].goDark());
    await sleep(ms);
    for (const light of lights) light();
    const span = { fromMs, toMs: Date.now() };
    if (which.includes("dynamo")) this.dark.push(span);
    return span;
  }

  /** Kills workers in the middle of their work, about one in `everyMs`, for so long. */
  async kill(everyMs: number, forMs: number): Promise<void> {
    for (const endsAtMs = Date.now() + forMs; Date.now() < endsAtMs; await sleep(everyMs * (0.5 + this.dice()))) {
      const worker = await this.#worker(() => true, endsAtMs);
      if (worker === undefined) return;
      const atMs = Date.now();
      this.hits.push({ kind: "killed", jobIds: jobIdsOf(worker), fromMs: atMs, toMs: atMs });
      signal(worker, "SIGKILL");
    }
  }

  /**
   * Stops a worker of a lane that waits for Bedrock, or has an answer that is not stored, and lets it go on when others
   * have answered all that it had in hand. Of rt none: its function's timeout would come first.
   */
  async freeze(lane: Exclude<Lane, "rt">, doing: "asking" | "storing"): Promise<void> {
    const lanes = new Map(this.#jobs.map((job) => [job.jobId, job.lane]));
    const outcome = { asking: undefined, storing: "answered" }[doing];
    const isAtIt = (jobIds: readonly string[]) =>
      this.calls().some(
        (call) =>
          call.outcome === outcome &&
          call.jobId !== undefined &&
          lanes.get(call.jobId) === lane &&
          jobIds.includes(call.jobId) &&
          !this.#watch.replies.has(call.jobId),
      );
    const worker = await this.#worker(isAtIt);
    if (worker === undefined) return;
    const fromMs = Date.now();
    const jobIds = jobIdsOf(worker);
    signal(worker, "SIGSTOP");
    await until(() => jobIds.every((jobId) => this.#watch.replies.has(jobId)));
    this.hits.push({ kind: "frozen", jobIds, fromMs, toMs: Date.now() });
    signal(worker, "SIGCONT");
  }

  /** One that works for jobs of which this holds, the dice say which; none: there was none until then. */
  async #worker(holds: (jobIds: readonly string[]) => boolean, endsAtMs?: number): Promise<Environment | undefined> {
    const busy = () =>
      this.#service.running().filter((worker) => {
        const jobIds = jobIdsOf(worker);
        return jobIds.length > 0 && holds(jobIds);
      });
    await until(() => busy().length > 0, endsAtMs);
    const all = busy();
    return all[Math.floor(this.dice() * all.length)];
  }
}

function signal(worker: Environment, name: NodeJS.Signals): void {
  if (worker.pid !== undefined && worker.alive()) process.kill(worker.pid, name);
}

function jobIdsOf(worker: Environment): readonly string[] {
  const event = worker.event();
  const records: readonly unknown[] = isObject(event) && Array.isArray(event["Records"]) ? event["Records"] : [];
  return records.flatMap((record) => {
    const body = isObject(record) && typeof record["body"] === "string" ? parseJson(record["body"]) : undefined;
    return isObject(body) && typeof body["jobId"] === "string" ? [body["jobId"]] : [];
  });
}

/** Opens the service, sends the jobs, lets the trouble happen, waits until all is quiet, and tells what was seen. */
export async function runChaos(
  plan: Plan,
  { task, onTestFinished }: Pick<TestContext, "task" | "onTestFinished">,
  trouble: (arena: Arena) => Promise<void>,
): Promise<History> {
  const { jobs, parkable = [], weather = {} } = plan;
  const folder = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
  onTestFinished(() => {
    if (task.result?.state === "fail") console.log(`seed ${seed}; the workers' logs are in ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  });

  const thrown: string[] = [];
  const behind: Proxies[] = [];
  const service = await openService(
    {
      limits: Object.fromEntries(targetsOf(config).map(({ step }) => [step, limit])),
      bedrock: "stand-in",
      script: { seed, rules: jobs.flatMap(({ rules }) => rules) },
      logDirectory: folder,
      environmentsMax: plan.environmentsMax,
      visibilitySMax,
      async reach(engines) {
        const proxies = await proxiesTo(engines, weather);
        behind.push(proxies);
        return endpointsOf(proxies);
      },
    },
    (news: ServiceNews) => {
      if (news.kind !== "invoked" || news.how.kind === "returned") return;
      thrown.push(news.how.kind === "threw" ? news.how.name : `a timeout of ${news.from}`);
    },
  );
  try {
    const [proxies] = behind;
    if (proxies === undefined) throw new Error("the workers do not go through the proxies");
    const watch = watchReplies(service, jobs);
    await sendAll(service, plan);
    const arena = new Arena(service, proxies, jobs, watch);
    await trouble(arena);

    const left = await leftIn(service, watch, () => Promise.all(boundaries.map((one) => proxies[one].idle())));
    const history: History = {
      endings: new Map(jobs.map(({ jobId, ending }) => [jobId, ending])),
      replies: watch.replies,
      objects: await outputsOf(service, watch.replies),
      calls: arena.calls(),
      limits: new Map(targetsOf(config).map(({ target }) => [targetOf(target), limit])),
      lost: proxies.bedrock.injected.flatMap(({ isLost, jobId }) => (isLost && jobId !== undefined ? [jobId] : [])),
      hits: arena.hits,
      dark: arena.dark,
      thrown: withoutKilled(thrown, arena.hits),
      parkable: parkable.map(({ reason, body }) => `${reason} ${body}`),
      ...left,
    };
    console.log(reportOf(task.fullTestName, seed, proxies, history));
    return history;
  } finally {
    await service.close();
    await Promise.all(behind.flatMap((proxies) => boundaries.map((one) => proxies[one].stop())));
  }
}

async function proxiesTo(engines: Endpoints, weather: Weather): Promise<Proxies> {
  const start = async (boundary: Boundary, engine: string | undefined, wire: Wire): Promise<Proxy> => {
    if (engine === undefined) throw new Error(`nothing is behind the proxy ${boundary}`);
    // Each proxy has dice of its own: what one of them carries does not change what another throws.
    const proxy = await startProxy(engine, wire, seed + boundaries.indexOf(boundary));
    proxy.obey(weather[boundary] ?? []);
    return proxy;
  };
  return {
    dynamo: await start("dynamo", engines.AWS_ENDPOINT_URL_DYNAMODB, dynamoWire),
    sqs: await start("sqs", engines.AWS_ENDPOINT_URL_SQS, sqsWire),
    s3: await start("s3", engines.AWS_ENDPOINT_URL_S3, s3Wire),
    bedrock: await start("bedrock", engines.AWS_ENDPOINT_URL_BEDROCK_RUNTIME, bedrockWire),
  };
}

function endpointsOf({ dynamo, sqs, s3, bedrock }: Proxies): Endpoints {
  return {
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
    AWS_ENDPOINT_URL_SQS: sqs.endpoint,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.endpoint,
  };
}

async function sendAll(service: Service, { jobs, parkable = [] }: Plan): Promise<void> {
  const { s3, sqs } = service.clients;
  const Bucket = outputOf(service, "repliesBucketName");
  await s3.send(new PutObjectCommand({ Bucket, Key: keyOfParams, Body: paramsOfAll }));
  const send = (lane: Lane, MessageBody: string) =>
    sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(service, lane), MessageBody }));
  for (const { body } of parkable) await send("bg", body);
  for (const job of jobs) {
    await send(job.lane, bodyOf(job, Bucket));
    if (job.again === "at once") await send(job.lane, bodyOf(job, Bucket));
  }
  for (const job of jobs) if (job.again === "at last") await send(job.lane, bodyOf(job, Bucket));
}

/** A worker that was killed while it did nothing ends no invocation. */
function withoutKilled(thrown: readonly string[], hits: readonly Hit[]): readonly string[] {
  const died = thrown.filter((name) => name === "EnvironmentDied");
  const killed = hits.filter(({ kind }) => kind === "killed");
  return [...thrown.filter((name) => name !== "EnvironmentDied"), ...died.slice(killed.length)];
}

/** What every command has at hand. */
import { dynamoClient, s3Client, sqsClient } from "../aws/clients.ts";
import { systemClock } from "../aws/clock.ts";
import { createJobTable } from "../aws/job-table.ts";
import { createLeaseTable } from "../aws/lease-table.ts";
import { createQueueDepths } from "../aws/queue-depths.ts";
import type { Config } from "../core/config.ts";
import type { Clock, JobTable, LeaseTable, QueueDepths } from "../ports.ts";
import { screenOn, widthOf } from "../terminal/screen.ts";
import type { Screen, Terminal } from "../terminal/screen.ts";
import { tableLines } from "../terminal/table.ts";
import type { Column } from "../terminal/table.ts";
import { fold, plainJson } from "../terminal/width.ts";
import { laid } from "../terminal/words.ts";
import { laneUrls, outputOf } from "./outputs.ts";
import type { Outputs } from "./outputs.ts";
import { findPlace } from "./place.ts";
import type { Place, PlaceOptions } from "./place.ts";
import { readConfig } from "./read-config.ts";

/** Options that every command takes. */
export interface GlobalOptions extends PlaceOptions {
  readonly json?: boolean;
  readonly debug?: boolean;
}

export interface Deployment extends Place {
  readonly clock: Clock;
  readonly jobs: JobTable;
  readonly leases: LeaseTable;
  readonly queues: QueueDepths;
  /** Opened when it is asked for. */
  readonly clients: Clients;
}

type Clients = ReturnType<typeof openClients>;

const labelledColumnsMax = 100;

export class Cli {
  readonly options: GlobalOptions;
  /** What is told beside the result: progress, warnings. */
  readonly screen: Screen;
  readonly #out: Terminal;
  readonly #outScreen: Screen;
  #deployment: Promise<Deployment> | undefined;
  #config: Promise<Config> | undefined;

  constructor(options: GlobalOptions, out: Terminal, err: Terminal) {
    this.options = options;
    this.#out = out;
    this.#outScreen = screenOn(out);
    this.screen = screenOn(err);
  }

  get isJson(): boolean {
    return this.options.json === true;
  }

  nowMs(): number {
    return systemClock.nowMs();
  }

  /** The deployment that was asked for, found once. */
  deployment(): Promise<Deployment> {
    this.#deployment ??= findPlace(this.options).then(opened);
    return this.#deployment;
  }

  /** Its config. A copy that is not the deployed one is used, with a warning. */
  config(): Promise<Config> {
    this.#config ??= this.deployment().then(async ({ outputs, name }) => {
      const { config, from, isDeployed } = await readConfig(outputs, this.options.config);
      if (isDeployed === false)
        this.screen.tell(
          `${from} is not the config that ${name} was deployed with, or another version deployed it: limits and prices may differ`,
          "yellow",
        );
      return config;
    });
    return this.#config;
  }

  /** The one document of a command with `--json`. */
  document(value: unknown): void {
    this.#out.write(`${plainJson(value)}\n`);
  }

  /** Columns of the terminal; whatever else stdout is takes lines of any length. */
  get columns(): number {
    return this.#out.isTTY === true ? widthOf(this.#out) : Infinity;
  }

  /** What is longer than the terminal is wide goes on in the next line. */
  lines(lines: readonly string[]): void {
    const { columns } = this;
    const folded = lines.flatMap((line) => (Number.isFinite(columns) ? fold(line, columns) : [line]));
    for (const line of folded) this.#out.write(`${line}\n`);
  }

  table(titles: readonly Column[], rows: readonly (readonly string[])[]): void {
    const [head = "", ...body] = tableLines(titles, rows, this.columns);
    this.lines([this.bold(head), ...body]);
  }

  /** A label and its text, broken between words; no wider than one reads with ease. */
  labelled(label: string, text: string): readonly string[] {
    return laid(label, text, Math.min(this.columns, labelledColumnsMax));
  }

  bold(text: string): string {
    return this.paint("bold", text);
  }

  /** Colours, where stdout is a terminal that wants them. */
  paint(format: Parameters<Screen["style"]>[0], text: string): string {
    return this.#outScreen.style(format, text);
  }
}

function opened(place: Place): Deployment {
  const { outputs } = place;
  const clients = openClients();
  return {
    ...place,
    clients,
    clock: systemClock,
    get jobs() {
      return createJobTable(clients.dynamo, outputOf(outputs, "jobTableName"), systemClock);
    },
    get leases() {
      return createLeaseTable(clients.dynamo, outputOf(outputs, "leaseTableName"));
    },
    get queues() {
      return createQueueDepths(clients.sqs, watchedQueues(outputs));
    },
  };
}

function openClients() {
  return { dynamo: dynamoClient(), sqs: sqsClient(), s3: s3Client() };
}

function watchedQueues(outputs: Outputs) {
  const [parked, replies] = [outputOf(outputs, "parkedQueueUrl"), outputOf(outputs, "repliesQueueUrl")];
  return { ...laneUrls(outputs), parked, replies };
}

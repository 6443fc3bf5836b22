import { deadLettersVariable, isLane, lanes, queueVariable } from "../core/lane.ts";
import type { Lane } from "../core/lane.ts";
import type { WatchedQueue } from "../core/overview.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What the stack tells the sweeper by its environment, and every other function too. */
export interface SweeperSettings {
  readonly jobTable: string;
  readonly workerVersion: string;
}

/** What it tells the reply-store, and every worker too. `queueUrl`: of the queue that feeds the function. */
export interface StoreSettings extends SweeperSettings {
  readonly queueUrl: string;
  readonly parkedQueueUrl: string;
  readonly bucket: string;
}

/** What it tells a worker. */
export interface WorkerSettings extends StoreSettings {
  readonly lane: Lane;
  readonly repliesQueueUrl: string;
  readonly leaseTable: string;
}

/** What it tells the dashboard's widget. */
export interface WidgetSettings extends SweeperSettings {
  readonly leaseTable: string;
  readonly queueUrls: Readonly<Partial<Record<WatchedQueue, string>>>;
  /** Whether jobs are cancelled and lanes and targets paused from there. */
  readonly actions: boolean;
}

/** @throws Error that names the variable, when one is missing. */
export function widgetSettingsOf(env: Environment): WidgetSettings {
  const deadLetters = lanes.flatMap((lane) => {
    // A queue of somebody's own has its dead letters elsewhere.
    const url = env[deadLettersVariable(lane)];
    return url === undefined ? [] : [[`${lane}-dead-letters`, url] as const];
  });
  return {
    ...sweeperSettingsOf(env),
    leaseTable: need(env, "SLUICE_LEASE_TABLE"),
    queueUrls: {
      ...Object.fromEntries(lanes.map((lane) => [lane, need(env, queueVariable(lane))])),
      ...Object.fromEntries(deadLetters),
      parked: need(env, "SLUICE_PARKED_QUEUE_URL"),
      replies: need(env, "SLUICE_REPLIES_QUEUE_URL"),
    },
    actions: env["SLUICE_WIDGET_ACTIONS"] === "on",
  };
}

/** @throws Error that names the variable, when one is missing. */
export function sweeperSettingsOf(env: Environment): SweeperSettings {
  return { jobTable: need(env, "SLUICE_JOB_TABLE"), workerVersion: env["AWS_LAMBDA_FUNCTION_VERSION"] ?? "local" };
}

/** @throws Error that names the variable, when one is missing. */
export function storeSettingsOf(env: Environment): StoreSettings {
  return {
    ...sweeperSettingsOf(env),
    queueUrl: need(env, "SLUICE_QUEUE_URL"),
    parkedQueueUrl: need(env, "SLUICE_PARKED_QUEUE_URL"),
    bucket: need(env, "SLUICE_BUCKET"),
  };
}

/** @throws Error that names the variable, when one is missing or unreadable. */
export function workerSettingsOf(env: Environment): WorkerSettings {
  const lane = need(env, "SLUICE_LANE");
  if (!isLane(lane))
    throw new Error(`SLUICE_LANE is none of ${lanes.join(", ")}; the stack sets it on the function: deploy it again`);
  return {
    ...storeSettingsOf(env),
    lane,
    repliesQueueUrl: need(env, "SLUICE_REPLIES_QUEUE_URL"),
    leaseTable: need(env, "SLUICE_LEASE_TABLE"),
  };
}

/**
 * What a worker is told, for one that empties the dead-letter queue of this ARN: the stack names each lane's.
 * @throws Error for any other queue.
 */
export function deadLetterSettingsOf(env: Environment, queueArn: string): WorkerSettings {
  const lane = lanes.find((each) => nameIn(env[deadLettersVariable(each)], "/") === nameIn(queueArn, ":"));
  if (lane === undefined)
    throw new Error(`${queueArn} is no lane's dead-letter queue; remove its event source mapping to this function`);
  return workerSettingsOf({ ...env, SLUICE_LANE: lane, SLUICE_QUEUE_URL: env[deadLettersVariable(lane)] });
}

/** The last part of a queue's URL, or of its ARN. */
function nameIn(place: string | undefined, separator: "/" | ":"): string | undefined {
  return place?.split(separator).at(-1);
}

function need(env: Environment, name: string): string {
  const value = env[name];
  if (value === undefined || value === "")
    throw new Error(`${name} is not set; the stack sets it on the function: deploy it again`);
  return value;
}

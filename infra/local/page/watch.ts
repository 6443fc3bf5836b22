/** What the page reads of the running service, and what its buttons do to it. */
import { systemClock } from "../../../lib/aws/clock.ts";
import { createJobTable } from "../../../lib/aws/job-table.ts";
import { createLeaseTable } from "../../../lib/aws/lease-table.ts";
import { createObjects } from "../../../lib/aws/objects.ts";
import { createQueueDepths } from "../../../lib/aws/queue-depths.ts";
import { cancel } from "../../../lib/client/cancel.ts";
import { createOutbox } from "../../../lib/client/outbox.ts";
import { createParkedQueue } from "../../../lib/client/parked-queue.ts";
import type { ParkedMessage } from "../../../lib/client/parked-queue.ts";
import { rerun, RerunRefused } from "../../../lib/client/rerun.ts";
import type { JobRow } from "../../../lib/core/claim.ts";
import { isJobId } from "../../../lib/core/envelope.ts";
import { readBody } from "../../../lib/core/feeds.ts";
import { byLane, isLane } from "../../../lib/core/lane.ts";
import { ledgersOf } from "../../../lib/core/ledgers.ts";
import { foreverMs } from "../../../lib/core/override.ts";
import type { Overview } from "../../../lib/core/overview.ts";
import { readOverview } from "../../../lib/operate/read-overview.ts";
import { changeOverride, resumed } from "../../../lib/operate/set-override.ts";
import { cancelDone, pauseDone } from "../../../lib/view/done.ts";
import { outputOf, queueUrl } from "../service.ts";
import type { Service } from "../service.ts";
import { keep } from "./kept.ts";

export interface ParkedView {
  readonly messageId: string;
  readonly reason: string;
  readonly lane: string;
  /** Of the job that its body asks for, if it asks for one. */
  readonly jobId?: string;
}

export interface Watching {
  /** Never older than a second or so, and read for all viewers at once: twenty open windows cost what one does. */
  overview(): Promise<Overview>;
  job(jobId: string): Promise<JobRow | undefined>;
  /** The first ten, some seconds old at most. */
  parked(): Promise<readonly ParkedView[]>;
  /** How often the tables were read for an overview. */
  reads(): number;
  /** Each says what it did, for a person. */
  cancel(jobId: string): Promise<string>;
  pause(name: string): Promise<string>;
  resume(name: string): Promise<string>;
  rerun(messageId: string): Promise<string>;
}

/** What somebody asked for cannot be; `message` says what to do. Nothing was done. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

const ageMsMax = 1_000;
/** Receiving hides: who leaves the list open must not keep others from seeing it. */
const parkedAgeMsMax = 5_000;
const takeMsMax = 4_000;
const takePollMs = 300;
/** A read of big tables is followed by a pause of so many times its own length. */
const politeness = 2;

export function watchService(service: Service): Watching {
  const { clients, config, depthUrls } = service;
  const jobs = createJobTable(clients.dynamo, outputOf(service, "jobTableName"), systemClock);
  const leases = createLeaseTable(clients.dynamo, outputOf(service, "leaseTableName"));
  const queues = createQueueDepths(clients.sqs, depthUrls);
  const bucket = outputOf(service, "repliesBucketName");
  const lanes = byLane((lane) => queueUrl(service, lane));
  const parkedQueue = createParkedQueue(clients.sqs, queueUrl(service, "parked"));

  let reads = 0;
  const overview = keep(
    () => {
      reads += 1;
      return readOverview({ clock: systemClock, jobs, leases, queues }, config);
    },
    (tookMs) => Math.max(ageMsMax, politeness * tookMs),
    systemClock,
  );
  const parked = keep(
    async () => (await parkedQueue.receive(1, 0)).map(viewOf),
    () => parkedAgeMsMax,
    systemClock,
  );

  function needName(name: string): void {
    if (!isLane(name) && !ledgersOf(config).has(name))
      throw new Refusal(`${name} is neither a lane nor a limit of the config; use the button beside it`);
  }

  /** Whoever looks hides what he sees for a second: it is asked for until it must have come back. */
  async function take(messageId: string): Promise<ParkedMessage | undefined> {
    for (const untilMs = Date.now() + takeMsMax; Date.now() < untilMs; await systemClock.sleep(takePollMs)) {
      const messages = await parkedQueue.receive(30, 0);
      const found = messages.find((message) => message.messageId === messageId);
      const others = messages.filter((message) => message !== found);
      await Promise.all(others.map(showAgain));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** If that fails it comes back by itself, within half a minute. */
  async function showAgain({ receiptHandle }: ParkedMessage): Promise<void> {
    await parkedQueue.show(receiptHandle).catch(() => undefined);
  }

  return {
    reads: () => reads,
    overview: () => overview.get(),
    job: (jobId) => jobs.read(jobId),
    parked: () => parked.get(),

    async cancel(jobId) {
      if (!isJobId(jobId)) throw new Refusal("that is no jobId; use the button in the job's row");
      if ((await jobs.read(jobId)) === undefined) throw new Refusal(`no worker has seen a job ${jobId}`);
      const { kind } = await cancel(jobId, jobs, systemClock, config.replies.ttlDays);
      overview.forget();
      return cancelDone(jobId, kind);
    },

    async pause(name) {
      needName(name);
      await changeOverride(leases, name, { pausedUntilMs: foreverMs });
      overview.forget();
      return pauseDone(name, "pause");
    },

    async resume(name) {
      needName(name);
      await changeOverride(leases, name, resumed);
      overview.forget();
      return pauseDone(name, "resume");
    },

    async rerun(messageId) {
      const found = await take(messageId);
      if (found === undefined) {
        parked.forget();
        throw new Refusal("that message is not among the first parked ones now; look at them again");
      }
      try {
        const { jobId, was, lane } = await rerun(found, {
          jobs,
          objects: createObjects(clients.s3, bucket),
          outbox: createOutbox(clients.sqs, clients.s3, lanes),
          clock: systemClock,
          remove: (receiptHandle) => parkedQueue.remove(receiptHandle),
          bucket,
        });
        return `Job ${was} runs again as ${jobId} in ${lane}.`;
      } catch (error) {
        await showAgain(found);
        if (!(error instanceof RerunRefused)) throw error;
        throw new Refusal(`it cannot be run again, and stays parked: ${error.message}`);
      } finally {
        parked.forget();
        overview.forget();
      }
    },
  };
}

function viewOf({ messageId, reason, lane, body }: ParkedMessage): ParkedView {
  const read = readBody(body);
  const jobId = read.kind === "envelope" ? read.envelope.jobId : read.kind === "invalid" ? read.jobId : undefined;
  return { messageId, reason, lane: lane ?? "", ...(jobId === undefined ? {} : { jobId }) };
}

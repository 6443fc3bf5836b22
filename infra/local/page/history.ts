/** What the workers have said of each job, out of their log lines; bounded, and without any content. */
import { isObject, parseJson } from "../../../lib/core/json.ts";
import type { Heard } from "../../../lib/view/timeline.ts";

export interface Ended {
  readonly jobId: string;
  readonly atMs: number;
  readonly status: string;
}

export interface History {
  /** A line of a log; what is none of a job is not kept. */
  hear(line: JsonLine): void;
  /** Oldest first. */
  of(jobId: string): readonly Heard[];
  /** The last that ended, the latest first. */
  ended(): readonly Ended[];
}

export type JsonLine = Readonly<Record<string, unknown>>;

/** Of all jobs together. */
const bounds = { jobsMax: 20_000, eventsMax: 200_000 } as const;
/** A job that is handed back for hours says the same again and again: its beginning and its latest are kept. */
const eventsOfJobMax = 80;
const firstKept = 20;
const endedMax = 12;

/** Of every line alike, or said elsewhere. */
const unsaid = new Set([
  "level",
  "message",
  "timestamp",
  "service",
  "sampling_rate",
  "xray_trace_id",
  "messageId",
  "jobId",
]);
/**
 * Said only while a job is open. Whatever else is the first that is kept of a job (that its reply was announced, a late copy
 * of its message) may come after its end, and no end would follow it.
 */
const ofOpenJobs = new Set([
  "claimed",
  "stage",
  "lease-taken",
  "lease-refused",
  "attempted",
  "step-skipped",
  "fallback",
  "requeued",
  "hidden",
  "unknown-model",
]);
/** These hold what was asked and answered. */
const content = new Set(["payload"]);

/** `jobsMax`, `eventsMax`: how much is kept; beyond, whatever ended first is forgotten first, and what is open last. */
export function createHistory({ jobsMax, eventsMax }: Record<keyof typeof bounds, number> = bounds): History {
  const jobs = new Map<string, Heard[]>();
  /** Of these, in the order of their ends. */
  const over = new Set<string>();
  let events = 0;
  let ended: Ended[] = [];

  function forgetOne(): void {
    const [oldest] = over.size > 0 ? over : jobs.keys();
    if (oldest === undefined) return;
    events -= jobs.get(oldest)?.length ?? 0;
    jobs.delete(oldest);
    over.delete(oldest);
  }

  return {
    hear(line) {
      const { jobId, message: kind, timestamp } = line;
      const atMs = Date.parse(String(timestamp));
      if (typeof jobId !== "string" || typeof kind !== "string" || Number.isNaN(atMs) || content.has(kind)) return;
      while ((!jobs.has(jobId) && jobs.size >= jobsMax) || events >= eventsMax) forgetOne();
      if (!jobs.has(jobId) && !ofOpenJobs.has(kind)) over.add(jobId);
      // A jobId is free again when its reply has been forgotten.
      if (kind === "claimed") over.delete(jobId);
      const its = jobs.get(jobId) ?? [];
      jobs.set(jobId, its);
      its.push({ atMs, kind, facts: factsOf(line) });
      events += 1;
      if (its.length > eventsOfJobMax) {
        its.splice(firstKept, 1);
        events -= 1;
      }
      if (kind !== "replied") return;
      over.add(jobId);
      const status = String(line["status"]);
      ended = [{ jobId, atMs, status }, ...ended.filter((each) => each.jobId !== jobId)].slice(0, endedMax);
    },
    // Lines of two workers may come in either order.
    of: (jobId) => (jobs.get(jobId) ?? []).toSorted((a, b) => a.atMs - b.atMs),
    ended: () => ended,
  };
}

/** Whatever is a word or a number; nothing deeper. */
function factsOf(line: JsonLine): Heard["facts"] {
  return Object.fromEntries(
    Object.entries(line).flatMap(([name, value]): [string, string | number][] => {
      if (unsaid.has(name)) return [];
      if (typeof value === "number") return [[name, value]];
      return typeof value === "string" || typeof value === "boolean" ? [[name, String(value).slice(0, 200)]] : [];
    }),
  );
}

/** A line of a log, if it is an object in JSON: what a worker prints otherwise is nothing of ours. */
export function jsonLine(text: string): JsonLine | undefined {
  const line = text.startsWith("{") ? parseJson(text) : undefined;
  return isObject(line) ? line : undefined;
}

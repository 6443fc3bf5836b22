/** All execution environments of a function: started when they are needed, kept warm, replaced when they die. */
import type { Writable } from "node:stream";

import { systemClock } from "../../lib/aws/clock.ts";
import type { Clock } from "../../lib/ports.ts";
import { startEnvironment } from "./environment.ts";
import type { Environment, LocalFunction } from "./environment.ts";
import type { Invoked } from "./event-source-rules.ts";

export interface Environments {
  /** Takes an idle environment, or starts one: who invokes bounds how many there are. Never rejects. */
  invoke(event: unknown): Promise<Invoked>;
  /** Environments in the middle of an invocation. */
  running(): readonly Environment[];
  stats(): EnvironmentStats;
  /** Kills all; resolves when their processes are gone, and ends the log. */
  stop(): Promise<void>;
}

/** Counts since the beginning; `rssBytesMax` is the largest environment's. */
export interface EnvironmentStats {
  readonly started: number;
  /** Those that crashed, were killed or ran into the function's timeout. */
  readonly died: number;
  readonly invocations: number;
  readonly rssBytesMax: number;
}

export function sumOf(stats: readonly EnvironmentStats[]): EnvironmentStats {
  return {
    started: stats.reduce((all, { started }) => all + started, 0),
    died: stats.reduce((all, { died }) => all + died, 0),
    invocations: stats.reduce((all, { invocations }) => all + invocations, 0),
    rssBytesMax: Math.max(0, ...stats.map(({ rssBytesMax }) => rssBytesMax)),
  };
}

export function openEnvironments(fn: LocalFunction, log: Writable, hear?: (line: string) => void): Environments {
  const idle: Environment[] = [];
  const busy = new Set<Environment>();
  let started = 0;
  let died = 0;
  let invocations = 0;
  let rssBytesMax = 0;
  let stopped = false;

  async function invoke(event: unknown): Promise<Invoked> {
    if (stopped) return { kind: "threw", name: "EnvironmentStopped" };

    const environment = idle.pop() ?? start();
    busy.add(environment);
    invocations++;
    const how = await environment.invoke(event);
    busy.delete(environment);
    rssBytesMax = Math.max(rssBytesMax, environment.rssBytesMax());
    if (environment.alive()) idle.push(environment);
    else died++;
    return how;
  }

  function start(): Environment {
    started++;
    const environment = startEnvironment(fn, log, hear);
    void environment.ended.then(() => {
      const at = idle.indexOf(environment);
      if (at >= 0) idle.splice(at, 1);
    });
    return environment;
  }

  return {
    invoke,
    running: () => [...busy].filter((environment) => environment.alive() && environment.busySinceMs() !== undefined),
    stats: () => ({ started, died, invocations, rssBytesMax }),
    async stop() {
      stopped = true;
      const all = [...idle, ...busy];
      for (const environment of all) environment.kill();
      await Promise.all(all.map(({ ended }) => ended));
      log.end();
    },
  };
}

/**
 * By then a worker has claimed its messages and hidden them for as long as the claim holds; before, the queue hides them for
 * six times the function's timeout, and whoever watches would wait for minutes.
 */
const busyMsMin = 1_000;
const busyWaitMsMax = 5_000;
const busyPollMs = 50;

/**
 * Kills the environment whose invocation has run longest, as a crash would. Waits some seconds for one that has run for
 * at least a second; false: there was none. Undefined: the signal came first.
 */
export async function killLongest(
  all: readonly Pick<Environments, "running">[],
  signal: AbortSignal,
  clock: Pick<Clock, "nowMs" | "sleep"> = systemClock,
): Promise<boolean | undefined> {
  for (
    const untilMs = clock.nowMs() + busyWaitMsMax;
    clock.nowMs() < untilMs && !signal.aborted;
    await clock.sleep(busyPollMs, signal)
  ) {
    const longest = all
      .flatMap((environments) => environments.running())
      .flatMap((environment) => ({ environment, sinceMs: environment.busySinceMs() ?? Infinity }))
      .filter(({ sinceMs }) => clock.nowMs() - sinceMs >= busyMsMin)
      .toSorted((a, b) => a.sinceMs - b.sinceMs)[0];
    if (longest === undefined) continue;
    longest.environment.kill();
    return true;
  }
  return signal.aborted ? undefined : false;
}

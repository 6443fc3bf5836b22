/** All execution environments of a function: started when they are needed, kept warm, replaced when they die. */
import type { Writable } from "node:stream";

import { startEnvironment } from "./environment.ts";
import type { Environment, LocalFunction } from "./environment.ts";
import type { Invoked } from "./event-source-rules.ts";

export interface Environments {
  /** Takes an idle environment, or starts one: who invokes bounds how many there are. Never rejects. */
  invoke(event: unknown): Promise<Invoked>;
  /** Kills one environment in the middle of its invocation, as a crash would; false: none runs. */
  killOne(): boolean;
  stats(): EnvironmentStats;
  /** Kills all; resolves when their processes are gone. */
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

export function openEnvironments(fn: LocalFunction, log: Writable): Environments {
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
    const environment = startEnvironment(fn, log);
    void environment.ended.then(() => {
      const at = idle.indexOf(environment);
      if (at >= 0) idle.splice(at, 1);
    });
    return environment;
  }

  return {
    invoke,
    killOne() {
      const [first] = busy;
      first?.kill();
      return first !== undefined;
    },
    stats: () => ({ started, died, invocations, rssBytesMax }),
    async stop() {
      stopped = true;
      const all = [...idle, ...busy];
      for (const environment of all) environment.kill();
      await Promise.all(all.map(({ ended }) => ended));
    },
  };
}

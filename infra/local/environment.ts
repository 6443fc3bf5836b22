/** One of Lambda's execution environments: a Node process that imports a bundle once and runs an invocation at a time. */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";

import type { Invoked } from "./event-source-rules.ts";

/** A function of the template, with its bundle on disk. */
export interface LocalFunction {
  readonly name: string;
  /** The bundle's file. */
  readonly file: string;
  /** The name of its export. */
  readonly handler: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /** The whole environment of its processes: nothing of this one's leaks in. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What the parent sends for one invocation. `endsAtMs`: epoch ms at which the process is killed. */
export interface Invocation {
  readonly requestId: string;
  readonly event: unknown;
  readonly endsAtMs: number;
}

/** What the child answers: `ready` once it has imported the bundle, then one message an invocation. */
export type FromChild =
  | { readonly kind: "ready" }
  | { readonly kind: "returned"; readonly value?: unknown; readonly rssBytes: number }
  | { readonly kind: "threw"; readonly name: string; readonly rssBytes: number };

export interface Environment {
  /** One at a time. Never rejects: a throw, a timeout and a dead process are answers; the last two end the environment. */
  invoke(event: unknown): Promise<Invoked>;
  kill(): void;
  alive(): boolean;
  /** Since when an invocation runs in it, epoch ms: from the end of the import on, not while the bundle is imported. */
  busySinceMs(): number | undefined;
  /** What that invocation was given. */
  event(): unknown;
  /** Its process, for whoever sends it signals. */
  readonly pid: number | undefined;
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>;
  /** The most memory seen at the end of an invocation. */
  rssBytesMax(): number;
}

const childFile = fileURLToPath(new URL("environment-child.ts", import.meta.url));
/** The parts of a function's memory that Lambda's own start of Node gives to V8's spaces. */
const oldSpacePart = 0.9;
const semiSpacePart = 0.05;

/** `hear` is given each line that the process prints, as it comes. */
export function startEnvironment(fn: LocalFunction, log: Writable, hear?: (line: string) => void): Environment {
  const child = fork(childFile, [fn.file, fn.handler], {
    env: fn.variables,
    execArgv: [
      `--max-old-space-size=${Math.floor(fn.memoryMb * oldSpacePart)}`,
      `--max-semi-space-size=${Math.floor(fn.memoryMb * semiSpacePart)}`,
    ],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  child.stdout?.pipe(log, { end: false });
  if (hear !== undefined && child.stdout !== null) createInterface({ input: child.stdout }).on("line", hear);
  child.stderr?.pipe(log, { end: false });
  child.on("error", () => undefined); // its exit tells

  let rssBytesMax = 0;
  let busySinceMs: number | undefined;
  let given: unknown;
  let settle: ((how: Invoked) => void) | undefined;
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  child.on("message", (message: FromChild) => {
    if (message.kind === "ready") return ready.resolve();
    rssBytesMax = Math.max(rssBytesMax, message.rssBytes);
    settle?.(
      message.kind === "returned" ? { kind: "returned", value: message.value } : { kind: "threw", name: message.name },
    );
  });
  child.once("close", () => {
    settle?.({ kind: "threw", name: "EnvironmentDied" });
    ended.resolve();
  });

  function alive(): boolean {
    return !child.killed && child.exitCode === null && child.signalCode === null;
  }

  return {
    ended: ended.promise,
    rssBytesMax: () => rssBytesMax,
    kill: () => void child.kill("SIGKILL"),
    alive,
    busySinceMs: () => busySinceMs,
    event: () => given,
    pid: child.pid,
    async invoke(event) {
      const { promise, resolve } = Promise.withResolvers<Invoked>();
      settle = resolve;
      given = event;
      // A bundle that hangs while it is imported gets as long as an invocation, as Lambda's second try does.
      let timer = setTimeout(timeOut, fn.timeoutMs);
      void ready.promise.then(() => {
        clearTimeout(timer);
        timer = setTimeout(timeOut, fn.timeoutMs);
        const invocation: Invocation = { requestId: randomUUID(), event, endsAtMs: Date.now() + fn.timeoutMs };
        child.send(invocation, () => undefined);
        busySinceMs = Date.now();
      });
      function timeOut(): void {
        resolve({ kind: "timed-out" });
        child.kill("SIGKILL");
      }
      try {
        return alive() ? await promise : { kind: "threw", name: "EnvironmentDied" };
      } finally {
        clearTimeout(timer);
        busySinceMs = undefined;
      }
    },
  };
}

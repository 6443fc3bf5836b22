/** A proxy on loopback, in front of one engine, that breaks what it carries: by seeded dice, by rule, or all of it. */
import { once } from "node:events";
import { Agent, createServer, request as requestOf } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { createDice } from "../../lib/memory/clock.ts";
import type { Head, Wire } from "./wire.ts";

export const faultKinds = ["fail", "throttle", "hang", "drop", "delay", "late-copy"] as const;

/**
 * `fail`, `throttle`: the service says so, and nothing was done. `hang`: nothing is done, and no answer ever comes.
 * `drop`: it was done, and the answer is lost. `delay`: it is done some moments late. `late-copy`: it is done and answered,
 * and done once more seconds later, as by a resend that lay about in the network.
 */
export type FaultKind = (typeof faultKinds)[number];

/** One request in `oneIn` of each operation, the dice say which, meets the next of the kinds in turn. */
export interface Rule {
  /** Without it, of all operations. */
  readonly operation?: string;
  readonly oneIn: number;
  readonly kinds: readonly FaultKind[];
}

/** `dark`: refused, or lost, in a black-out. */
export interface Injected {
  readonly operation: string;
  readonly kind: FaultKind | "dark";
  readonly atMs: number;
  /** The job that the request named, if any. */
  readonly jobId?: string;
  /** It was done, and whoever asked does not know. */
  readonly isLost: boolean;
}

export interface Proxy {
  readonly endpoint: string;
  /** From now on, in the place of the rules before; the first that fits an operation holds. */
  obey(rules: readonly Rule[]): void;
  /** Nothing comes through any more, in either direction, until it is called off. */
  goDark(): () => void;
  /** Requests by operation, the broken ones included. */
  readonly seen: ReadonlyMap<string, number>;
  readonly injected: readonly Injected[];
  /** Resolves when no late copy is under way. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const host = "127.0.0.1";
const delayMsMax = 400;
const lateMsMax = 5_000;

export async function startProxy(upstream: string, wire: Wire, seed: number): Promise<Proxy> {
  const agent = new Agent({ keepAlive: true });
  const dice = createDice(seed);
  const stopping = new AbortController();
  const seen = new Map<string, number>();
  const injected: Injected[] = [];
  const late = new Set<Promise<unknown>>();
  let draw = drawFrom([], dice);
  let darknesses = 0;

  async function serve(head: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bytesOf(head);
    const operation = wire.operationOf(head, body);
    const jobId = wire.jobOf(head, body);
    const note = (kind: Injected["kind"], isLost = false) =>
      injected.push({ operation, kind, atMs: Date.now(), ...(jobId === undefined ? {} : { jobId }), isLost });
    seen.set(operation, (seen.get(operation) ?? 0) + 1);

    /** Asks the engine. What was answered into a black-out, or is to be lost, does not come back. */
    async function pass(lose: boolean): Promise<void> {
      const left = new AbortController();
      response.once("close", () => left.abort());
      const answer = await forward(head, body, left.signal);
      if (lose || darknesses > 0) {
        note(lose ? "drop" : "dark", true);
        response.socket?.destroy();
      } else response.writeHead(answer.status, answer.headers).end(answer.body);
    }

    if (darknesses > 0) {
      note("dark");
      // A network that is down is silent as often as it says so.
      if (dice() < 0.5) response.socket?.destroy();
      return;
    }
    const kind = draw(operation);
    if (kind !== undefined && kind !== "drop") note(kind);
    switch (kind) {
      case undefined:
        return pass(false);
      case "fail":
        return void response.writeHead(wire.failed.status, wire.failed.headers).end(wire.failed.body);
      case "throttle":
        return void response.writeHead(wire.throttled.status, wire.throttled.headers).end(wire.throttled.body);
      case "hang":
        return;
      case "drop":
        return pass(true);
      case "delay":
        await sleep(dice() * delayMsMax, undefined, { signal: stopping.signal });
        return pass(false);
      case "late-copy": {
        await pass(false);
        const copy = sleep(dice() * lateMsMax, undefined, { signal: stopping.signal })
          .then(() => forward(head, body, stopping.signal))
          .catch(() => undefined)
          .finally(() => late.delete(copy));
        late.add(copy);
      }
    }
  }

  function forward({ method, url, headers }: Head, body: Buffer, signal: AbortSignal): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const asking = requestOf(
      new URL(url ?? "/", upstream),
      { method, agent, signal, headers: { ...whole(headers), "content-length": body.length } },
      (answer) => {
        bytesOf(answer).then(
          (bytes) => resolve({ status: answer.statusCode ?? 500, headers: whole(answer.headers), body: bytes }),
          reject,
        );
      },
    );
    asking.once("error", reject);
    asking.end(body);
    return promise;
  }

  const server = createServer((request, response) => {
    // The client has left, or the engine has: in either case nobody gets an answer.
    serve(request, response).catch(() => response.destroy());
  });
  // An idle socket that we close is a reset that nobody counts.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.listen(0, host);
  await once(server, "listening");

  return {
    endpoint: `http://${host}:${portOf(server)}`,
    obey: (rules) => void (draw = drawFrom(rules, dice)),
    goDark() {
      darknesses++;
      let isOver = false;
      return () => {
        if (!isOver) darknesses--;
        isOver = true;
      };
    },
    seen,
    injected,
    idle: async () => void (await Promise.all(late)),
    async stop() {
      stopping.abort();
      await Promise.all(late);
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}

/** By windows of `oneIn` requests, one of each broken: so that the number of faults is no matter of luck. */
function drawFrom(rules: readonly Rule[], dice: () => number): (operation: string) => FaultKind | undefined {
  const courses = new Map<string, { seen: number; hit: number; turn: number }>();
  return (operation) => {
    const rule = rules.find((one) => one.operation === undefined || one.operation === operation);
    if (rule === undefined) return undefined;
    const { oneIn, kinds } = rule;
    const course = courses.get(operation) ?? { seen: 0, hit: 0, turn: Math.floor(dice() * kinds.length) };
    courses.set(operation, course);
    const place = course.seen++ % oneIn;
    if (place === 0) course.hit = Math.floor(dice() * oneIn);
    return place === course.hit ? kinds[course.turn++ % kinds.length] : undefined;
  };
}

/** Without what speaks of how a body was sent: here it is whole, and whoever waited to be told to go on has sent it. */
function whole(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const kept = { ...headers };
  delete kept.expect;
  delete kept["transfer-encoding"];
  return kept;
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy does not listen on a port");
  return address.port;
}

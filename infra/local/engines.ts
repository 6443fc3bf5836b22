/** The engines that stand in for AWS on one machine: DynamoDB, and SQS, SNS and S3. All on loopback, each ended by `stop`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer, connect, Socket } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

import { Fault } from "../../lib/terminal/fault.ts";

/** A new table refuses its writes for a moment, on local engines too. */
export async function untilActive(client: DynamoDBClient, TableName: string): Promise<void> {
  await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 0.01, maxDelay: 0.1 }, { TableName });
}

export interface Engine {
  readonly endpoint: string;
  readonly stop: () => Promise<void>;
  /** Of an engine that is a process of its own: kept when that has ended, stopped or not. */
  readonly ended?: Promise<void>;
}

const host = "127.0.0.1";
const startTriesMax = 3;
const startMsMax = 5_000;
/** Letters of what an engine says. */
const saidMax = 2_000;

/** DynamoDB: dynoxide where its binary is installed, else dynalite. `dataFile`: kept there instead of in memory. */
export async function startDynamo(dataFile?: string): Promise<Engine> {
  return dynoxideBinary() === undefined ? await startDynalite(dataFile) : await startDynoxide(dataFile);
}

/** DynamoDB by dynoxide, a process of its own. Throws where its optional package is not installed (Linux x64 alone has it). */
export async function startDynoxide(dataFile?: string): Promise<Engine> {
  const binary = dynoxideBinary();
  if (binary === undefined) throw new Error("dynoxide is not installed on this platform; use startDynalite");

  for (let tries = 1; ; tries++) {
    const port = await freePort();
    const kept = dataFile === undefined ? [] : ["--db-path", dataFile];
    const program = runWhileParentLives(binary, ["--host", host, "--port", String(port), ...kept]);
    const { runs, stop, ended } = program;
    if (await listens(port, runs)) return { endpoint: `http://${host}:${port}`, stop, ended };
    const said = runs() ? `it did not listen within ${startMsMax} ms` : await program.lastWords();
    await stop();
    // Between finding a port free and using it, somebody else may have taken it.
    if (dataFile !== undefined && !/already in use|did not listen/.test(said)) throw noTables(dataFile, said);
    if (tries === startTriesMax) throw new Error(`dynoxide did not start, ${tries} times: ${said}`);
  }
}

/** `said`: by the engine, when it ended at once. */
export function noTables(dataFile: string, said: string): Fault {
  const [why = said] = said.replace(/^error: /, "").split(/\.(?: |$)/);
  return new Fault(`the tables in ${dataFile} cannot be opened: ${why}; give --data another directory`);
}

/** DynamoDB by dynalite, in this process. */
export async function startDynalite(dataDirectory?: string): Promise<Engine> {
  const { default: dynalite } = await import("dynalite");
  const server = dynalite({
    createTableMs: 0,
    deleteTableMs: 0,
    updateTableMs: 0,
    ...(dataDirectory === undefined ? {} : { path: dataDirectory }),
  });
  const endpoint = await listen(server);
  return {
    endpoint,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((stopped) => {
        server.close(stopped);
      });
    },
  };
}

/** SQS, SNS and S3 by fauxqs, in this process and in memory. Its queue URLs do not resolve: send to the endpoint. */
export async function startFauxqs(): Promise<Engine> {
  const { buildApp } = await import("fauxqs");
  await letEmojiPass();
  const app = buildApp({ logger: false });
  const endpoint = await app.listen({ host, port: 0 });
  return {
    endpoint,
    stop: async () => {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

/**
 * fauxqs looks for what SQS refuses by half characters, and so takes either half of an emoji for one. The pattern is an
 * object that it shares with all of its parts: it is put right there, and unpaired halves are refused as before.
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
 */
async function letEmojiPass(): Promise<void> {
  const types: object = await import(new URL("sqs/sqsTypes.js", import.meta.resolve("fauxqs")).href);
  const pattern = "INVALID_MESSAGE_BODY_CHAR" in types ? types.INVALID_MESSAGE_BODY_CHAR : undefined;
  if (!(pattern instanceof RegExp))
    throw new Error("fauxqs has no INVALID_MESSAGE_BODY_CHAR; see how it checks a body");
  pattern.test = (body) => /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u.test(body);
}

/** The path of dynoxide's binary, where npm could install it. */
export function dynoxideBinary(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("@dynoxide/linux-x64/package.json")), "dynoxide");
  } catch {
    return undefined;
  }
}

/** A port of loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, host);
  await once(server, "listening");
  const { port } = addressOf(server);
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Runs a program that ends with this process, however this process ends: a shell between them reads our end of a pipe,
 * which the kernel closes even after a SIGKILL. A group of its own keeps Ctrl-C from ending it before its users.
 */
function runWhileParentLives(program: string, args: readonly string[]) {
  const whileStdinIsOpen =
    'exec 3<&0; "$@" 3<&- & child=$!; { cat <&3 >/dev/null; kill $child; } 2>/dev/null & wait $child';
  const shell = spawn("/bin/sh", ["-c", whileStdinIsOpen, "sh", program, ...args], {
    detached: true,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let said = "";
  shell.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-saidMax);
  });
  const silent = once(shell.stderr, "close").catch(() => undefined);
  const ended = new Promise<void>((resolve) => {
    shell.once("error", () => {
      resolve();
    });
    shell.once("exit", () => {
      resolve();
    });
  });
  shell.stdin.on("error", () => undefined); // the program may be gone before we say goodbye
  shell.unref();
  if (shell.stderr instanceof Socket) shell.stderr.unref();
  return {
    ended,
    runs: () => shell.pid !== undefined && shell.exitCode === null && shell.signalCode === null,
    /** The last line that it has said of its own trouble, once it has ended. */
    lastWords: async () => {
      await silent;
      return said.trim().split("\n").at(-1) ?? "";
    },
    stop: async () => {
      shell.ref(); // now it is waited for, and may be the last thing that is
      shell.stdin.end();
      await ended;
    },
  };
}

/** Whether the program answers there before it ends or the time is up. */
async function listens(port: number, runs: () => boolean): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < startMsMax && runs(); waitedMs += 5) {
    if (await accepts(port)) return runs();
    await sleep(5);
  }
  return false;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function listen(server: Server): Promise<string> {
  server.listen(0, host);
  await once(server, "listening");
  return `http://${host}:${addressOf(server).port}`;
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
  return address;
}

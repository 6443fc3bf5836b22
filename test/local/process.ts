/** `npm start` as a process of its own, watched from outside. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestContext } from "vitest";

import type { Reply } from "../../lib/core/reply.ts";

export interface Started {
  readonly pid: number;
  /** A directory that goes with the test: its logs, its replies. */
  readonly folder: string;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  /** The exit code; null after a signal that was not handled. */
  readonly ended: Promise<number | null>;
}

const entry = new URL("../../infra/local/start.ts", import.meta.url).pathname;

export function startLocally(
  args: readonly string[],
  finished: TestContext["onTestFinished"],
  env: NodeJS.ProcessEnv = process.env,
): Started {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  const child = spawn(process.execPath, [entry, "--data", folder, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // npm's word of where the tests were started is none of theirs.
    env: { ...env, INIT_CWD: process.cwd() },
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", resolve);
  });
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => (said[stream] += text));
  }
  finished(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    pid: child.pid ?? 0,
    folder,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

/** The JSON line at the end. */
export function resultOf(started: Started): Record<string, unknown> {
  const result: Record<string, unknown> = JSON.parse(started.stdout().trim().split("\n").at(-1) ?? "");
  return result;
}

export function repliesIn(file: string): readonly Reply[] {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line): Reply => JSON.parse(line));
}

export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(20);
}

/** A process and all below it, now. Linux. */
export function familyOf(pid: number): readonly number[] {
  const parents = new Map(readdirSync("/proc").flatMap((name) => parentOf(name)));
  const family = [pid];
  for (const parent of family) {
    for (const [child, its] of parents) if (its === parent) family.push(child);
  }
  return family;
}

function parentOf(name: string): readonly (readonly [pid: number, parent: number])[] {
  if (!/^\d+$/.test(name)) return [];
  try {
    // The command, in parentheses, may hold anything: what follows it does not.
    const stat = readFileSync(`/proc/${name}/stat`, "utf8");
    return [[Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])]];
  } catch {
    return []; // it has just ended
  }
}

/** Zombies are dead: somebody has only not looked yet. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
  } catch {
    return false;
  }
}

/** Local addresses, as /proc writes them in hexadecimal, on which some of these processes listen. */
export function listeningOf(pids: readonly number[]): readonly string[] {
  const sockets = new Set(pids.flatMap((pid) => socketsOf(pid)));
  return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === "0A" && inode !== undefined && sockets.has(inode))
      .map(([, local = ""]) => local.split(":")[0] ?? ""),
  );
}

function socketsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      return inode === undefined ? [] : [inode];
    });
  } catch {
    return [];
  }
}

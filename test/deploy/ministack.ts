/**
 * MiniStack stands in for AWS: CloudFormation, IAM, Lambda and the rest, one process on loopback. It checks rights and
 * TLS-only policies as AWS does (`AUTH`, `USE_SSL`), and runs the deployed bundles in Node processes of their own.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, copyFileSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { promisify } from "node:util";

import { freePort } from "../../infra/local/engines.ts";
import { familyOf, isAlive } from "../local/process.ts";
import { callerOf } from "./call.ts";
import type { Caller } from "./call.ts";
import type { Deploying } from "./deployment.ts";
import { mendTemplate } from "./mend.ts";
import type { Place } from "./place.ts";

const requirements = join(import.meta.dirname, "requirements.txt");
const virtualenv = join(import.meta.dirname, "../../.sluice/ministack");
const startMsMax = 60_000;
const place: Place = { account: "000000000000", region: "us-east-1", stack: "Sluice" };

export interface Ministack extends Deploying {
  readonly endpoint: string;
  readonly place: Place;
  readonly aws: Caller;
  /** For every program that is to see this AWS and no other. */
  readonly env: NodeJS.ProcessEnv;
  /** What it and the functions have said. */
  log(): string;
  /** Ends it and all that it started. */
  stop(): Promise<void>;
}

/** Into a virtualenv of our own, from PyPI, each package at the version that was tried; once, until these change. */
async function install(): Promise<string> {
  const installed = join(virtualenv, "requirements.txt");
  const wanted = readFileSync(requirements, "utf8");
  if (!existsSync(installed) || readFileSync(installed, "utf8") !== wanted) {
    rmSync(virtualenv, { recursive: true, force: true });
    const run = promisify(execFile);
    await run("python3", ["-m", "venv", virtualenv]);
    const quiet = ["--quiet", "--disable-pip-version-check", "--no-input"];
    await run(join(virtualenv, "bin/pip"), ["install", ...quiet, "--no-deps", "--requirement", requirements]);
    copyFileSync(requirements, installed);
  }
  return join(virtualenv, "bin/python");
}

/** A fresh one, with nothing in it. The functions find Bedrock at `bedrock`. */
export async function startMinistack(bedrock: string): Promise<Ministack> {
  const python = await install();
  const home = mkdtempSync(join(tmpdir(), "sluice-deploy-"));
  const port = await freePort();
  const endpoint = `https://127.0.0.1:${port}`;
  const certificate = join(home, "ministack-tls/server.crt");
  // Nothing of the shell's comes along: no profile, no proxy, no key to a real account.
  const common = {
    PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`,
    HOME: home,
    TMPDIR: home,
    NODE_EXTRA_CA_CERTS: certificate,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
  };
  const logFile = join(home, "ministack.log");
  const program = runWhileParentLives([python, "-c", ministack], logFile, home, {
    ...common,
    BIND_HOST: "127.0.0.1",
    MINISTACK_HOST: "127.0.0.1",
    GATEWAY_PORT: String(port),
    AUTH: "true",
    USE_SSL: "1",
    IOT_MTLS_ENABLED: "0",
    SFTP_ENABLED: "0",
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock,
  });
  const log = () => readFileSync(logFile, "utf8");
  try {
    await untilHealthy(endpoint, certificate);
  } catch (error) {
    const said = log();
    await program.stop();
    throw new Error(`MiniStack did not start: ${said.slice(-2_000)}`, { cause: error });
  }
  const env = {
    ...common,
    AWS_CA_BUNDLE: certificate,
    AWS_REGION: place.region,
    AWS_ENDPOINT_URL: endpoint,
    // CDK's command asks S3 by a name of its own, were it not told this one too.
    AWS_ENDPOINT_URL_S3: endpoint,
  };
  const keys = { accessKeyId: common.AWS_ACCESS_KEY_ID, secretAccessKey: common.AWS_SECRET_ACCESS_KEY };
  const aws = callerOf(place.region, async () => keys, endpoint);
  // It has no CodeDeploy.
  const context = ["rollout=none"];
  return { endpoint, place, aws, env, home, context, mend: mendTemplate, log, stop: program.stop };
}

/** It would also take port 443 where it may: a certificate's names are no use to us there. */
const ministack = "from ministack import app; app._port_is_bindable = lambda *_: False; app.main()";

async function untilHealthy(endpoint: string, certificate: string): Promise<void> {
  const untilMs = Date.now() + startMsMax;
  while (!existsSync(certificate)) {
    if (Date.now() > untilMs) throw new Error("it made no certificate; is openssl installed?");
    await sleep(50);
  }
  for (;;) {
    setDefaultCACertificates([...getCACertificates("bundled"), readFileSync(certificate, "utf8")]);
    const health = await fetch(`${endpoint}/_ministack/health`).catch((error: unknown) => error);
    if (health instanceof Response && health.ok) return;
    if (Date.now() > untilMs) throw new Error("it did not answer", { cause: health });
    await sleep(50);
  }
}

/**
 * A program, and whatever it starts, in a process group that ends with this process, however this process ends: a shell
 * reads our end of a pipe, which the kernel closes even after a SIGKILL.
 */
function runWhileParentLives(command: readonly string[], logFile: string, home: string, env: NodeJS.ProcessEnv) {
  const whileStdinIsOpen = `exec 3<&0; "$@" 3<&- & cat <&3 >/dev/null; kill $!; wait $!; rm -rf "$HOME"; kill -KILL 0`;
  const log = openSync(logFile, "a");
  const shell = spawn("/bin/sh", ["-c", whileStdinIsOpen, "sh", ...command], {
    detached: true,
    cwd: home,
    env,
    stdio: ["pipe", log, log],
  });
  closeSync(log);
  const ended = once(shell, "exit");
  return {
    stop: async () => {
      const family = familyOf(shell.pid ?? 0);
      shell.stdin?.end();
      await ended;
      while (family.some(isAlive)) await sleep(20);
    },
  };
}

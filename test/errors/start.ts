import { writeFileSync } from "node:fs";

import { needCredentials } from "../../infra/local/credentials.ts";
import { noTables } from "../../infra/local/engines.ts";
import { directoryRemedy, needDirectory } from "../../infra/local/files.ts";
import { readInput } from "../../infra/local/input.ts";
import { readOptions } from "../../infra/local/options.ts";
import type { Options } from "../../infra/local/options.ts";
import { limited } from "../../infra/local/synth.ts";
import { refusalOf } from "../../infra/local/page/guard.ts";
import { noPort } from "../../infra/local/page/server.ts";
import type { Asking } from "../../infra/local/page/guard.ts";
import { openReplies } from "../../lib/cli/replies-file.ts";
import repositoryConfig from "../../infra/sluice.config.ts";
import { checkConfig } from "../../lib/config.ts";
import { readScript } from "../../lib/memory/bedrock-script.ts";
import type { Entry, Group } from "./entry.ts";
import { inEnvironment, saidOf, thrownBy } from "./entry.ts";

const plain: Options = { json: false, limits: {}, bedrock: "stand-in", environmentsMax: 2, stays: false };

function faultOf(args: string): string {
  const asked = readOptions(args.split(" "));
  if (asked.kind !== "fault") throw new Error(`${args} has no fault`);
  return asked.message;
}

const options: readonly [when: string, args: string, remedy?: string][] = [
  ["An option that there is not; these three are in Node's own words.", "--jsn"],
  ["", "--json=yes", "Leave the value out."],
  ["", "--replies", "Give it one."],
  ["", "--replies="],
  ["", "a.jsonl b.jsonl"],
  ["", "jobs.jsonl --replies jobs.jsonl"],
  ["", "--bedrock gcp"],
  ["The real Bedrock plays no script.", "--bedrock aws --script script.json"],
  ["", "--limit fast-text=3"],
  ["", "--environments none"],
  ["", "--timeout 0"],
  ["", "--stay --exit"],
  ["", "--port 4748 --no-page"],
  ["", "--port 70000"],
];

function written(file: string, text: string): string {
  writeFileSync(file, text);
  return file;
}

const input = (facts: Partial<Options>) => readInput({ ...plain, ...facts }, checkConfig(repositoryConfig), () => {});

const files: readonly Entry[] = [
  ["", () => saidOf((at) => input({ file: at("jobs.jsonl") }))],
  ["", () => saidOf((at) => input({ file: at("") }))],
  ["", () => saidOf((at) => input({ file: written(at("jobs.jsonl"), "\n") }))],
  ["", () => saidOf((at) => openReplies(at("out/replies.jsonl")))],
  ["", () => saidOf((at) => needDirectory(written(at("data"), ""), directoryRemedy({ dataDirectory: "data" })))],
  ["The same without `--data`.", () => saidOf((at) => needDirectory(written(at("logs"), ""), directoryRemedy({})))],
  [
    "What `--data` holds is damaged, or nothing of this service's; the reason is the engine's own.",
    () => noTables("data/tables.sqlite", "error: Database file is not a valid SQLite database.").message,
  ],
  ["No right to it, as to 80; so is the next, where all are taken.", () => noPort("EACCES", 80, 80).message],
  ["", () => noPort("EADDRINUSE", 4_747, 4_766).message],
  [
    "`--limit` for a target that the config does not have.",
    () => thrownBy(() => limited(repositoryConfig, { "fast-text@mars": 3 })),
  ],
  ["", () => inEnvironment(poor, () => thrownBy(needCredentials))],
  ["", () => saidOf((at) => input({ scriptFile: written(at("script.json"), "{") }))],
  [
    "One problem a line, as below.",
    () => saidOf((at) => input({ scriptFile: written(at("script.json"), '{"seed":"a"}') })),
  ],
];

/** Where the SDK finds none, and asks no network for them. */
const poor = {
  AWS_CONFIG_FILE: "/nowhere",
  AWS_SHARED_CREDENTIALS_FILE: "/nowhere",
  AWS_EC2_METADATA_DISABLED: "true",
};

function problemOf(script: unknown): string {
  const read = readScript(script);
  const [problem, ...more] = read.kind === "refused" ? read.problems : [];
  if (problem === undefined || more.length > 0) throw new Error("not one problem");
  return problem;
}

const rule = (facts: object) => ({ rules: [facts] });
const fails = (facts: object) => rule({ do: { kind: "fail", error: "throttled", ...facts } });

const scripts: readonly [when: string, script: unknown, remedy?: string][] = [
  ["A name that is near to one.", { seeds: 1 }],
  ["A name that is near to none.", { colour: "red" }],
  ["", rule({})],
  ["", { seed: "a" }],
  ["", fails({ retryAfter: "" })],
  ["", { limits: [{ modelId: "us.amazon.*", max: -1 }] }],
  ["", rule({ when: { percent: 101 }, do: { kind: "malformed" } })],
  ["", { latency: "slow" }],
  ["", rule({ when: { nth: "2" }, do: { kind: "malformed" } })],
  ["", rule({ do: { kind: "fial" } })],
  ["", fails({ error: "throtled" })],
];

function pageRefusal(asking: Asking): string {
  const refused = refusalOf(asking, 4747);
  if (refused === undefined) throw new Error("the page answers it");
  return refused.message;
}

const host = "127.0.0.1:4747";

const page: readonly Entry[] = [
  [
    "A proxy, or a name that was made to point here.",
    () => pageRefusal({ method: "GET", headers: { host: "sluice.example.com" } }),
  ],
  ["", () => pageRefusal({ method: "PUT", headers: { host } })],
  ["A form of another site, or a shell.", () => pageRefusal({ method: "POST", headers: { host } })],
];

export const startErrors: readonly Group[] = [
  {
    title: "The command line of npm start",
    about: "Told before anything starts; the exit code is 2. `npm start -- --help` has the options.",
    entries: options.map(([when, args, ...remedy]): Entry => [when, () => faultOf(args), ...remedy]),
  },
  {
    title: "Its files, limits, credentials and port",
    about: "Told before any job is sent; the exit code is 2.",
    entries: files,
  },
  { title: "The page", about: "Its answers 403 and 405, as text.", entries: page },
  {
    title: "The script of the stand-in",
    about:
      "Of `--script`: each problem with its place. The format is told at the top of `lib/memory/bedrock-script.ts`.",
    entries: scripts.map(([when, script, ...remedy]): Entry => [when, () => problemOf(script), ...remedy]),
  },
];

/** The command line of `npm start`. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";

import { nearest } from "../../lib/core/nearest.ts";

/** What a person asked for, checked. Paths hold for this process, wherever they were typed. */
export interface Options {
  /** Absent: the samples. */
  readonly file?: string;
  readonly json: boolean;
  readonly repliesFile?: string;
  readonly scriptFile?: string;
  /** `model@target` → how many leases may be out, from the start and at most. */
  readonly limits: Readonly<Record<string, number>>;
  readonly bedrock: "stand-in" | "aws";
  readonly dataDirectory?: string;
  /** The most execution environments a lane. */
  readonly environmentsMax: number;
  /** Unanswered jobs are given up after this. */
  readonly timeoutMs?: number;
  /** Where the page is, or on the next port that is free; 0: on any. Absent: no page. */
  readonly pagePort?: number;
  /** Whether it goes on when all is answered, until somebody ends it. */
  readonly stays: boolean;
}

export type Asked =
  | { readonly kind: "run"; readonly options: Options }
  | { readonly kind: "help" }
  /** `message` says what is wrong and what to do. */
  | { readonly kind: "fault"; readonly message: string };

export const usage = `Runs the whole service on this machine.

  npm start                         run the samples
  npm start -- JOBS.jsonl           run the jobs of a file, one envelope a line

  --json               one JSON line at the end instead of the summary
  --replies OUT.jsonl  write every reply there, one a line
  --limit TARGET=N     at most N requests in flight at a target, as
                       fast-text@us-west-2=3; repeatable. bg and bulk leave
                       one of them to rt, unless there is only one
  --script FILE        what the stand-in for Bedrock does; its format is at the
                       top of lib/memory/bedrock-script.ts
  --bedrock aws        ask the real Bedrock, with this shell's credentials;
                       it is billed
  --data DIR           keep the tables in DIR; queues are always in memory
  --environments N     at most N worker processes a lane (default 2)
  --timeout SECONDS    give up what is unanswered so long after the start of
                       this command
  --port N             where the page is (default 4747), or the next free one
  --no-page            no page
  --stay, --exit       when all is answered, go on for the page's sake, or end;
                       samples on a terminal go on, everything else ends
  --help               this text

Paths are relative to where you type the command.
AWS_ENDPOINT_URL_DYNAMODB, _SQS, _S3 and _BEDROCK_RUNTIME name engines to use
instead of the embedded ones.

kill -USR2 PID kills a worker process in the middle of its work; its jobs come
again within 35 s. Ctrl-C ends everything, twice at once.

Exit code: 0 every job is answered and no lease is left, 1 not so, 2 the command
line, a file or the config is wrong, 130 ended by Ctrl-C, 143 by SIGTERM.
`;

const flags = {
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  replies: { type: "string" },
  script: { type: "string" },
  limit: { type: "string", multiple: true },
  bedrock: { type: "string" },
  data: { type: "string" },
  environments: { type: "string" },
  timeout: { type: "string" },
  port: { type: "string" },
  "no-page": { type: "boolean" },
  stay: { type: "boolean" },
  exit: { type: "boolean" },
} as const;

export const pagePortDefault = 4_747;
const portMax = 65_535;

const environmentsDefault = 2;

/**
 * `typedIn`: the directory that the person was in; npm starts us in the package's own. `isWatched`: whether somebody sits
 * before a terminal, who can end what stays.
 */
export function readOptions(args: readonly string[], typedIn = process.cwd(), isWatched = false): Asked {
  const pathOf = (typed: string) => (typedIn === process.cwd() ? typed : resolve(typedIn, typed));
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options: flags, allowPositionals: true });
  } catch (error) {
    return fault(phrase(error));
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { kind: "help" };

  const empty = Object.entries(values).find(([, value]) => value === "");
  if (empty !== undefined) return fault(`--${empty[0]} needs a value`);
  const [file, surplus] = positionals;
  if (surplus !== undefined) return fault(`one file of jobs at a time; leave out ${surplus}`);
  if (file !== undefined && values.replies !== undefined && resolve(file) === resolve(values.replies))
    return fault(`--replies ${values.replies} would overwrite the jobs; name another file`);
  const { bedrock } = values;
  if (bedrock !== undefined && bedrock !== "aws")
    return fault(
      `--bedrock takes aws; leave it out for the stand-in, or name another endpoint in AWS_ENDPOINT_URL_BEDROCK_RUNTIME`,
    );
  if (bedrock === "aws" && values.script !== undefined)
    return fault("--script is for the stand-in; leave out --bedrock aws");

  const limits: Record<string, number> = {};
  for (const text of values.limit ?? []) {
    const [, target, limit] = /^([^@=]+@[^@=]+)=([1-9]\d*)$/.exec(text) ?? [];
    if (target === undefined)
      return fault(`--limit ${text}: write model@target=N with N from 1, as fast-text@us-west-2=3`);
    limits[target] = Number(limit);
  }
  const environmentsMax = positive(values.environments);
  if (environmentsMax === "wrong") return fault("--environments takes a whole number from 1");
  const timeoutS = positive(values.timeout);
  if (timeoutS === "wrong") return fault("--timeout takes whole seconds from 1");
  const { "no-page": noPage = false, stay = false, exit = false, json = false } = values;
  if (stay && exit) return fault("--stay and --exit exclude each other; leave one out");
  if (noPage && values.port !== undefined) return fault("--port is for the page; leave out --no-page");
  const port = values.port === undefined || values.port === "0" ? Number(values.port ?? NaN) : positive(values.port);
  if (port === "wrong" || (port ?? 0) > portMax) return fault(`--port takes a whole number from 0 to ${portMax}`);
  const pagePort = values.port === undefined ? (noPage || json ? undefined : pagePortDefault) : port;

  return {
    kind: "run",
    options: {
      ...(file === undefined ? {} : { file: pathOf(file) }),
      json,
      ...(pagePort === undefined ? {} : { pagePort }),
      stays: stay || (!exit && !json && isWatched && file === undefined),
      ...(values.replies === undefined ? {} : { repliesFile: pathOf(values.replies) }),
      ...(values.script === undefined ? {} : { scriptFile: pathOf(values.script) }),
      limits,
      bedrock: bedrock ?? "stand-in",
      ...(values.data === undefined ? {} : { dataDirectory: pathOf(values.data) }),
      environmentsMax: environmentsMax ?? environmentsDefault,
      ...(timeoutS === undefined ? {} : { timeoutMs: timeoutS * 1_000 }),
    },
  };
}

function positive(text: string | undefined): number | undefined | "wrong" {
  if (text === undefined) return undefined;
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : "wrong";
}

function fault(message: string): Asked {
  return { kind: "fault", message };
}

/** Node's own words, without its advice about `--` that would mislead behind npm, and what was meant instead. */
function phrase(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const said = text.split(/\. |\n/)[0] ?? text;
  const [, unknown] = /^Unknown option '--([^']+)'/.exec(said) ?? [];
  const meant = unknown === undefined ? undefined : nearest(unknown, Object.keys(flags));
  return meant === undefined ? said : `${said}; did you mean --${meant}?`;
}

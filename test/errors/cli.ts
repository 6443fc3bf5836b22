import { writeFileSync } from "node:fs";
import { createServer } from "node:http";

import type { Command } from "commander";

import { costTables } from "../../infra/cost-table.ts";
import { Cli } from "../../lib/cli/cli.ts";
import { explain } from "../../lib/cli/explain.ts";
import { silenceText } from "../../lib/cli/patience.ts";
import { findPlace } from "../../lib/cli/place.ts";
import { programOf } from "../../lib/cli/program.ts";
import { sendAndHear } from "../../lib/cli/submit-file.ts";
import { Sums } from "../../lib/cli/sums.ts";
import type { Job, Submitted } from "../../lib/client/index.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createMemoryJobTable } from "../../lib/memory/job-table.ts";
import { a } from "../a.ts";
import type { Entry, Group } from "./entry.ts";
import { inEnvironment, saidOf, thrownBy } from "./entry.ts";

const unheard = { write: () => true };

/** A command line, and the error that ends it. */
async function run(args: readonly string[]): Promise<void> {
  const program = programOf(
    async (command, act) => void (await act(new Cli(command.optsWithGlobals(), unheard, unheard))),
  );
  hush(program);
  await inEnvironment({}, () => program.parseAsync([...args], { from: "user" }));
}

function hush(command: Command): void {
  command.configureOutput({ writeErr: () => {} });
  for (const inner of command.commands) hush(inner);
}

const faultOf = (line: string) => thrownBy(() => run(line.split(" ")));

const values = { bgQueueUrl: "https://sqs.us-west-2.amazonaws.com/123456789012/bg", jobTableName: "jobs" };

/** The same, with a file of outputs; a word that begins with `@` is the name of a file beside it. */
function faultWith(line: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  return saidOf((at) => {
    const all = { "outputs.json": JSON.stringify({ Sluice: values }), ...files };
    for (const [name, text] of Object.entries(all)) writeFileSync(at(name), text);
    return run(line.split(" ").map((word) => (word.startsWith("@") ? at(word.slice(1)) : word)));
  });
}

const lines: readonly [when: string, line: string, remedy?: string][] = [
  ["An option that there is not, in the words of the library that reads them; so are the next three.", "jobs --opne"],
  ["", "job-list"],
  ["", "jobs --status done"],
  ["", "jobs --limit many"],
  ["", "pause bulk --for soon"],
  ["", "pause bulk --until 2099-01-01T00:00"],
  ["", "limit fast-text@us-west-2 0"],
  ["", "jobs --open --failed"],
  ["", "pause bulk --for 15m --until 2099-01-01T00:00Z"],
  ["", "parked delete"],
  ["", "jobs --local --stack Sluice"],
  ["So is AWS_ENDPOINT_URL.", "jobs --endpoint localhost:4566"],
  ["", "submit nowhere.jsonl"],
  ["", "cancel order#8812"],
];

const withFiles: readonly [when: string, line: string, files?: Readonly<Record<string, string>>][] = [
  ["", "jobs --outputs @none.json"],
  ["", "jobs --outputs @list.json", { "list.json": "[]" }],
  ["", "jobs --outputs @other.json", { "other.json": "{}" }],
  ["", "jobs --outputs @outputs.json --stack Other"],
  ["", "jobs --outputs @two.json", { "two.json": JSON.stringify({ Sluice: values, Other: values }) }],
  ["", "jobs --outputs @outputs.json --region eu-west-1"],
  [
    "The outputs of another version's stack, or of somebody else's with a table of that name.",
    "pause bulk --outputs @outputs.json --config infra/sluice.config.ts",
  ],
  ["", "pause bulk --outputs @outputs.json --config @none.ts"],
  ["", "pause bulk --outputs @outputs.json --config @config.json", { "config.json": "{" }],
  ["", "pause bulk --outputs @outputs.json --config @config.mjs", { "config.mjs": "export const config = {};" }],
  ["", "pause --until 2001-01-01T00:00Z bulk --outputs @outputs.json --config infra/sluice.config.ts"],
  ["", "limit fast-text@us-west-2 1000 --outputs @outputs.json --config infra/sluice.config.ts"],
  ["", "pause fast-text@us-west --outputs @outputs.json --config infra/sluice.config.ts"],
  ["", "submit @outputs.json --replies @outputs.json"],
  ["", "submit @outputs.json --outputs @outputs.json --replies @none/replies.jsonl"],
];

/** What CloudFormation says of a stack that it does not have. */
async function withoutStack(): Promise<string> {
  const text =
    "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id Sluice does not exist</Message></Error></ErrorResponse>";
  const server = createServer((_request, response) =>
    response.writeHead(400, { "content-type": "text/xml" }).end(text),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const keys = { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local", AWS_REGION: "us-west-2" };
  try {
    return await inEnvironment(keys, () =>
      thrownBy(() => findPlace({ stack: "Sluice", endpoint: `http://127.0.0.1:${port}` })),
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** A service on this machine, as its file tells of it. */
function localFault(pid: number, region: string | undefined): Promise<string> {
  return saidOf((at) => {
    const file = at("local.json");
    writeFileSync(file, JSON.stringify({ outputs: values, endpoints: {}, config: {}, region: "us-west-2", pid }));
    return findPlace({ local: true, ...(region === undefined ? {} : { region }) }, {}, [file]);
  });
}

/** What is told of the jobs of a file, the last of it. */
const toldOf = (...jobs: readonly Job[]) => toldOnceSent([], jobs);

/** The same, where this is what AWS made of them. */
async function toldOnceSent(outcomes: readonly Submitted[], jobs: readonly Job[]): Promise<string> {
  const table = createMemoryJobTable();
  const told: string[] = [];
  async function* read() {
    for (const [place, job] of jobs.entries()) yield { kind: "job", line: place + 1, job } as const;
  }
  const row = a.row({ jobId: "order-8812-summary", contentHash: "another" });
  const sending = {
    lines: read(),
    bytesRead: () => 0,
    file: "jobs.jsonl",
    lane: undefined,
    waits: false,
    stop: () => {},
  };
  await sendAndHear(sending, {
    client: { submitBatch: async () => outcomes },
    jobs: { ...table, readMany: async (ids) => (ids.includes(row.jobId) ? [row] : []) },
    clock: systemClock,
    bucket: undefined,
    sums: new Sums(undefined),
    hearing: {
      refused: (what) => void told.push(what),
      replied: async () => {},
      progress: () => {},
      silence: () => {},
    },
    signal: new AbortController().signal,
  });
  return told.at(-1) ?? "";
}

const job = (facts: { readonly jobId?: string; readonly operation?: string }): Job => ({
  jobId: "order-8812-summary",
  model: "fast-text",
  op: "converse",
  params: { messages: [] },
  ...facts,
});

const sending: readonly Entry[] = [
  ["", () => toldOf(job({ jobId: "order-8813" }), job({ jobId: "order-8813", operation: "other" }))],
  ["The deployment has a job of that id already.", () => toldOf(job({}))],
  [
    "SQS did not take it, or the client refused it, with the reason.",
    () =>
      toldOnceSent(
        [{ kind: "failed", index: 0, jobId: "order-8814", name: "AccessDenied" }],
        [job({ jobId: "order-8814" })],
      ),
    "Once the reason is gone, the same command sends what is missing.",
  ],
];

/** An error of AWS, in the two lines that it is told in. */
function explained(name: string, message = ""): () => string {
  return () => {
    const { what, remedy } = explain(Object.assign(new Error(message), { name }));
    return `${what}: ${remedy}`;
  };
}

const refusals: readonly Entry[] = [
  ["", explained("CredentialsProviderError")],
  ["", explained("ExpiredTokenException")],
  ["", explained("UnrecognizedClientException")],
  ["", explained("RequestTimeTooSkewed")],
  ["", explained("AccessDeniedException", "User is not authorized to perform: sqs:SendMessage")],
  ["", explained("Error", "Region is missing")],
  ["", explained("QueueDoesNotExist")],
  ["", explained("ResourceNotFoundException")],
  ["", explained("TimeoutError", "connect ECONNREFUSED 127.0.0.1:8000")],
  ["", explained("ThrottlingException")],
  ["", explained("Error", "ENOSPC: no space left on device, write")],
  [
    "`submit` alone, of what may pass: it goes on when the table answers again, and ends after a minute.",
    () => silenceText(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })),
    "Wait; where it ended, the same command picks up again.",
  ],
  ["Anything else.", explained("InternalServerError", "The request failed")],
];

const costs = (line: string) => () => thrownBy(() => costTables(line.split(" ")));

export const cliErrors: readonly Group[] = [
  {
    title: "npx sluice",
    about: "On stderr, with exit code 2: nothing was done. `npx sluice COMMAND --help` has the options.",
    entries: [
      ...lines.map(([when, line, ...remedy]): Entry => [when, () => faultOf(line), ...remedy]),
      ...withFiles.map(([when, line, files]): Entry => [when, () => faultWith(line, files)]),
      ["", withoutStack],
      ["", () => inEnvironment({}, () => thrownBy(() => findPlace({ local: true }, {}, [])))],
      ["Its process was killed.", () => localFault(999_999_999, undefined)],
      ["", () => localFault(process.pid, "eu-west-1")],
    ],
  },
  {
    title: "Jobs that npx sluice submit does not send",
    about:
      "On stderr, beside what [a file of jobs](#a-file-of-jobs) may have; the others are sent, and the exit code is 1.",
    entries: sending,
  },
  {
    title: "What AWS refuses npx sluice",
    about: "Two lines, what and what to do, with exit code 1. `--debug` adds where it comes from.",
    entries: refusals,
  },
  {
    title: "npm run cost",
    about: "",
    entries: [
      ["", costs("--lane fast")],
      ["", costs("--step fast-text@mars")],
      ["", costs("--in none")],
    ],
  },
];

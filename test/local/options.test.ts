import { describe, expect, test } from "vitest";

import { readOptions, usage } from "../../infra/local/options.ts";
import type { Options } from "../../infra/local/options.ts";

const plain: Options = {
  json: false,
  limits: {},
  bedrock: "stand-in",
  environmentsMax: 2,
  pagePort: 4_747,
  stays: false,
};

const good: [says: string, args: string, options: Partial<Options>][] = [
  ["nothing means the samples", "", {}],
  ["a file is run instead", "jobs.jsonl", { file: "jobs.jsonl" }],
  [
    "flags may stand before and after it",
    "--timeout 9 jobs.jsonl --replies out.jsonl",
    { timeoutMs: 9_000, file: "jobs.jsonl", repliesFile: "out.jsonl" },
  ],
  ["the page is where it is asked for", "--port 8080", { pagePort: 8_080 }],
  ["or wherever there is room", "--port 0", { pagePort: 0 }],
  ["it is made for a program only if it is asked for", "--json --port 8080", { json: true, pagePort: 8_080 }],
  ["the service stays if it is asked to, whatever it runs", "--stay jobs.jsonl", { stays: true, file: "jobs.jsonl" }],
  ["limits add up", "--limit a@x=3 --limit b@y=1", { limits: { "a@x": 3, "b@y": 1 } }],
  ["seconds become ms", "--timeout 30", { timeoutMs: 30_000 }],
  ["the real Bedrock is asked for by name", "--bedrock aws", { bedrock: "aws" }],
  [
    "the rest is taken as it is",
    "--script s.json --data d --environments 4",
    { scriptFile: "s.json", dataDirectory: "d", environmentsMax: 4 },
  ],
];
const bad: [args: string, says: string][] = [
  ["--jsn", "Unknown option '--jsn'; did you mean --json?"],
  ["--limt x=1", "Unknown option '--limt'; did you mean --limit?"],
  ["--nopage", "did you mean --no-page?"],
  ["--replies", "argument missing"],
  ["--replies=", "--replies needs a value"],
  ["--json=yes", "does not take an argument"],
  ["a.jsonl b.jsonl", "leave out b.jsonl"],
  ["a.jsonl --replies ./a.jsonl", "would overwrite the jobs; name another file"],
  ["--limit fast-text=3", "write model@target=N"],
  ["--limit fast-text@us-west-2=0", "N from 1"],
  ["--limit fast-text@us-west-2=1.5", "N from 1"],
  ["--bedrock gcp", "--bedrock takes aws"],
  ["--bedrock aws --script s.json", "leave out --bedrock aws"],
  ["--environments none", "whole number from 1"],
  ["--timeout 0", "whole seconds from 1"],
  ["--port 65536", "whole number from 0 to 65535"],
  ["--port page", "whole number from 0 to 65535"],
  ["--port 8080 --no-page", "leave out --no-page"],
  ["--stay --exit", "exclude each other"],
];

describe("the command line of npm start", () => {
  test.each(good)("%s", (_says, args, options) =>
    expect(readOptions(words(args))).toEqual({ kind: "run", options: { ...plain, ...options } }),
  );

  test.each(bad)("%s is refused with the remedy", (args, says) => {
    expect(readOptions(words(args))).toEqual({ kind: "fault", message: expect.stringContaining(says) });
  });

  test.each([["--no-page"], ["--json"]])("there is no page with %s", (args) =>
    expect(readOptions([args])).toMatchObject({
      options: expect.not.objectContaining({ pagePort: expect.anything() }),
    }),
  );

  describe("with somebody before a terminal", () => {
    test.each<[args: string, stays: boolean]>([
      ["", true],
      ["--exit", false],
      ["--json", false],
      ["jobs.jsonl", false],
      ["jobs.jsonl --stay", true],
    ])("%s: stays %s", (args, stays) =>
      expect(readOptions(words(args), process.cwd(), true)).toMatchObject({ options: { stays } }),
    );
  });

  test("paths are meant from where they were typed, whichever directory npm starts the program in", () => {
    const args = words("jobs.jsonl --replies out.jsonl --script /s.json --data ../d");
    expect(readOptions(args, "/home/ada")).toMatchObject({
      options: {
        file: "/home/ada/jobs.jsonl",
        repliesFile: "/home/ada/out.jsonl",
        scriptFile: "/s.json",
        dataDirectory: "/home/d",
      },
    });
  });

  test("an option that is near to none is told without a guess", () =>
    expect(readOptions(["--frobnicate"])).toEqual({ kind: "fault", message: "Unknown option '--frobnicate'" }));

  test("help is given, whatever else is asked", () =>
    expect(readOptions(["--help", "--json"])).toEqual({ kind: "help" }));

  test("help fits into 80 columns", () => expect(usage.split("\n").filter((line) => line.length > 80)).toEqual([]));
});

function words(args: string): readonly string[] {
  return args.split(" ").filter(Boolean);
}

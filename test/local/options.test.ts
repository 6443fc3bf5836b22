import { describe, expect, test } from "vitest";

import { readOptions, usage } from "../../infra/local/options.ts";
import type { Options } from "../../infra/local/options.ts";

const plain: Options = { json: false, limits: {}, bedrock: "stand-in", environmentsMax: 2 };

const good: [says: string, args: string, options: Partial<Options>][] = [
  ["nothing means the samples", "", {}],
  ["a file is run instead", "jobs.jsonl", { file: "jobs.jsonl" }],
  [
    "flags may stand before and after it",
    "--json jobs.jsonl --replies out.jsonl",
    { json: true, file: "jobs.jsonl", repliesFile: "out.jsonl" },
  ],
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
  ["--jsn", "Unknown option '--jsn'"],
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
];

describe("the command line of npm start", () => {
  test.each(good)("%s", (_says, args, options) =>
    expect(readOptions(words(args))).toEqual({ kind: "run", options: { ...plain, ...options } }),
  );

  test.each(bad)("%s is refused with the remedy", (args, says) => {
    expect(readOptions(words(args))).toEqual({ kind: "fault", message: expect.stringContaining(says) });
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

  test("help is given, whatever else is asked", () =>
    expect(readOptions(["--help", "--json"])).toEqual({ kind: "help" }));

  test("help fits into 80 columns", () => expect(usage.split("\n").filter((line) => line.length > 80)).toEqual([]));
});

function words(args: string): readonly string[] {
  return args.split(" ").filter(Boolean);
}

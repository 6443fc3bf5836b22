import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";

import { job, write } from "./files.ts";
import { temporaryFolder } from "../temporary.ts";
import { familyOf, isAlive, listeningOf, repliesIn, resultOf, startLocally, until } from "./process.ts";

/** Linux has a disk that is always full; elsewhere there is none to try it on. */
const full = "/dev/full";
const linux = process.platform === "linux";
/** 127.0.0.1 as /proc writes it. */
const loopback = "0100007F";

const folder = temporaryFolder("files");
const file = (name: string, lines: readonly unknown[]) => write(folder, name, lines);

describe.concurrent("npm start", { timeout: 120_000 }, () => {
  test("answers each sample once, with everything returned, on loopback alone, and leaves no process", async ({
    expect,
    onTestFinished,
  }) => {
    const replies = join(folder, "samples.jsonl");
    const started = startLocally(["--json", "--replies", replies], onTestFinished);
    await until(() => started.stderr().includes("succeeded"));
    const family = linux ? familyOf(started.pid) : [];
    const addresses = linux ? listeningOf(family) : [];
    expect(await started.ended).toBe(0);

    expect(resultOf(started)).toMatchObject({
      jobs: 11,
      messages: 13,
      succeeded: 6,
      failed: 3,
      expired: 1,
      cancelled: 1,
      refused: 1,
      parked: 1,
      unanswered: 0,
      notSent: 0,
      bedrockRequests: 11,
      leasesLeft: 0,
      codes: { invalid_envelope: 1, model_not_configured: 1, provider_error: 1, deadline_exceeded: 1, cancelled: 1 },
    });
    const typo = repliesIn(replies).find(({ jobId }) => jobId === "typo");
    expect(typo).toMatchObject({
      error: { message: "lan is no field; did you mean lane? Mend it, and send the job under another jobId." },
    });
    if (!linux) return;
    // DynamoDB, SQS with S3, Bedrock.
    expect(addresses).toEqual([loopback, loopback, loopback]);
    expect(family.length).toBeGreaterThan(3);
    expect(family.filter((pid) => isAlive(pid))).toEqual([]);
  });

  test("runs a file: bad lines are named and the others run, copies are one job, a limit is kept", async ({
    expect,
    onTestFinished,
  }) => {
    const replies = join(folder, "replies.jsonl");
    const names = ["a-1", "a-2", "a-3", "a-4", "a-5", "a-6"];
    const pinned = { model: "fast-text@us-west-2", fallback: "none" };
    const started = startLocally(
      [
        "--json",
        file("jobs.jsonl", [
          ...names.map((name) => job(name, pinned)),
          "{ not json",
          job("a-1", pinned),
          "",
          job("typo", { lan: "rt" }),
          job("urgent", { lane: "rt" }),
          job("a-2", { ...pinned, model: "smart-text" }),
        ]),
        "--script",
        file("script.json", ['{"latency": 200}']),
        "--limit",
        "fast-text@us-west-2=3",
        "--replies",
        replies,
      ],
      onTestFinished,
    );
    expect(await started.ended).toBe(0);
    expect(started.stderr()).toMatch(/jobs\.jsonl:7: line is not JSON/);
    expect(started.stderr()).toMatch(/jobs\.jsonl:10: lan is no field/);
    expect(resultOf(started)).toMatchObject({ jobs: 7, succeeded: 7, refused: 3, unanswered: 0, leasesLeft: 0 });
    // Seven would be in flight without it; bg alone fills two of the three, rt all.
    const { "fast-text@us-west-2": most } = { ...Object(resultOf(started)["maxInFlight"]) };
    expect([2, 3]).toContain(most);
    expect(
      repliesIn(replies)
        .map(({ jobId }) => jobId)
        .toSorted(),
    ).toEqual([...names, "urgent"]);
  });

  test.runIf(existsSync(full))(
    "ends with 2 and a word when the disk has no room for the replies",
    async ({ expect, onTestFinished }) => {
      const jobs = file("full.jsonl", [job("b-1"), job("b-2")]);
      const started = startLocally([jobs, "--json", "--replies", full], onTestFinished);
      expect(await started.ended).toBe(2);
      expect(started.stderr()).toContain(`--replies ${full} cannot be written (ENOSPC); check its directory`);
      expect(started.stderr()).not.toContain("    at ");
    },
  );

  test("does not write replies over the jobs, by whatever name", async ({ expect, onTestFinished }) => {
    const jobs = file("same.jsonl", [job("c-1")]);
    symlinkSync(jobs, join(folder, "link.jsonl"));
    const started = startLocally([jobs, "--replies", join(folder, "link.jsonl")], onTestFinished);
    expect(await started.ended).toBe(2);
    expect(started.stderr()).toContain("link.jsonl would overwrite the jobs; name another file");
    expect(readFileSync(jobs, "utf8")).toContain("c-1");
  });

  test("asks the real Bedrock only with credentials, and says what to set", async ({ expect, onTestFinished }) => {
    const { PATH } = process.env;
    const bare = { PATH, HOME: folder, AWS_EC2_METADATA_DISABLED: "true" };
    const started = startLocally(["--bedrock", "aws"], onTestFinished, bare);
    expect(await started.ended).toBe(2);
    expect(started.stderr()).toMatch(/^--bedrock aws finds no AWS credentials .*; set AWS_PROFILE .*\n$/);
  });

  test.for<[string[], string]>([
    [["--jsn"], "Unknown option '--jsn'"],
    [["nowhere.jsonl"], "nowhere.jsonl cannot be read; check the path"],
    [["infra"], "infra is a directory; name a file"],
    [["--replies", "nowhere/replies.jsonl"], "nowhere/replies.jsonl cannot be written (ENOENT)"],
    [["--replies", "infra"], "--replies infra cannot be written (EISDIR)"],
    [["--data", "README.md"], "README.md cannot be written as a directory (EEXIST); give --data another one"],
    [["/dev/null"], "/dev/null holds no job"],
    [["--limit", "fast-text@mars=1"], "no target fast-text@mars in the config"],
  ])("ends with 2 and the remedy on %j", async ([args, says], { expect, onTestFinished }) => {
    const started = startLocally(args, onTestFinished);
    expect(await started.ended).toBe(2);
    expect(started.stderr()).toContain(says);
    expect(started.stderr()).not.toContain("    at ");
    expect(started.stderr()).not.toContain("ready in");
  });
});

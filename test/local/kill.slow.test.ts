import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";

import { repliesIn, resultOf, startLocally, until } from "./process.ts";

/** Two batches of the bg lane: one dies, one lives. */
const names = Array.from({ length: 10 }, (_, n) => `job-${n}`);

function job(jobId: string): string {
  const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
  return JSON.stringify({ jobId, model: "fast-text", op: "converse", params });
}

/** The claim must lapse, 30 s, and SQS show the messages again, 5 s later; then the killed worker's leases have lapsed too. */
describe("a worker that is killed while Bedrock answers", { timeout: 150_000 }, () => {
  test("leaves each of its jobs one reply, asked for again, and no lease", async ({ expect, onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-kill-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "jobs.jsonl"), names.map((name) => job(name)).join("\n"));
    await writeFile(join(folder, "script.json"), '{"latency": 5000}');

    const files = [join(folder, "jobs.jsonl"), "--script", join(folder, "script.json")];
    const replies = join(folder, "replies.jsonl");
    const started = startLocally(["--json", ...files, "--replies", replies], onTestFinished);
    await until(() => started.stderr().includes("job-0 waiting"));
    started.kill("SIGUSR2");
    expect(await started.ended).toBe(0);

    expect(started.stderr()).toContain("one worker was killed");
    const result = resultOf(started);
    expect(result).toMatchObject({ jobs: 10, succeeded: 10, unanswered: 0, leasesLeft: 0, workers: { died: 1 } });
    expect(
      repliesIn(replies)
        .map(({ jobId }) => jobId)
        .toSorted(),
    ).toEqual(names.toSorted());
    const again = repliesIn(replies).filter(({ meta }) => meta.deliveries > 1);
    expect(again.length).toBeGreaterThan(0);
    expect(result["bedrockRequests"]).toBe(names.length + again.length);
  });
});

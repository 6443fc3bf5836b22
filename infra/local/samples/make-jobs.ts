/** Writes `jobs.jsonl`: 200 jobs in three lanes for two models, eight of them sent twice. Run it with node. */
import { writeFileSync } from "node:fs";

import type { Job } from "../../../lib/client/index.ts";

const jobsCount = 200;
/** Every so many jobs, one comes a second time, some lines later. */
const twiceEvery = 25;
const secondComesAfter = 7;

const tasks = [
  { operation: "summarise", prompt: "Summarise the complaint of order" },
  { operation: "classify", prompt: "Is this urgent, normal or spam? Ticket" },
  { operation: "translate", prompt: "Translate into Danish the note on order" },
  { operation: "reply", prompt: "Draft a polite reply to the customer of order" },
] as const;

function jobNumber(n: number): Job {
  const { operation, prompt } = tasks[n % tasks.length] ?? tasks[0];
  const number = 8_000 + n;
  return {
    jobId: `order-${number}-${operation}`,
    model: n % 4 === 3 ? "smart-text" : "fast-text",
    op: n % 10 === 0 ? "converse_stream" : "converse",
    // Somebody waits for few of them, most are for soon, the rest is for the night.
    lane: n % 8 === 0 ? "rt" : n % 8 < 5 ? "bg" : "bulk",
    params: {
      messages: [{ role: "user", content: [{ text: `${prompt} ${number}.` }] }],
      inferenceConfig: { maxTokens: 300 },
    },
    metadata: { task: operation },
  };
}

/** All lines of the file, in their order. */
export function sampleJobs(): readonly Job[] {
  const jobs: Job[] = [];
  for (let n = 0; n < jobsCount; n++) {
    jobs.push(jobNumber(n));
    const before = n - secondComesAfter;
    if (before >= 0 && before % twiceEvery === 0) jobs.push(jobNumber(before));
  }
  return jobs;
}

if (import.meta.main) {
  const lines = sampleJobs().map((job) => `${JSON.stringify(job)}\n`);
  writeFileSync(new URL("jobs.jsonl", import.meta.url), lines.join(""));
}

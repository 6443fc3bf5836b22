/** Files for runs of the local service, in a folder of the test file's own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes what is no text as JSON; answers the path. */
export function write(folder: string, name: string, lines: readonly unknown[]): string {
  const path = join(folder, name);
  writeFileSync(path, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return path;
}

export function job(jobId: string, facts: object = {}) {
  const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
  return { jobId, model: "fast-text", op: "converse", params, ...facts };
}

/** Files for runs of the local service, in a folder of the test file's own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

export function folderForTests(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-files-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}

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

/** Folders of a test file's own, which go with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made = new Set<string>();

/** A new folder, gone when the test file is over. */
export function temporaryFolder(noun: string): string {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${noun}-`));
  made.add(folder);
  return folder;
}

/** Those of all files that this thread has run. */
export function removeTemporary(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
  made.clear();
}

/** Mutants that do not compile are none: the compiler notices them before any test. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mutant } from "./mutate.ts";
import { textWith } from "./mutate.ts";

/** The ids of those that the compiler refuses: each lies as a file of its own beside the files that it imports. */
export async function refused(
  root: string,
  mutants: ReadonlyMap<string, readonly Mutant[]>,
): Promise<ReadonlySet<string>> {
  const directory = mkdtempSync(join(tmpdir(), "mutants-"));
  try {
    cpSync(join(root, "lib/core"), directory, { recursive: true });
    for (const [text, ofText] of mutants)
      for (const { id, edit } of ofText) writeFileSync(join(directory, `${id}.ts`), textWith(text, edit));
    const compilerOptions = {
      noUnusedLocals: false,
      noUnusedParameters: false,
      rootDir: directory,
      typeRoots: [join(root, "node_modules/@types")],
    };
    const project = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
    writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
    writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(project));
    const found = problems(root, directory);
    if (/^[^#\s]+\(/m.test(found)) throw new Error(`without a mutant it does not compile:\n${found}`);
    return new Set([...found.matchAll(/^(\S+#\d+)\.ts\(/gm)].map(([, id = ""]) => id));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function problems(root: string, directory: string): string {
  try {
    return execFileSync(join(root, "node_modules/.bin/tsc"), ["--project", directory, "--pretty", "false"], {
      cwd: directory,
      encoding: "utf8",
      maxBuffer: 1e9,
    });
  } catch (error) {
    if (error instanceof Error && "stdout" in error && typeof error.stdout === "string") return error.stdout;
    throw error;
  }
}

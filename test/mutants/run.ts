/**
 * Whether the tests notice a slip of the hand in the core: each file is tried with every mutant of it. `npm run mutants`
 * for all, `npm run mutants -- rate limit` for some. Prints who survived, and a table; ends with 1 below the score.
 */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createVitest } from "vitest/node";
import { excuses, excusesIn, wordsOf } from "./excuses.ts";
import { mutantsOf, switched } from "./mutate.ts";
import type { Mutant } from "./mutate.ts";
import { refused } from "./types.ts";

/** Of those that compile. */
const scoreMin = 0.95;
const root = join(import.meta.dirname, "../..");

/** Tests that hold a file of the core without bearing its name. */
const alsoHolds: Readonly<Record<string, readonly string[]>> = {
  "test/config.test.ts": ["config", "config-problems", "model-id"],
  "test/core/envelope.test.ts": ["json", "nearest", "s3-place"],
  "test/core/exhausted.test.ts": ["chain-error", "endings", "hope"],
  "test/core/job.test.ts": ["lane"],
  "test/core/measure.test.ts": ["metrics"],
};

interface File {
  readonly noun: string;
  readonly text: string;
  /** Those that nobody has noticed yet. */
  alive: readonly Mutant[];
  /** How many each round has noticed. */
  readonly noticed: number[];
}

const asked = process.argv.slice(2);
const files: readonly File[] = globSync("lib/core/*.ts", { cwd: root })
  .toSorted()
  .map((path) => ({ noun: basename(path, ".ts"), text: readFileSync(join(root, path), "utf8") }))
  .filter(({ noun }) => asked.length === 0 || asked.includes(noun))
  .map(({ noun, text }) => ({ noun, text, alive: mutantsOf(noun, text), noticed: [] }))
  .filter(({ alive }) => alive.length > 0);

/** Who is asked, one after the other: what has been noticed is not tried again. */
const rounds: readonly { readonly by: string; readonly ask: () => Promise<ReadonlySet<string>> }[] = [
  { by: "their own tests", ask: () => noticedBy(Object.keys(ownTests()), ownTests()) },
  { by: "the compiler", ask: () => refused(root, new Map(files.map(({ text, alive }) => [text, alive]))) },
  { by: "the core's other tests", ask: () => noticedBy([...Object.keys(alsoHolds), "test/core/*.test.ts"]) },
];

for (const { by, ask } of rounds) {
  const [before, beganMs] = [aliveNow(), Date.now()];
  const noticed = before === 0 ? new Set() : await ask();
  for (const file of files) {
    const left = file.alive.filter(({ id }) => !noticed.has(id));
    file.noticed.push(file.alive.length - left.length);
    file.alive = left;
  }
  console.log(
    `${before - aliveNow()} of ${before} noticed by ${by}, in ${Math.round((Date.now() - beganMs) / 1_000)} s`,
  );
}
process.exitCode = report() ? 0 : 1;

function aliveNow(): number {
  return files.reduce((sum, { alive }) => sum + alive.length, 0);
}

/** By test file: the files of the core that it holds. */
function ownTests(): Readonly<Record<string, readonly string[]>> {
  const tests = [...globSync("test/core/*.test.ts", { cwd: root }), ...Object.keys(alsoHolds)];
  const nouns = new Set(files.map(({ noun }) => noun));
  return Object.fromEntries(
    tests
      .map(
        (path) =>
          [path, [basename(path, ".test.ts"), ...(alsoHolds[path] ?? [])].filter((noun) => nouns.has(noun))] as const,
      )
      .filter(([, held]) => held.length > 0),
  );
}

/** The ids of the mutants under which one of these tests fails, or does not end. */
async function noticedBy(
  tests: readonly string[],
  nouns?: Readonly<Record<string, readonly string[]>>,
): Promise<Set<string>> {
  const byPath = new Map(files.map((file) => [join(root, `lib/core/${file.noun}.ts`), file]));
  const vitest = await createVitest(
    {
      root,
      config: false,
      watch: false,
      exclude: ["**/*.slow.test.ts"],
      include: [...tests],
      provide: { ...(nouns && { nouns }) },
      runner: join(import.meta.dirname, "runner.ts"),
      // It would know a file by its text on disk, and serve it with the mutants of another run.
      fsModuleCache: false,
      pool: "threads",
      reporters: [{}],
      testTimeout: 3_600_000,
      // A mutant may leave behind what nobody waits for.
      dangerouslyIgnoreUnhandledErrors: true,
    },
    {
      plugins: [
        {
          name: "mutants",
          enforce: "pre",
          transform: (_code, id) => {
            const file = byPath.get(id.replace(/\?.*/, ""));
            return file && { code: switched(file.text, file.alive), map: null };
          },
        },
      ],
    },
  );
  try {
    const { testModules } = await vitest.start();
    const failed = testModules.filter((module) => !module.ok());
    if (failed.length > 0)
      throw new Error(`these fail without a mutant: ${failed.map(({ moduleId }) => moduleId).join(", ")}`);
    return new Set(
      testModules.flatMap((module) => [...module.children.tests()].flatMap((it) => it.meta().noticed ?? [])),
    );
  } finally {
    await vitest.close();
  }
}

/** Prints who survived and a row for each file; whether all is well. */
function report(): boolean {
  const rows = files.map(({ noun, text, alive, noticed: [own = 0, , others = 0] }) => {
    const said = excusesIn(text);
    const idle = said.filter((excuse) => !alive.some((mutant) => excuses(excuse, text, mutant)));
    const survived = alive.filter((mutant) => !said.some((excuse) => excuses(excuse, text, mutant)));
    for (const mutant of survived) console.log(`lib/core/${noun}.ts:${mutant.line} ${wordsOf(text, mutant)}`);
    for (const { line, words } of idle) console.log(`lib/core/${noun}.ts:${line} excuses nobody: ${words}`);
    const counts: Counts = { own, others, excused: alive.length - survived.length, survived: survived.length };
    return { noun, counts, idle: idle.length };
  });
  const total = (column: keyof Counts) => rows.reduce((sum, { counts }) => sum + counts[column], 0);
  const all: Counts = {
    own: total("own"),
    others: total("others"),
    excused: total("excused"),
    survived: total("survived"),
  };
  console.log("\nnoticed by its own tests, by the core's others; excused; not noticed; score");
  for (const { noun, counts } of [...rows, { noun: "all", counts: all }]) {
    const cells = Object.values(counts).map((count) => String(count).padStart(6));
    console.log(`${noun.padEnd(16)}${cells.join("")}${(100 * scoreOf(counts)).toFixed(1).padStart(8)} %`);
  }
  return scoreOf(all) >= scoreMin && rows.every(({ idle }) => idle === 0);
}

interface Counts {
  readonly own: number;
  readonly others: number;
  readonly excused: number;
  readonly survived: number;
}

/** Who is excused was not noticed either. */
function scoreOf({ own, others, excused, survived }: Counts): number {
  const all = own + others + excused + survived;
  return all === 0 ? 1 : (own + others) / all;
}

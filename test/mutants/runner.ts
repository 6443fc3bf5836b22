/**
 * Runs the tests of a file as they are, and sees which mutants each of them meets; then, as a last test, runs them again
 * for every mutant until one fails, the quickest first. What is evaluated when a file is loaded is met before any test:
 * for those mutants the whole test file is loaded anew.
 */
import { relative } from "node:path";
import { configureGlobal } from "fast-check";
import { TestRunner, describe, inject, test, vi } from "vitest";
import type { RunnerTestCase, VitestTestRunner } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** By test file, the files of the core whose mutants it is asked for; absent: it is asked for all that it meets. */
    nouns?: Readonly<Record<string, readonly string[]>>;
  }
  interface TaskMeta {
    /** The ids of the mutants that the tests of a file have noticed. */
    noticed?: readonly string[];
  }
}

declare global {
  /** What the mutants in a file ask: whether it is their turn. */
  var mutant: (id: string) => boolean;
}

/** In a mutant's place: a test that fails here does not pass twice, and can tell nothing. */
const nobody = "nobody";

let awake = nobody;
let met = new Set<string>();
let steps = 0;
let stepsMax = Infinity;

globalThis.mutant = (id) => {
  met.add(id);
  if (++steps > stepsMax) throw new Error("goes on for ever");
  return id === awake;
};

// The first failure is enough, and the same dice each time notice the same mutants.
configureGlobal({ seed: 1, endOnFailure: true });

type Run = () => unknown;

/** What a run does without a mutant. */
interface Usual {
  readonly met: ReadonlySet<string>;
  readonly steps: number;
  readonly tookMs: number;
}

async function usually(run: Run): Promise<Usual> {
  met = new Set();
  [awake, steps, stepsMax] = [nobody, 0, Infinity];
  const beganMs = performance.now();
  await run();
  return { met, steps, tookMs: performance.now() - beganMs };
}

/** Whether it fails with this mutant, or does not end: far beyond what it takes without. */
async function fails(run: Run, id: string, usual: Usual): Promise<boolean> {
  [awake, steps, stepsMax] = [id, 0, 10 * usual.steps + 10_000];
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("does not end")), 20 * usual.tookMs + 5_000);
  try {
    await Promise.race([run(), late.promise]);
    return false;
  } catch {
    return true;
  } finally {
    clearTimeout(timer);
    [awake, stepsMax] = [nobody, Infinity];
  }
}

export default class MutantRunner extends TestRunner {
  /** The tests of the file, in its order. */
  readonly #tests: (Usual & { readonly run: Run })[] = [];
  /** The same in the same order, by the mutant with which the file was loaded. */
  readonly #loaded = new Map<string, Run[]>();
  readonly #noticed = new Set<string>();

  override async importFile(path: string, source: Parameters<VitestTestRunner["importFile"]>[1]): Promise<void> {
    const load = () => super.importFile(path, source);
    const nouns = inject("nouns")?.[relative(this.config.root, path)];
    const isSought = (id: string) => nouns === undefined || nouns.includes(id.replace(/#.*/, ""));
    const usual = await usually(load);
    // A load for each is dear: it is left to the tests that are asked for these files by name.
    const atLoad = nouns === undefined ? [] : [...usual.met].filter(isSought);
    /* oxlint-disable vitest/expect-expect, vitest/valid-title -- these tests carry others' to their runs, and have names of mutants */
    for (const id of atLoad.length === 0 ? [] : [nobody, ...atLoad]) {
      this.#loaded.set(id, []);
      describe(id, async () => {
        vi.resetModules();
        if (await fails(load, id, usual)) this.#noticed.add(id);
        test("was loaded", () => undefined);
      });
    }
    test(nobody, async ({ task }) => {
      await this.#tryAll(isSought);
      task.meta.noticed = [...this.#noticed];
    });
    /* oxlint-enable vitest/expect-expect, vitest/valid-title */
  }

  async runTask(task: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(task);
    if (task.name === nobody) {
      await run();
      return;
    }
    const loaded = this.#loaded.get(outermost(task).name);
    if (loaded === undefined) this.#tests.push({ run, ...(await usually(run)) });
    else loaded.push(run);
  }

  async #tryAll(isSought: (id: string) => boolean): Promise<void> {
    const quickestFirst = [...this.#tests.entries()].sort(([, a], [, b]) => a.steps - b.steps || a.tookMs - b.tookMs);
    for (const [, { run, ...usual }] of quickestFirst) {
      const noticed = await this.#try([...usual.met].filter(isSought), () => run, usual);
      if (noticed && (await fails(run, nobody, usual))) throw new Error("a test does not pass twice");
    }
    for (const [index, usual] of quickestFirst)
      await this.#try([...this.#loaded.keys()], (id) => this.#loaded.get(id)?.[index], usual);
    if (this.#noticed.has(nobody)) throw new Error("a test does not pass when its file is loaded twice");
  }

  /** Whether any was noticed. */
  async #try(ids: readonly string[], runOf: (id: string) => Run | undefined, usual: Usual): Promise<boolean> {
    const before = this.#noticed.size;
    for (const id of ids) {
      const run = this.#noticed.has(id) ? undefined : runOf(id);
      if (run !== undefined && (await fails(run, id, usual))) this.#noticed.add(id);
    }
    return this.#noticed.size > before;
  }
}

function outermost(task: RunnerTestCase): { readonly name: string } {
  let outer: { readonly name: string } = task;
  for (let suite = task.suite; suite !== undefined; suite = suite.suite) outer = suite;
  return outer;
}

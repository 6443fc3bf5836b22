import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const elsewhere = [
  "test/**/*.slow.test.ts",
  "test/**/*.chaos.test.ts",
  "test/**/*.deploy.test.ts",
  "test/**/*.browser.test.ts",
  "test/bench/**",
  "**/node_modules/**",
];

const shared = ["core", "worker", "contract", "infra", "model"].map((floor) => `test/${floor}/**/*.test.ts`);

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    pool: "threads",
    // Many tests wait for an engine or a process: one more than the cores of a small machine keeps it busy.
    maxWorkers: Math.max(3, availableParallelism()),
    // A loaded machine is slow, not wrong.
    testTimeout: 60_000,
    env: { CDK_VALIDATION: "false" },
    globalSetup: "test/own-tmpdir.ts",
    setupFiles: "test/setup.ts",
    projects: [
      { extends: true, test: { name: "all", include: ["test/**/*.test.ts"], exclude: [...elsewhere, ...shared] } },
      // Nothing of these stubs or changes what is global: the CDK and the SDK are imported once for all of them.
      { extends: true, test: { name: "shared", include: shared, exclude: elsewhere, isolate: false } },
    ],
  },
});

import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const elsewhere = ["test/**/*.slow.test.ts", "test/bench/**", "**/node_modules/**"];

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    pool: "threads",
    // Many tests wait for an engine or a process: one more than the cores of a small machine keeps it busy.
    maxWorkers: Math.max(3, availableParallelism()),
    // A loaded machine is slow, not wrong.
    testTimeout: 20_000,
    env: { CDK_VALIDATION: "false" },
    projects: [
      {
        extends: true,
        test: { name: "all", include: ["test/**/*.test.ts"], exclude: [...elsewhere, "test/infra/**"] },
      },
      // The CDK takes two seconds to import: once for all of these, not once for each.
      { extends: true, test: { name: "infra", include: ["test/infra/**/*.test.ts"], isolate: false } },
    ],
  },
});

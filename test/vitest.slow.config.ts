import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** What takes minutes: `npm run test:slow`. */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.slow.test.ts"],
    pool: "threads",
    // Some wait for minutes of real time: others have the core meanwhile.
    maxWorkers: Math.max(3, availableParallelism()),
    // Nothing here is a matter of time: a busy machine may take as long as it likes.
    testTimeout: 180_000,
    env: { CDK_VALIDATION: "false" },
    globalSetup: "test/own-tmpdir.ts",
    setupFiles: "test/setup.ts",
  },
});

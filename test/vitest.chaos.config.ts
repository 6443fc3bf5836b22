import { defineConfig } from "vitest/config";

/** The whole service while everything around it breaks: `npm run test:chaos`. A seed in `CHAOS_SEED` throws its dice again. */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/chaos/*.chaos.test.ts"],
    // Each scenario has processes of its own to kill, and is mostly waiting for what they held to lapse.
    pool: "forks",
    maxWorkers: 3,
    testTimeout: 20 * 60_000,
    disableConsoleIntercept: true,
    env: { CDK_VALIDATION: "false" },
  },
});

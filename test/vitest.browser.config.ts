import { defineConfig } from "vitest/config";

/** The local page in a headless Chromium, in front of the whole service: `npm run test:browser`. */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/browser/*.browser.test.ts"],
    pool: "forks",
    maxWorkers: 1,
    hookTimeout: 2 * 60_000,
    testTimeout: 5 * 60_000,
    env: { CDK_VALIDATION: "false" },
  },
});

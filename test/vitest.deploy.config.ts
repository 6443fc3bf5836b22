import { defineConfig } from "vitest/config";

/** The stack, deployed by CDK's own command into an AWS on this machine: `npm run test:deploy`. Needs python3 and openssl. */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/deploy/*.deploy.test.ts"],
    pool: "forks",
    // The tests share one deployment, and most of their time is waiting.
    sequence: { concurrent: true },
    maxConcurrency: 6,
    hookTimeout: 8 * 60_000,
    testTimeout: 3 * 60_000,
  },
});

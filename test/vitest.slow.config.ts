import { defineConfig } from "vitest/config";

/** What takes minutes: `npm run test:slow`. */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.slow.test.ts"],
    pool: "threads",
    env: { CDK_VALIDATION: "false" },
  },
});

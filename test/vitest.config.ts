import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: ["test/**/*.slow.test.ts", "test/bench/**", "**/node_modules/**"],
    pool: "threads",
    env: { CDK_VALIDATION: "false" },
  },
});

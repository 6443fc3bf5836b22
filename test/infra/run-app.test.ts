import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../temporary.ts";

const fileOf = (name: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, "../../infra", name)).href);

/** What a person sees who synthesizes an app of such a stack. */
function synthesize(stack: string) {
  const outdir = temporaryFolder("run-app");
  const program = `
    import { Stack } from "aws-cdk-lib";
    import { runApp } from ${fileOf("run-app.ts")};
    import { ServiceStack } from ${fileOf("service-stack.ts")};
    runApp((app, env) => [${stack}]);`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: join(import.meta.dirname, "../.."),
    env: { ...process.env, CDK_OUTDIR: outdir },
    encoding: "utf8",
  });
  return { status, stderr, isWritten: existsSync(join(outdir, "manifest.json")) };
}

test("a config that cannot be used is told by its paths and nothing else, and nothing is written", () => {
  expect(synthesize(`new ServiceStack(app, "Sluice", { env, config: { models: {} } })`)).toEqual({
    status: 1,
    stderr: "The config cannot be used:\n  models: needs at least one model\n",
    isWritten: false,
  });
}, 60_000);

test("what is nobody's config is told with where it happened", () => {
  const { status, stderr, isWritten } = synthesize(`new Stack(undefined.scope, "Sluice", { env })`);
  expect({ status, isWritten }).toEqual({ status: 1, isWritten: false });
  expect(stderr).toContain("    at ");
}, 60_000);

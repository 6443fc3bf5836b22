/** The package as those have it who install it: packed, and used from an empty project. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const bin = (name: string) => join(root, "node_modules/.bin", name);
/** What a command says; where it fails, that is what the test shows. */
const said = (command: string, ...args: readonly string[]) =>
  run(command, [...args], { cwd: project, env: { ...process.env, NO_COLOR: "1" } }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout: stdout + stderr }),
  );

let project = "";
let tarball = "";
let packed: { readonly optionalDependencies: object; readonly files: readonly string[] };

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "sluice-package-"));
  const { stdout } = await run(process.execPath, ["infra/package.ts", project], { cwd: root });
  tarball = stdout.trim();
  const { stdout: listed } = await run("tar", ["-tzf", tarball]);
  const modules = join(project, "node_modules");
  await mkdir(join(modules, "sluice"), { recursive: true });
  await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", join(modules, "sluice")]);
  const its = JSON.parse(await readFile(join(modules, "sluice/package.json"), "utf8"));
  const files = listed
    .trim()
    .split("\n")
    .map((path) => path.replace(/^package\//, ""));
  packed = { ...its, files };

  // What it asks for is there, and nothing else: whatever it forgot to ask for is missing.
  const names = ["dependencies", "optionalDependencies", "peerDependencies"].flatMap((kind) => Object.keys(its[kind]));
  const asked = [...names, "@types/node"];
  for (const name of asked) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(modules, name), "dir");
  }
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "theirs", private: true, type: "module" }));
  for (const name of ["send.ts", "stack.ts"]) await cp(join(import.meta.dirname, "theirs", name), join(project, name));
}, 240_000);

afterAll(async () => {
  await rm(project, { recursive: true, force: true });
});

describe("the package", () => {
  test("holds what was built, and neither sources, nor tests, nor the service on one machine", () => {
    const elsewhere = packed.files.filter(
      (file) => !/^(dist\/(functions|infra|lib)\/|bin\/sluice\.js$|package\.json$|README\.md$|LICENSE$)/.test(file),
    );
    expect(elsewhere).toEqual([]);
    expect(packed.files.filter((file) => /infra\/local|\.test\.|[^d]\.ts$/.test(file))).toEqual([]);
    expect(packed.files).toContain("dist/functions/worker.js");
  });

  test("brings nothing that it does not need where it runs", () => {
    const optional = Object.keys(packed.optionalDependencies);
    expect(optional.filter((name) => !name.startsWith("@aws-sdk/"))).toEqual([]);
    expect(packed).not.toHaveProperty("devDependencies");
    expect(packed).toHaveProperty("private", true);
  });

  test.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("has types, by module %s and moduleResolution %s", async (module, moduleResolution) => {
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--target", "es2024", "--types", "node"];
    const how = ["--module", module, "--moduleResolution", moduleResolution, "--skipLibCheck"];
    expect(await said(bin("tsc"), ...strict, ...how, "send.ts", "stack.ts")).toEqual({ code: 0, stdout: "" });
  });

  test("runs in plain Node", async () => {
    expect(await said(process.execPath, "send.ts")).toEqual({ code: 0, stdout: "A summary.\n" });
  });

  test("has the command line, which runs in plain Node", async () => {
    const command = join(project, "node_modules/sluice/bin/sluice.js");
    expect(await said(process.execPath, command, "--help")).toEqual({
      code: 0,
      stdout: expect.stringContaining("Usage: sluice"),
    });
  });

  test("puts its construct into their stack, the functions bundled", async () => {
    const { code, stdout } = await said(process.execPath, "stack.ts");
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^7 functions, \d+ KB of code\n$/) });
    expect(existsSync(join(project, "cdk.out/Theirs.template.json"))).toBe(true);
  }, 180_000);

  test("is found sound by publint", async () => {
    const { code, stdout } = await said(
      bin("publint"),
      "run",
      join(project, "node_modules/sluice"),
      "--strict",
      "--pack",
      "false",
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("All good!") });
  });

  test("is found sound by attw", async () => {
    const { code, stdout } = await said(bin("attw"), tarball, "--profile", "esm-only", "--no-emoji", "--no-color");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/"sluice\/infra" +│ OK \(ESM\) +│ OK /),
    });
  });
});

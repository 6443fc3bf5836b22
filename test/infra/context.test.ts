import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { synthesize } from "../../infra/local/synth.ts";
import { ServiceStack } from "../../infra/service-stack.ts";
import repositoryConfig from "../../infra/sluice.config.ts";
import { temporaryFolder } from "../temporary.ts";
import { Template, app, smallEntry } from "./synth.ts";

const directory = () => temporaryFolder("context");

/** The repository's own service, synthesized with the flags of cdk.json. */
const flagged = (context: Record<string, unknown> = {}) =>
  Template.fromStack(new ServiceStack(app(context), "Sluice", { config: repositoryConfig, entryOf: smallEntry }));

describe("with the flags of cdk.json, whoever makes the app", () => {
  test("the local service runs on the template that is deployed", () => {
    const { Resources } = flagged({ removable: true }).toJSON();
    expect(synthesize({}, directory(), smallEntry).template["Resources"]).toEqual(Resources);
  });

  test("the app by itself, without CDK's command, gives the rights that CDK's command gives", () => {
    const { CDK_CONTEXT_JSON: _context, ...env } = process.env;
    const outdir = directory();
    const file = join(import.meta.dirname, "../../infra/app.ts");
    execFileSync(process.execPath, [file], {
      env: { ...env, CDK_OUTDIR: outdir, CDK_VALIDATION: "false" },
      stdio: "pipe",
    });
    const written = Template.fromString(readFileSync(join(outdir, "Sluice.template.json"), "utf8"));
    const type = "AWS::IAM::Policy";
    expect(written.findResources(type)).toEqual(flagged().findResources(type));
  }, 60_000);
});

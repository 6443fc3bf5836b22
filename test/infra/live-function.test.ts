import { describe, expect, test } from "vitest";
import { of } from "./one-function.ts";
import { template } from "./synth.ts";

const built = template();
const removable = template({}, { removable: "true" });
const names = ["RtWorker", "BgWorker", "BulkWorker", "ReplyStore", "DeadLetters", "Sweeper", "Widget"];

test("the template has these functions, and no others", () =>
  expect(Object.keys(built.findResources("AWS::Lambda::Function"))).toEqual(
    names.map((name) => expect.stringMatching(new RegExp(`^Llm${name}Function`))),
  ));

describe.each(names)("the function %s", (name) => {
  const its = (type: string, kind = "") => of(built, `Llm${name}${kind}`, type);

  test("runs on Node 24 on arm64 with 512 MB, without tracing and without reserved concurrency", () => {
    const { properties } = its("AWS::Lambda::Function");
    expect(properties).toMatchObject({
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      MemorySize: 512,
      Handler: "index.handler",
    });
    expect(properties).not.toHaveProperty("TracingConfig");
    // It would dead-letter what it throttles: the mapping alone bounds a function.
    expect(properties).not.toHaveProperty("ReservedConcurrentExecutions");
  });

  test("logs JSON into a group of its own, for 30 days", () => {
    const log = its("AWS::Logs::LogGroup");
    expect(its("AWS::Lambda::Function").properties.LoggingConfig).toEqual({
      LogFormat: "JSON",
      LogGroup: { Ref: log.id },
    });
    expect(log.properties.RetentionInDays).toBe(30);
  });

  test("has the alias live", () =>
    expect(its("AWS::Lambda::Alias").properties).toMatchObject({
      Name: "live",
      FunctionName: { Ref: its("AWS::Lambda::Function").id },
    }));

  test("keeps its versions, so that the alias can go back to one", () => {
    const kept = (from: typeof built) =>
      Object.entries(from.findResources("AWS::Lambda::Version"))
        .filter(([id]) => id.startsWith(`Llm${name}Function`))
        .map(([, version]) => version["DeletionPolicy"]);
    expect(kept(built)).toEqual(["Retain"]);
    expect(kept(removable)).toEqual(["Delete"]);
  });

  test("has no managed policy, which would let it log anywhere", () =>
    expect(its("AWS::IAM::Role", "Role").properties).not.toHaveProperty("ManagedPolicyArns"));
});

import { Queue } from "aws-cdk-lib/aws-sqs";
import { describe, expect, test } from "vitest";
import { Sluice } from "../../infra/sluice.ts";
import { widgetSettingsOf } from "../../lib/aws/settings.ts";
import { account, arnOf, isAllowed, region, rightsIn } from "./iam.ts";
import { of } from "./one-function.ts";
import { config, findings, service, smallEntry, stack, template, Template } from "./synth.ts";

const reading = template();
const acting = template({}, {}, { widgetActions: true });
const its = (type: string, built = reading) => of(built, "LlmWidget", type);
const variables = (built = reading): Readonly<Record<string, string>> =>
  its("AWS::Lambda::Function", built).properties.Environment.Variables;

const lanes = ["rt", "bg", "bulk"];

describe("the widget's function", () => {
  test("is invoked by nothing of ours: the console does, with the rights of whoever looks", () => {
    expect(reading.findResources("AWS::Lambda::Permission")).toEqual({});
    expect(JSON.stringify(reading.findResources("AWS::Lambda::EventSourceMapping"))).not.toContain("LlmWidget");
  });

  test("is told all that its handler asks for", () => {
    const told = Object.fromEntries(Object.keys(variables()).map((name) => [name, name]));
    expect(widgetSettingsOf({ ...told, SLUICE_WIDGET_ACTIONS: variables()["SLUICE_WIDGET_ACTIONS"] })).toEqual({
      jobTable: "SLUICE_JOB_TABLE",
      leaseTable: "SLUICE_LEASE_TABLE",
      workerVersion: "local",
      actions: false,
      queueUrls: Object.fromEntries([
        ...lanes.map((lane) => [lane, `SLUICE_${lane.toUpperCase()}_QUEUE_URL`]),
        ...lanes.map((lane) => [`${lane}-dead-letters`, `SLUICE_${lane.toUpperCase()}_DEAD_LETTERS_URL`]),
        ["parked", "SLUICE_PARKED_QUEUE_URL"],
        ["replies", "SLUICE_REPLIES_QUEUE_URL"],
      ]),
    });
    expect(() => widgetSettingsOf({ SLUICE_JOB_TABLE: "jobs" })).toThrow("SLUICE_LEASE_TABLE is not set");
  });

  test("does without dead letters that are somebody else's", () => {
    const theirs = stack();
    const bg = Queue.fromQueueArn(theirs, "Jobs", `arn:aws:sqs:${region}:${account}:jobs`);
    const sluice = new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, queues: { bg } });
    expect(sluice.widget).toBeDefined();
    const told = variables(Template.fromStack(theirs));
    expect(told).not.toHaveProperty("SLUICE_BG_DEAD_LETTERS_URL");
    expect(told).toHaveProperty("SLUICE_RT_DEAD_LETTERS_URL");
  });

  test("is there without a dashboard only if it is asked for", () => {
    const functions = (props: Parameters<typeof template>[2]) =>
      Object.keys(template({}, {}, props).findResources("AWS::Lambda::Function")).filter((id) => /Widget/.test(id));
    expect(functions({ dashboard: false })).toEqual([]);
    expect(functions({ dashboard: false, widget: true })).toHaveLength(1);
    expect(functions({ widget: false })).toEqual([]);
  });
});

describe("actions are off until they are switched on", () => {
  const writes = ["JobTable", "LeaseTable"].map((name) => ({
    action: "dynamodb:UpdateItem",
    resource: arnOf("dynamodb", `table/${name}`),
  }));
  const readsJobs = { action: "dynamodb:GetItem", resource: arnOf("dynamodb", "table/JobTable") };
  const changes = /^dynamodb:(?!BatchGetItem|GetItem|Query|Scan)|^sqs:(?!GetQueueAttributes)/;

  test("without them it has no right to write, and is told so", () => {
    expect(variables()["SLUICE_WIDGET_ACTIONS"]).toBe("off");
    expect(rightsIn(reading, "LlmWidget").filter(({ action }) => changes.test(action))).toEqual([]);
  });

  test("with them it may update jobs and limits, and has no other right besides", () => {
    const rights = rightsIn(acting, "LlmWidget");
    expect(variables(acting)["SLUICE_WIDGET_ACTIONS"]).toBe("on");
    expect([...writes, readsJobs].filter((call) => !isAllowed(rights, call))).toEqual([]);
    const told = ({ action, resource }: { action: string; resource: string }) => `${action} ${resource}`;
    const before = new Set(rightsIn(reading, "LlmWidget").map(told));
    expect(
      rights
        .map(told)
        .filter((right) => !before.has(right))
        .toSorted(),
    ).toEqual([...writes, readsJobs].map(told).toSorted());
  });

  test("cdk-nag finds nothing, with them or without", () => {
    expect(findings(service())).toEqual([]);
    expect(findings(service({}, {}, { widgetActions: true }))).toEqual([]);
  });
});

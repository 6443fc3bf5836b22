import { describe, expect, test } from "vitest";

import { numberAt, objectAt, resolve, resourcesOf, textAt } from "../../infra/local/template.ts";
import type { Json } from "../../lib/core/json.ts";

const known: Record<string, string> = { Jobs: "jobs", "Jobs.Arn": "arn:jobs", "AWS::Region": "us-west-2" };
const lookUp = (id: string, attribute?: string) => known[attribute === undefined ? id : `${id}.${attribute}`];

const rows: [says: string, value: Json, resolved: Json][] = [
  ["a Ref is what the resource is called", { Ref: "Jobs" }, "jobs"],
  ["a pseudo parameter is one too", { Ref: "AWS::Region" }, "us-west-2"],
  ["an attribute by its list", { "Fn::GetAtt": ["Jobs", "Arn"] }, "arn:jobs"],
  ["an attribute by its dots", { "Fn::GetAtt": "Jobs.Arn" }, "arn:jobs"],
  ["a join joins what it resolves", { "Fn::Join": ["/", [{ Ref: "Jobs" }, "x"]] }, "jobs/x"],
  ["a text with names in it", { "Fn::Sub": "${Jobs}-${Jobs.Arn}" }, "jobs-arn:jobs"],
  ["a text with names of its own", { "Fn::Sub": ["${mine}-${Jobs}", { mine: { Ref: "Jobs" } }] }, "jobs-jobs"],
  ["a part of a split", { "Fn::Select": [1, { "Fn::Split": [":", { "Fn::GetAtt": ["Jobs", "Arn"] }] }] }, "jobs"],
  ["what nobody knows stays visible", { Ref: "Role" }, "${Role}"],
  ["with its attribute", { "Fn::GetAtt": ["Role", "Arn"] }, "${Role.Arn}"],
  ["no value takes its key away", { a: { Ref: "AWS::NoValue" }, b: [{ Ref: "AWS::NoValue" }, 1] }, { b: [1] }],
  ["at any depth", { a: [{ b: { Ref: "Jobs" } }] }, { a: [{ b: "jobs" }] }],
  ["a plain value is left alone", { a: [1, null, true, "x"] }, { a: [1, null, true, "x"] }],
];

describe("a template's value", () => {
  test.each(rows)("%s", (_says, value, resolved) => expect(resolve(value, lookUp)).toEqual(resolved));
});

describe("a template", () => {
  test("lists its resources", () =>
    expect(
      resourcesOf({ Resources: { Jobs: { Type: "AWS::DynamoDB::Table", Properties: { a: 1 } }, Odd: {} } }),
    ).toEqual([
      { id: "Jobs", type: "AWS::DynamoDB::Table", properties: { a: 1 } },
      { id: "Odd", type: "", properties: {} },
    ]));

  test("is refused where a property has another type", () => {
    expect(() => textAt({ a: 1 }, "a")).toThrow("no text at a");
    expect(() => numberAt({ a: "x" }, "a", 0)).toThrow("no number at a");
    expect(() => objectAt({ a: [] }, "a")).toThrow("no object at a");
    expect([numberAt({}, "a", 7), numberAt({ a: "8" }, "a", 7)]).toEqual([7, 8]);
  });
});

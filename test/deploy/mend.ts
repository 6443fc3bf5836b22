/** What MiniStack 1.5.33 cannot take of a template, put right in the template. */
import { readFileSync, writeFileSync } from "node:fs";

import { isObject } from "../../lib/core/json.ts";
import type { Json, JsonObject } from "../../lib/core/json.ts";

export function mendTemplate(file: string): void {
  const template: JsonObject = JSON.parse(readFileSync(file, "utf8"), (_key, value: Json) =>
    Array.isArray(value) ? mendActions(value) : isObject(value) ? mendAlarm(value) : value,
  );
  writeFileSync(file, JSON.stringify(template));
}

/** On AWS the right to change a message's visibility covers ten at once; MiniStack asks for one that does not exist. */
function mendActions(actions: readonly Json[]): readonly Json[] {
  return actions.includes("sqs:ChangeMessageVisibility") ? [...actions, "sqs:ChangeMessageVisibilityBatch"] : actions;
}

/** It has no metric math: such an alarm watches nothing here. */
function mendAlarm(resource: JsonObject): JsonObject {
  const { Type, Properties } = resource;
  if (Type !== "AWS::CloudWatch::Alarm" || !isObject(Properties) || Properties["Metrics"] === undefined)
    return resource;
  const { Metrics: _, ...others } = Properties;
  const nothing = { Namespace: "Sluice", MetricName: "None", Statistic: "Sum", Period: 60 };
  return { ...resource, Properties: { ...others, ...nothing } };
}

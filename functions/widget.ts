import middy from "@middy/core";
import { dynamoClient, sqsClient } from "../lib/aws/clients.ts";
import { systemClock } from "../lib/aws/clock.ts";
import { createJobTable } from "../lib/aws/job-table.ts";
import { createLeaseTable } from "../lib/aws/lease-table.ts";
import { createQueueDepths } from "../lib/aws/queue-depths.ts";
import { widgetSettingsOf } from "../lib/aws/settings.ts";
import { answerWidget } from "../lib/widget/answer.ts";
import type { WidgetAnswer } from "../lib/widget/answer.ts";
import { config, open } from "./opening.ts";

const { jobTable, leaseTable, queueUrls, actions } = widgetSettingsOf(process.env);
const { telemetry, ending } = open({});
const dynamo = dynamoClient();
const widget = {
  config,
  actions,
  clock: systemClock,
  jobs: createJobTable(dynamo, jobTable, systemClock),
  leases: createLeaseTable(dynamo, leaseTable),
  queues: createQueueDepths(sqsClient(), queueUrls),
  trouble: (what: string, error: string) => telemetry.note({ kind: "trouble", what, error }),
};

/** Answers CloudWatch's console with what the service does now. */
export const handler = middy<unknown, WidgetAnswer>()
  .use(ending)
  .handler((event, { invokedFunctionArn }) => answerWidget(event, invokedFunctionArn, widget));

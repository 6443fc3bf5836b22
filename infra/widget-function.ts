import type { Construct } from "constructs";
import { deadLettersVariable, lanes, queueVariable } from "../lib/core/lane.ts";
import { widgetTimeoutMs } from "../lib/core/limits.ts";
import { sweepIndex } from "../lib/core/sweep.ts";
import { grantTableKeys } from "./encryption.ts";
import { LiveFunction } from "./live-function.ts";
import type { FunctionProps } from "./live-function.ts";
import type { Watched } from "./metrics.ts";

export interface WidgetFunctionProps extends Omit<FunctionProps, "environment"> {
  readonly watched: Pick<Watched, "jobQueues" | "parked" | "repliesQueue" | "jobTable" | "leaseTable">;
  /** Whether it may cancel, pause and resume. Without it, it has no right to write. */
  readonly actions: boolean;
}

/** Answers the console with open jobs and why each waits. Nothing but a dashboard invokes it, with its viewer's rights. */
export class WidgetFunction extends LiveFunction {
  constructor(scope: Construct, id: string, props: WidgetFunctionProps) {
    const { watched, actions, ...common } = props;
    const { jobQueues, parked, repliesQueue } = watched;
    const [jobTable, leaseTable] = [watched.jobTable.table, watched.leaseTable.table];
    const deadLetters = lanes.flatMap((lane) => {
      const { deadLetters: queue } = jobQueues[lane];
      return queue === undefined ? [] : [{ variable: deadLettersVariable(lane), queue }];
    });
    const queues = [
      ...lanes.map((lane) => ({ variable: queueVariable(lane), queue: jobQueues[lane].queue })),
      ...deadLetters,
      { variable: "SLUICE_PARKED_QUEUE_URL", queue: parked.queue },
      { variable: "SLUICE_REPLIES_QUEUE_URL", queue: repliesQueue.queue },
    ];
    super(scope, id, {
      ...common,
      description: "Sluice: shows on the dashboard what is open, and why",
      timeoutMs: widgetTimeoutMs,
      environment: {
        SLUICE_JOB_TABLE: jobTable.tableName,
        SLUICE_LEASE_TABLE: leaseTable.tableName,
        SLUICE_WIDGET_ACTIONS: actions ? "on" : "off",
        ...Object.fromEntries(queues.map(({ variable, queue }) => [variable, queue.queueUrl])),
      },
    });

    this.allow(["dynamodb:Query"], `${jobTable.tableArn}/index/${sweepIndex.name}`);
    this.allow(["dynamodb:Scan", "dynamodb:BatchGetItem"], jobTable.tableArn);
    this.allow(["dynamodb:BatchGetItem", "dynamodb:GetItem"], leaseTable.tableArn);
    this.allow(["sqs:GetQueueAttributes"], ...queues.map(({ queue }) => queue.queueArn));
    if (actions) {
      this.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], jobTable.tableArn);
      this.allow(["dynamodb:UpdateItem"], leaseTable.tableArn);
    }
    grantTableKeys(this.role, jobTable, leaseTable);
  }
}

import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { replyStoreConcurrencyMax, replyStoreTimeoutMs, sqsBatchEntriesMax } from "../lib/core/limits.ts";
import { LiveFunction } from "./live-function.ts";
import type { FunctionProps } from "./live-function.ts";

/** Stores what waits in the replies queue. Few at a time: it has work when the job table has just been in trouble. */
export class ReplyStoreFunction extends LiveFunction {
  constructor(scope: Construct, id: string, { queue, ...props }: FunctionProps & { readonly queue: IQueue }) {
    super(scope, id, {
      ...props,
      description: "Sluice: stores replies that the job table could not take at first",
      timeoutMs: replyStoreTimeoutMs,
      environment: { ...props.environment, SLUICE_QUEUE_URL: queue.queueUrl },
    });
    this.feedFrom(queue, { batchSize: sqsBatchEntriesMax, concurrencyMax: replyStoreConcurrencyMax });
  }
}

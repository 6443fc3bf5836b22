import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import type { Lane } from "../lib/core/lane.ts";
import { laneLimits } from "../lib/core/limits.ts";
import type { Mapping } from "./concurrency.ts";
import { LiveFunction } from "./live-function.ts";
import type { FunctionProps } from "./live-function.ts";

export interface WorkerFunctionProps extends FunctionProps {
  readonly lane: Lane;
  readonly queue: IQueue;
  readonly mapping: Mapping;
}

/** A lane's worker, fed by the lane's queue. */
export class WorkerFunction extends LiveFunction {
  constructor(scope: Construct, id: string, { lane, queue, mapping, ...props }: WorkerFunctionProps) {
    super(scope, id, {
      ...props,
      description: `Sluice: runs the jobs of the ${lane} lane`,
      timeoutMs: laneLimits[lane].functionTimeoutMs,
      environment: { ...props.environment, SLUICE_LANE: lane, SLUICE_QUEUE_URL: queue.queueUrl },
    });
    this.feedFrom(queue, { ...mapping, windowS: laneLimits[lane].batchWindowS });
  }
}

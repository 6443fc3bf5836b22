import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { deadLettersVariable, lanes } from "../lib/core/lane.ts";
import type { Lane } from "../lib/core/lane.ts";
import { deadLettersBatchSize, deadLettersConcurrencyMax, deadLettersTimeoutMs } from "../lib/core/limits.ts";
import { LiveFunction } from "./live-function.ts";
import type { FunctionProps } from "./live-function.ts";

export interface DeadLettersFunctionProps extends FunctionProps {
  readonly queues: Partial<Readonly<Record<Lane, IQueue>>>;
}

/** Ends the jobs that SQS gave up, and parks their messages: one function for the dead letters of all lanes. */
export class DeadLettersFunction extends LiveFunction {
  constructor(scope: Construct, id: string, { queues, ...props }: DeadLettersFunctionProps) {
    const fed = lanes.flatMap((lane) => {
      const queue = queues[lane];
      return queue === undefined ? [] : [{ lane, queue }];
    });
    const urls = fed.map(({ lane, queue }) => [deadLettersVariable(lane), queue.queueUrl]);
    super(scope, id, {
      ...props,
      description: "Sluice: ends the jobs of dead letters, and parks their messages",
      timeoutMs: deadLettersTimeoutMs,
      environment: { ...props.environment, ...Object.fromEntries(urls) },
    });
    for (const { lane, queue } of fed) {
      this.feedFrom(
        queue,
        { batchSize: deadLettersBatchSize, concurrencyMax: deadLettersConcurrencyMax },
        `Mapping-${lane}`,
      );
    }
  }
}

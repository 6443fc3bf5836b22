import { Duration, Stack, Validations } from "aws-cdk-lib";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import {
  DefinitionBody,
  IntegrationPattern,
  JsonPath,
  LogLevel,
  StateMachine,
  TaskInput,
  Timeout,
} from "aws-cdk-lib/aws-stepfunctions";
import { SqsSendMessage } from "aws-cdk-lib/aws-stepfunctions-tasks";
import type { Construct } from "constructs";
import { laneLimits } from "../../lib/core/limits.ts";
import { Sluice } from "../sluice.ts";
import { greeting } from "./example.ts";
import type { ExampleProps } from "./example.ts";

/** A state that waits for a job's reply, by a task token. A retry sends the same job, and gets the reply that is stored. */
export class StateMachineExample extends Stack {
  constructor(scope: Construct, id: string, props: ExampleProps) {
    super(scope, id, props);
    const { config } = props;
    const replies = { ...config.replies, allow: { ...config.replies?.allow, taskTokens: true } };
    const llm = new Sluice(this, "Llm", { ...props, config: { ...config, replies } });

    const ask = new SqsSendMessage(this, "Ask", {
      queue: llm.jobQueues.bg.queue,
      integrationPattern: IntegrationPattern.WAIT_FOR_TASK_TOKEN,
      messageBody: TaskInput.fromObject({
        envelope: { jobId: JsonPath.executionName, ...greeting },
        taskToken: JsonPath.taskToken,
      }),
      // No heartbeat: a job that waits in the queue has none.
      taskTimeout: Timeout.duration(Duration.millis(laneLimits.bg.deadlineMsDefault + 15 * 60_000)),
    });
    const machine = new StateMachine(this, "Machine", {
      definitionBody: DefinitionBody.fromChainable(ask),
      tracingEnabled: true,
      logs: { destination: new LogGroup(this, "Logs"), level: LogLevel.ALL, includeExecutionData: false },
    });
    llm.allowFeed(machine);

    Validations.of(machine).acknowledge({
      id: "AwsSolutions-IAM5[Resource::*]",
      reason: "X-Ray and the delivery of a state machine's log know no resource.",
    });
  }
}

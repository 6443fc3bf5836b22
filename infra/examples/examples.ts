import type { Stack } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { ApiExample } from "./api.ts";
import { BucketExample } from "./bucket.ts";
import { EventRuleExample } from "./event-rule.ts";
import type { ExampleProps } from "./example.ts";
import { PipeExample } from "./pipe.ts";
import { ScheduleExample } from "./schedule.ts";
import { StateMachineExample } from "./state-machine.ts";
import { TopicExample } from "./topic.ts";

/** A stack for each way in. The bucket's name is one of the whole world's. */
export function examples(scope: Construct, props: ExampleProps & { readonly bucketName: string }) {
  return {
    topic: new TopicExample(scope, "SluiceTopicExample", props),
    eventRule: new EventRuleExample(scope, "SluiceEventRuleExample", props),
    schedule: new ScheduleExample(scope, "SluiceScheduleExample", props),
    pipe: new PipeExample(scope, "SluicePipeExample", props),
    bucket: new BucketExample(scope, "SluiceBucketExample", props),
    api: new ApiExample(scope, "SluiceApiExample", props),
    stateMachine: new StateMachineExample(scope, "SluiceStateMachineExample", props),
  } satisfies Record<string, Stack>;
}

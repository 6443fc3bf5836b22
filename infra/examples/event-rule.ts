import { Stack } from "aws-cdk-lib";
import { EventBus, Rule } from "aws-cdk-lib/aws-events";
import { SqsQueue } from "aws-cdk-lib/aws-events-targets";
import type { Construct } from "constructs";
import { Sluice } from "../sluice.ts";
import type { ExampleProps } from "./example.ts";

/** Put an event whose `detail` is an envelope. The whole event goes on; a transformer may also make an envelope of any other. */
export class EventRuleExample extends Stack {
  constructor(scope: Construct, id: string, props: ExampleProps) {
    super(scope, id, props);
    const llm = new Sluice(this, "Llm", props);

    const rule = new Rule(this, "Jobs", {
      eventBus: new EventBus(this, "Bus"),
      eventPattern: { source: ["acme.orders"], detailType: ["llm.job.requested"] },
    });
    llm.allowFeed(rule);
    rule.addTarget(new SqsQueue(llm.jobQueues.bg.queue));
  }
}

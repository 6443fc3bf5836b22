import { Stack } from "aws-cdk-lib";
import { Topic } from "aws-cdk-lib/aws-sns";
import { SqsSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { Construct } from "constructs";
import { Sluice } from "../sluice.ts";
import type { ExampleProps } from "./example.ts";

/** Publish an envelope to a topic. Raw delivery or not: both are understood, and raw is shorter. */
export class TopicExample extends Stack {
  constructor(scope: Construct, id: string, props: ExampleProps) {
    super(scope, id, props);
    const llm = new Sluice(this, "Llm", props);

    const topic = new Topic(this, "Jobs", { enforceSSL: true });
    llm.allowFeed(topic, { lane: "rt" });
    topic.addSubscription(new SqsSubscription(llm.jobQueues.rt.queue, { rawMessageDelivery: true }));
  }
}

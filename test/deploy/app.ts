/**
 * The app's stack as its next version: another limit, somebody who waits for replies, and one feed of each kind that
 * MiniStack has.
 */
import { App, Aws, CfnOutput } from "aws-cdk-lib";
import { AwsIntegration, PassthroughBehavior, RestApi } from "aws-cdk-lib/aws-apigateway";
import { EventField, Rule, RuleTargetInput } from "aws-cdk-lib/aws-events";
import { SqsQueue } from "aws-cdk-lib/aws-events-targets";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Bucket, CfnBucket } from "aws-cdk-lib/aws-s3";
import { Schedule, ScheduleExpression, ScheduleGroup, ScheduleTargetInput } from "aws-cdk-lib/aws-scheduler";
import { SqsSendMessage } from "aws-cdk-lib/aws-scheduler-targets";
import { Topic } from "aws-cdk-lib/aws-sns";
import { SqsSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { DefinitionBody, IntegrationPattern, JsonPath, StateMachine, TaskInput } from "aws-cdk-lib/aws-stepfunctions";
import { SqsSendMessage as SendTask } from "aws-cdk-lib/aws-stepfunctions-tasks";

import { cdkContext } from "../../infra/context.ts";
import { limited } from "../../infra/local/synth.ts";
import { ServiceStack } from "../../infra/service-stack.ts";
import written from "../../infra/sluice.config.ts";
import { announced, announcedBus, announcedUrl, bucketOfJobs, env, jobFrom, topicArn } from "./feeds.ts";

const config = {
  ...limited(written, { "fast-text@us-west-2": 7 }),
  replies: {
    allow: { sqs: [announcedUrl], eventBuses: [announcedBus], sns: [topicArn(announced)], taskTokens: true },
  },
  paramsRef: { buckets: [bucketOfJobs] },
};

const app = new App({ context: cdkContext() });
const stack = new ServiceStack(app, "Sluice", { config, env });
const { sluice } = stack;
const { queue } = sluice.jobQueues.bg;

const waiting = new Queue(stack, "Announced", { queueName: announced });
new Topic(stack, "AnnouncedTopic", { topicName: announced }).addSubscription(
  new SqsSubscription(waiting, { rawMessageDelivery: true }),
);
new Rule(stack, "AnnouncedRule", {
  eventPattern: { detailType: ["Sluice Job Completed"] },
  targets: [new SqsQueue(waiting, { message: RuleTargetInput.fromEventPath("$.detail") })],
});

for (const [name, rawMessageDelivery] of [["raw", true] as const, ["wrapped", false] as const]) {
  const topic = new Topic(stack, `Topic-${name}`, { topicName: name });
  sluice.allowFeed(topic);
  topic.addSubscription(new SqsSubscription(queue, { rawMessageDelivery }));
}

const inputs = {
  event: undefined,
  detail: RuleTargetInput.fromEventPath("$.detail"),
  transformed: RuleTargetInput.fromObject({ job: EventField.fromPath("$.detail"), from: "us" }),
};
for (const [name, message] of Object.entries(inputs)) {
  const rule = new Rule(stack, `Rule-${name}`, { eventPattern: { source: ["shop"], detailType: [name] } });
  sluice.allowFeed(rule);
  rule.addTarget(new SqsQueue(queue, message === undefined ? {} : { message }));
}

const scheduleGroup = new ScheduleGroup(stack, "Schedules");
const input = ScheduleTargetInput.fromText(JSON.stringify(jobFrom("scheduler")));
new Schedule(stack, "EveryMinute", {
  scheduleGroup,
  schedule: ScheduleExpression.expression("rate(1 minute)"),
  target: new SqsSendMessage(queue, { input, role: sluice.allowFeed(scheduleGroup) }),
});

// CDK's own way to notify is a function in Python that needs an SDK, which MiniStack's Python has not. In a template alone
// the bucket wants the queue's policy first, which therefore knows it by its name.
sluice.allowFeed(Bucket.fromBucketName(stack, "JobsByName", bucketOfJobs));
const filter = { s3Key: { rules: [{ name: "prefix", value: "straight/" }] } };
const notificationConfiguration = {
  queueConfigurations: [{ event: "s3:ObjectCreated:*", queue: queue.queueArn, filter }],
  eventBridgeConfiguration: { eventBridgeEnabled: true },
};
new CfnBucket(stack, "Jobs", { bucketName: bucketOfJobs, notificationConfiguration }).node.addDependency(queue);
const objects = new Rule(stack, "Rule-objects", {
  eventPattern: {
    source: ["aws.s3"],
    detailType: ["Object Created"],
    detail: { object: { key: [{ prefix: "by event/" }] } },
  },
});
sluice.allowFeed(objects);
objects.addTarget(new SqsQueue(queue));

const apiRole = new Role(stack, "ApiRole", { assumedBy: new ServicePrincipal("apigateway.amazonaws.com") });
sluice.allowFeed(apiRole);
const api = new RestApi(stack, "Api");
const sent = new AwsIntegration({
  service: "sqs",
  path: `${Aws.ACCOUNT_ID}/${queue.queueName}`,
  options: {
    credentialsRole: apiRole,
    passthroughBehavior: PassthroughBehavior.NEVER,
    requestParameters: { "integration.request.header.Content-Type": "'application/x-www-form-urlencoded'" },
    requestTemplates: { "application/json": "Action=SendMessage&MessageBody=$util.urlEncode($input.body)" },
    integrationResponses: [{ statusCode: "202" }],
  },
});
api.root.addMethod("POST", sent, { methodResponses: [{ statusCode: "202" }] });
new CfnOutput(stack, "apiId", { value: api.restApiId });

const ask = new SendTask(stack, "Ask", {
  queue,
  integrationPattern: IntegrationPattern.WAIT_FOR_TASK_TOKEN,
  messageBody: TaskInput.fromObject({ envelope: jobFrom("state-machine"), taskToken: JsonPath.taskToken }),
});
const machine = new StateMachine(stack, "Machine", { definitionBody: DefinitionBody.fromChainable(ask) });
sluice.allowFeed(machine);
new CfnOutput(stack, "stateMachineArn", { value: machine.stateMachineArn });

app.synth();

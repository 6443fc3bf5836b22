/**
 * The service with somebody who waits for replies, and one feed of each kind. Under the name `Sluice` it is the next
 * version of the app's own stack; under another (context `stack`) it is a stack of its own, for a real account.
 */
import { App, Aws, CfnOutput } from "aws-cdk-lib";
import type { Stack } from "aws-cdk-lib";
import { AuthorizationType, AwsIntegration, PassthroughBehavior, RestApi } from "aws-cdk-lib/aws-apigateway";
import { EventBus, EventField, Rule, RuleTargetInput } from "aws-cdk-lib/aws-events";
import { SqsQueue } from "aws-cdk-lib/aws-events-targets";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { CfnPipe } from "aws-cdk-lib/aws-pipes";
import { Bucket, CfnBucket } from "aws-cdk-lib/aws-s3";
import { Schedule, ScheduleExpression, ScheduleGroup, ScheduleTargetInput } from "aws-cdk-lib/aws-scheduler";
import { SqsSendMessage } from "aws-cdk-lib/aws-scheduler-targets";
import { Topic } from "aws-cdk-lib/aws-sns";
import { SqsSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { DefinitionBody, IntegrationPattern, JsonPath, StateMachine, TaskInput } from "aws-cdk-lib/aws-stepfunctions";
import { SqsSendMessage as SendTask } from "aws-cdk-lib/aws-stepfunctions-tasks";

import { cdkContext } from "../../infra/context.ts";
import { JobQueue } from "../../infra/job-queue.ts";
import { ServiceStack } from "../../infra/service-stack.ts";
import { configIn } from "./config.ts";
import { jobFrom, namesIn } from "./place.ts";
import type { Place } from "./place.ts";

const app = new App({ context: cdkContext() });
const { CDK_DEFAULT_ACCOUNT: account = "", CDK_DEFAULT_REGION: region = "" } = process.env;
const stackName: unknown = app.node.tryGetContext("stack");
const place: Place = { account, region, stack: typeof stackName === "string" ? stackName : "Sluice" };
const names = namesIn(place);

const stack = new ServiceStack(app, place.stack, { config: configIn(place), env: { account, region } });
const { sluice } = stack;
const { queue } = sluice.jobQueues.bg;

const eventBus = new EventBus(stack, "Bus", { eventBusName: names.bus });
const waiting = new Queue(stack, "Announced", { queueName: names.announced });
new Topic(stack, "AnnouncedTopic", { topicName: names.named("announced") }).addSubscription(
  new SqsSubscription(waiting, { rawMessageDelivery: true }),
);
new Rule(stack, "AnnouncedRule", {
  eventBus,
  eventPattern: { detailType: ["Sluice Job Completed"] },
  targets: [new SqsQueue(waiting, { message: RuleTargetInput.fromEventPath("$.detail") })],
});

for (const [name, rawMessageDelivery] of [["raw", true] as const, ["wrapped", false] as const]) {
  const topic = new Topic(stack, `Topic-${name}`, { topicName: names.named(name) });
  sluice.allowFeed(topic);
  topic.addSubscription(new SqsSubscription(queue, { rawMessageDelivery }));
}

const inputs = {
  event: undefined,
  detail: RuleTargetInput.fromEventPath("$.detail"),
  transformed: RuleTargetInput.fromObject({ job: EventField.fromPath("$.detail"), from: "us" }),
};
for (const [name, message] of Object.entries(inputs)) {
  const rule = new Rule(stack, `Rule-${name}`, { eventBus, eventPattern: { source: ["shop"], detailType: [name] } });
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
const { bucketOfJobs } = names;
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
    detail: { bucket: { name: [bucketOfJobs] }, object: { key: [{ prefix: "by event/" }] } },
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
// Nobody but the account itself may spend its money.
const authorizationType = AuthorizationType.IAM;
api.root.addMethod("POST", sent, { authorizationType, methodResponses: [{ statusCode: "202" }] });
new CfnOutput(stack, "apiId", { value: api.restApiId });

const ask = new SendTask(stack, "Ask", {
  queue,
  integrationPattern: IntegrationPattern.WAIT_FOR_TASK_TOKEN,
  messageBody: TaskInput.fromObject({ envelope: jobFrom("state-machine"), taskToken: JsonPath.taskToken }),
});
const machine = new StateMachine(stack, "Machine", { definitionBody: DefinitionBody.fromChainable(ask) });
sluice.allowFeed(machine);
new CfnOutput(stack, "stateMachineArn", { value: machine.stateMachineArn });

// MiniStack has no pipes into queues.
if (place.stack !== "Sluice") feedByPipe(stack);

/** Queues like a lane's, which nobody consumes, and one that is no lane's: what SQS allows is tried on them. */
const facts = new JobQueue(stack, "Facts", { lane: "bulk" });
new CfnOutput(stack, "factsQueueUrl", { value: facts.queue.queueUrl });
new CfnOutput(stack, "factsDeadQueueUrl", { value: facts.deadLetters?.queueUrl ?? "" });
new CfnOutput(stack, "strangerQueueUrl", { value: new Queue(stack, "Stranger").queueUrl });

app.synth();

function feedByPipe(scope: Stack): void {
  const role = new Role(scope, "PipeRole", { assumedBy: new ServicePrincipal("pipes.amazonaws.com") });
  sluice.allowFeed(role);
  const theirs = new Queue(scope, "Theirs");
  theirs.grantConsumeMessages(role);
  const pipe = new CfnPipe(scope, "Pipe", { roleArn: role.roleArn, source: theirs.queueArn, target: queue.queueArn });
  pipe.node.addDependency(role);
  new CfnOutput(scope, "pipedQueueUrl", { value: theirs.queueUrl });
}

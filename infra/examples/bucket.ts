import { Stack, Validations } from "aws-cdk-lib";
import { BlockPublicAccess, Bucket, EventType } from "aws-cdk-lib/aws-s3";
import { SqsDestination } from "aws-cdk-lib/aws-s3-notifications";
import type { Construct } from "constructs";
import { Sluice } from "../sluice.ts";
import type { ExampleProps } from "./example.ts";

/**
 * Put an envelope into a bucket. The notification only names the object, which the worker then reads: so the bucket has a
 * name that the config can allow.
 */
export class BucketExample extends Stack {
  constructor(scope: Construct, id: string, props: ExampleProps & { readonly bucketName: string }) {
    super(scope, id, props);
    const { bucketName, config } = props;
    const llm = new Sluice(this, "Llm", { ...props, config: { ...config, paramsRef: { buckets: [bucketName] } } });

    const bucket = new Bucket(this, "Jobs", {
      bucketName,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
    });
    llm.allowFeed(bucket, { lane: "bulk" });
    const destination = new SqsDestination(llm.jobQueues.bulk.queue);
    bucket.addEventNotification(EventType.OBJECT_CREATED, destination, { suffix: ".json" });

    Validations.of(bucket).acknowledge({
      id: "AwsSolutions-S1",
      reason: "Whoever put an envelope is told by its job; a log bucket would be one more to look after.",
    });
    Validations.of(this).acknowledge({
      id: "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]",
      reason: "CDK's own function, which sets a bucket's notifications at deploy, has AWS's policy for its log.",
    });
  }
}

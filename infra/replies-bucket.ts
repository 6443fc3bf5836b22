import { Duration, Stack, Validations } from "aws-cdk-lib";
import type { RemovalPolicy } from "aws-cdk-lib";
import { BlockPublicAccess, Bucket, CfnBucket } from "aws-cdk-lib/aws-s3";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import { outputsPrefix, paramsPrefix, paramsTtlDays } from "../lib/core/limits.ts";
import { bucketEncryption } from "./encryption.ts";

/** Outputs too big for a row, and params too big for a message. They go with those, by lifecycle rule; a worker deletes none. */
export class RepliesBucket extends Construct {
  readonly bucket: Bucket;

  /** Its logical id in the template. */
  get bucketId(): string {
    const cfn = this.bucket.node.findChild("Resource");
    return CfnBucket.isCfnElement(cfn) ? String(Stack.of(this).resolve(cfn.logicalId)) : "";
  }

  constructor(
    scope: Construct,
    id: string,
    props: { readonly ttlDays: number; readonly removalPolicy: RemovalPolicy; readonly key?: IKey | undefined },
  ) {
    super(scope, id);
    this.bucket = new Bucket(this, "Bucket", {
      ...bucketEncryption(props.key),
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      // An old version would outlive the reply's days.
      versioned: false,
      lifecycleRules: [
        { id: "Outputs", prefix: outputsPrefix, expiration: Duration.days(props.ttlDays) },
        { id: "Params", prefix: paramsPrefix, expiration: Duration.days(paramsTtlDays) },
        { id: "Uploads", abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
      removalPolicy: props.removalPolicy,
    });
    Validations.of(this.bucket).acknowledge({
      id: "AwsSolutions-S1",
      reason:
        "Every object belongs to a job, whose row says who wrote it and when; a log bucket would outlive what it tells of.",
    });
  }
}

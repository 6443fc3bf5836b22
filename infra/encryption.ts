import { TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import type { TableProps } from "aws-cdk-lib/aws-dynamodb";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { BucketEncryption } from "aws-cdk-lib/aws-s3";
import type { BucketProps } from "aws-cdk-lib/aws-s3";
import { QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { QueueProps } from "aws-cdk-lib/aws-sqs";
import type { AnyTable } from "./given-table.ts";

/** Keys managed by SQS unless one is given: SNS, EventBridge and S3 cannot feed a queue that has the AWS-managed KMS key. */
export function queueEncryption(key: IKey | undefined): QueueProps {
  return key === undefined
    ? { encryption: QueueEncryption.SQS_MANAGED }
    : { encryption: QueueEncryption.KMS, encryptionMasterKey: key };
}

export function tableEncryption(key: IKey | undefined): Pick<TableProps, "encryption" | "encryptionKey"> {
  return key === undefined
    ? { encryption: TableEncryption.AWS_MANAGED }
    : { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey: key };
}

/** With a bucket key, so that KMS is not asked for each object. */
export function bucketEncryption(key: IKey | undefined): BucketProps {
  return key === undefined
    ? { encryption: BucketEncryption.S3_MANAGED }
    : { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true };
}

/** Sending takes both: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html */
export const sendingKeyActions = ["kms:Decrypt", "kms:GenerateDataKey"];

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html, its wildcards written out. */
const tableKeyActions = [
  "kms:DescribeKey",
  "kms:Encrypt",
  "kms:GenerateDataKeyWithoutPlaintext",
  "kms:ReEncryptFrom",
  "kms:ReEncryptTo",
];

/** Lets somebody send to queues, put objects and get them, under this key. */
export function grantSendingKey(grantee: IGrantable, key: IKey | undefined): void {
  key?.grant(grantee, ...sendingKeyActions);
}

/** Lets somebody read and write these tables, whatever key each is under. */
export function grantTableKeys(grantee: IGrantable, ...tables: readonly AnyTable[]): void {
  const keys = new Set(tables.map(({ encryptionKey }) => encryptionKey));
  for (const key of keys) key?.grant(grantee, ...sendingKeyActions, ...tableKeyActions);
}

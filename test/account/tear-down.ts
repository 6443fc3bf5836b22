/** Takes a stack away, with all that is in its buckets. */
import { DeleteObjectsCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import type { S3Client } from "@aws-sdk/client-s3";
import { setTimeout as sleep } from "node:timers/promises";

import { query, Refused } from "../deploy/call.ts";
import type { Caller } from "../deploy/call.ts";
import { resourcesOf } from "../deploy/deployed.ts";

const Version = "2010-05-15";
/** A straggler may put an object into a bucket that was empty, and the deletion then fails. */
const triesMax = 3;

/** CloudFormation's word for its state; undefined: there is no such stack. */
export async function statusOf(aws: Caller, StackName: string): Promise<string | undefined> {
  try {
    const xml = await query(aws, "cloudformation", { Action: "DescribeStacks", Version, StackName });
    const status = /<StackStatus>(.*?)<\/StackStatus>/.exec(xml)?.[1];
    return status === "DELETE_COMPLETE" ? undefined : status;
  } catch (error) {
    if (error instanceof Refused && /does not exist/.test(error.message)) return undefined;
    throw error;
  }
}

/** @throws when the stack is still there after some tries, with its state. */
export async function tearDown(aws: Caller, s3: S3Client, stack: string, lookEveryMs = 5_000): Promise<void> {
  let status = await statusOf(aws, stack);
  for (let tries = 1; status !== undefined && tries <= triesMax; tries += 1) {
    for (const { type, physicalId } of await resourcesOf(aws, stack))
      if (type === "AWS::S3::Bucket" && physicalId !== "") await empty(s3, physicalId);
    await query(aws, "cloudformation", { Action: "DeleteStack", Version, StackName: stack });
    do {
      await sleep(lookEveryMs);
      status = await statusOf(aws, stack);
    } while (status === "DELETE_IN_PROGRESS");
  }
  if (status !== undefined)
    throw new Error(
      `${stack} is still there (${status}); see its events in CloudFormation, then: npm run test:aws -- --clean`,
    );
}

async function empty(s3: S3Client, Bucket: string): Promise<void> {
  for (;;) {
    const Objects = await objectsIn(s3, Bucket);
    if (Objects.length === 0) return;
    await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }));
  }
}

/** Up to a thousand. A bucket that has gone holds none. */
async function objectsIn(s3: S3Client, Bucket: string): Promise<{ readonly Key: string }[]> {
  try {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
    return Contents.flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]));
  } catch (error) {
    if (error instanceof Error && error.name === "NoSuchBucket") return [];
    throw error;
  }
}

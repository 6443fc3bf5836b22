import { Grant } from "aws-cdk-lib/aws-iam";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { lanes } from "../lib/core/lane.ts";
import { outputsPrefix, paramsPrefix } from "../lib/core/limits.ts";
import { acknowledgeKeys } from "./acknowledge.ts";
import { grantSendingKey, grantTableKeys } from "./encryption.ts";
import { modelStatements } from "./model-access.ts";
import type { Sluice } from "./sluice.ts";

/** What the client's `submit` and `submitBatch` do: send to each lane, and put params that are too big for a message. */
export function grantSubmit({ jobQueues, replies, key }: Sluice, grantee: IGrantable): Grant {
  for (const lane of lanes) grantSendingKey(grantee, jobQueues[lane].queue.encryptionMasterKey);
  grantSendingKey(grantee, key);
  const sends = lanes.map((lane) => jobQueues[lane].queue.grant(grantee, "sqs:SendMessage"));
  return together(objects(replies, grantee, "s3:PutObject", paramsPrefix), ...sends);
}

/** What `waitForReply` and `replies` do, and getting an `outputRef`. */
export function grantReadReplies({ jobTable, replies, key }: Sluice, grantee: IGrantable): Grant {
  for (const used of new Set([key, jobTable.table.encryptionKey]))
    used?.grant(grantee, "kms:Decrypt", "kms:DescribeKey");
  const rows = allow(grantee, ["dynamodb:GetItem", "dynamodb:BatchGetItem"], jobTable.table.tableArn);
  return together(objects(replies, grantee, "s3:GetObject", outputsPrefix), rows);
}

/** What `cancel` does: it reads the row, and writes the flag or the reply. */
export function grantCancel({ jobTable }: Sluice, grantee: IGrantable): Grant {
  grantTableKeys(grantee, jobTable.table);
  return allow(grantee, ["dynamodb:GetItem", "dynamodb:UpdateItem"], jobTable.table.tableArn);
}

/** What `forget` does: it reads the row, deletes an output that lies in the bucket, and rewrites the reply. */
export function grantForget({ jobTable, replies }: Sluice, grantee: IGrantable): Grant {
  grantTableKeys(grantee, jobTable.table);
  const rows = allow(grantee, ["dynamodb:GetItem", "dynamodb:UpdateItem"], jobTable.table.tableArn);
  return together(objects(replies, grantee, "s3:DeleteObject", outputsPrefix), rows);
}

/** What `callNow` does: it keeps to the limits in the lease table, and asks the config's targets. */
export function grantCallNow(sluice: Sluice, grantee: IGrantable): Grant {
  const { table } = sluice.leaseTable;
  grantTableKeys(grantee, table);
  const actions = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"];
  const rows = allow(grantee, actions, table.tableArn);
  for (const statement of modelStatements(sluice, sluice.config))
    grantee.grantPrincipal.addToPrincipalPolicy(statement);
  return rows;
}

function objects({ bucket, bucketId }: Sluice["replies"], grantee: IGrantable, action: string, prefix: string): Grant {
  acknowledgeKeys(grantee, `<${bucketId}.Arn>/${prefix}*`);
  return allow(grantee, [action], bucket.arnForObjects(`${prefix}*`));
}

/** By the grantee's own policy: the grants of CDK's buckets and tables give more than is used. */
function allow(grantee: IGrantable, actions: string[], ...resourceArns: string[]): Grant {
  return Grant.addToPrincipal({ grantee, actions, resourceArns });
}

function together(first: Grant, ...others: readonly Grant[]): Grant {
  return others.reduce((all, other) => all.combine(other), first);
}

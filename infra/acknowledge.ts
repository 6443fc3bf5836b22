import { Validations } from "aws-cdk-lib";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";

/** For cdk-nag: keys of objects, as it writes them, that a grantee may use by their prefix. */
export function acknowledgeKeys({ grantPrincipal }: IGrantable, ...keys: readonly string[]): void {
  if (!Construct.isConstruct(grantPrincipal)) return;
  const reason =
    "Keys are named by jobs and senders; a prefix, or the whole of a bucket that the config names, is the narrowest there is.";
  for (const key of keys) {
    Validations.of(grantPrincipal).acknowledge({ id: `AwsSolutions-IAM5[Resource::${key}]`, reason });
  }
}

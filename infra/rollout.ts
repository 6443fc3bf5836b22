import { Validations } from "aws-cdk-lib";
import type { IAlarm } from "aws-cdk-lib/aws-cloudwatch";
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from "aws-cdk-lib/aws-codedeploy";
import type { IBaseDeploymentConfig } from "aws-cdk-lib/aws-codedeploy";
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import type { LiveFunction } from "./live-function.ts";

export interface RolledOut {
  readonly function: LiveFunction;
  /** Any of these takes the new version back, if it rings before the last invocation has gone over. */
  readonly alarms: readonly IAlarm[];
}

export interface RolloutProps {
  readonly functions: readonly RolledOut[];
  /** Default: a tenth of the invocations for five minutes, then all of them. */
  readonly config?: IBaseDeploymentConfig | undefined;
}

/** CodeDeploy leads a function's invocations over to its new version, and back when an alarm rings. */
export class Rollout extends Construct {
  readonly groups: readonly LambdaDeploymentGroup[];

  constructor(scope: Construct, id: string, { functions, config }: RolloutProps) {
    super(scope, id);
    const application = new LambdaApplication(this, "Application");
    const role = this.roleOver(functions.map((each) => each.function.function.functionArn));
    this.groups = functions.map(
      ({ function: fn, alarms }) =>
        new LambdaDeploymentGroup(this, fn.node.id, {
          application,
          alias: fn.alias,
          alarms: [...alarms],
          deploymentConfig: config ?? LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
          // Or it would be given AWS's managed policy, by which it might move every alias of the account.
          role: role.withoutPolicyUpdates(),
          autoRollback: { deploymentInAlarm: true, failedDeployment: true, stoppedDeployment: true },
        }),
    );
  }

  /** The policy is a part of the role, so that it is there before the first alias moves. */
  private roleOver(functionArns: readonly string[]): Role {
    const aliases = new PolicyStatement({
      actions: ["lambda:GetAlias", "lambda:UpdateAlias", "lambda:GetProvisionedConcurrencyConfig"],
      // Named here, for the alias itself stands behind the group that moves it.
      resources: functionArns.flatMap((arn) => [arn, `${arn}:live`]),
    });
    const alarms = new PolicyStatement({ actions: ["cloudwatch:DescribeAlarms"], resources: ["*"] });
    const role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("codedeploy.amazonaws.com"),
      inlinePolicies: { Rollout: new PolicyDocument({ statements: [aliases, alarms] }) },
    });
    Validations.of(role).acknowledge({
      id: "AwsSolutions-IAM5[Resource::*]",
      reason: "It reads alarms. CloudWatch tells of all kinds of them only to a right that names none.",
    });
    return role;
  }
}

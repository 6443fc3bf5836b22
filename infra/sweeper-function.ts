import { Aws, Duration } from "aws-cdk-lib";
import { PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Schedule, ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import type { Construct } from "constructs";
import { sweepEveryMs, sweeperTimeoutMs } from "../lib/core/limits.ts";
import { LiveFunction } from "./live-function.ts";
import type { FunctionProps } from "./live-function.ts";

/** Looks, every few minutes, at what no message brings up again. A sweep that fails is not repeated: the next one is near. */
export class SweeperFunction extends LiveFunction {
  readonly schedule: Schedule;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id, {
      ...props,
      description: "Sluice: ends jobs whose messages were lost, and repeats announcements",
      timeoutMs: sweeperTimeoutMs,
    });
    const every = Duration.millis(sweepEveryMs);
    this.alias.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: every });
    this.schedule = new Schedule(this, "Schedule", {
      description: "Sluice: sweeps the job table",
      schedule: ScheduleExpression.rate(every),
      target: {
        bind: () => ({
          arn: this.alias.functionArn,
          role: this.schedulerRole(),
          retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: every.toSeconds() },
        }),
      },
    });
  }

  /** For Scheduler, in this account, to invoke the alias and nothing else. */
  private schedulerRole(): Role {
    const conditions = { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } };
    const role = new Role(this, "ScheduleRole", {
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com", { conditions }),
    });
    const resources = [this.alias.functionArn];
    role.addToPolicy(new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources }));
    return role;
  }
}

import { Stack, TimeZone } from "aws-cdk-lib";
import {
  ContextAttribute,
  Schedule,
  ScheduleExpression,
  ScheduleGroup,
  ScheduleTargetInput,
} from "aws-cdk-lib/aws-scheduler";
import { SqsSendMessage } from "aws-cdk-lib/aws-scheduler-targets";
import type { Construct } from "constructs";
import { Sluice } from "../sluice.ts";
import { greeting } from "./example.ts";
import type { ExampleProps } from "./example.ts";

/** A job every night. Its id holds the time it was due, not that of the try, so that a second try is the same job. */
export class ScheduleExample extends Stack {
  readonly nightly: Schedule;

  constructor(scope: Construct, id: string, props: ExampleProps) {
    super(scope, id, props);
    const llm = new Sluice(this, "Llm", props);

    const scheduleGroup = new ScheduleGroup(this, "Jobs");
    const role = llm.allowFeed(scheduleGroup, { lane: "bulk" });
    const envelope = { jobId: `nightly/${ContextAttribute.scheduledTime}`, ...greeting };
    const input = ScheduleTargetInput.fromObject(envelope);
    this.nightly = new Schedule(this, "Nightly", {
      scheduleGroup,
      schedule: ScheduleExpression.cron({ hour: "3", minute: "0", timeZone: TimeZone.ETC_UTC }),
      target: new SqsSendMessage(llm.jobQueues.bulk.queue, { input, role }),
    });
  }
}

/** The service's app as MiniStack can take it, which knows alarms of one metric alone: of the others it sees one that never rings. */
import { App } from "aws-cdk-lib";
import { CfnAlarm } from "aws-cdk-lib/aws-cloudwatch";
import { cdkContext } from "../../infra/context.ts";
import { ServiceStack } from "../../infra/service-stack.ts";
import config from "../../infra/sluice.config.ts";

const app = new App({ context: cdkContext() });
const { sluice } = new ServiceStack(app, "Sluice", { config });
for (const alarm of sluice.alarms?.alarms ?? []) {
  const cfn = alarm.node.defaultChild;
  if (cfn instanceof CfnAlarm && cfn.metrics !== undefined) {
    const simple = { Metrics: undefined, Namespace: "Sluice", MetricName: "Never", Statistic: "Sum", Period: 60 };
    for (const [name, value] of Object.entries(simple)) cfn.addPropertyOverride(name, value);
  }
}
app.synth();

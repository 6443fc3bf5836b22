import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { cdkContext } from "./context.ts";
import { ServiceStack } from "./service-stack.ts";
import config from "./sluice.config.ts";

const app = new App({ context: cdkContext() });
const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
const service = new ServiceStack(app, "Sluice", {
  config,
  description: "Sluice: LLM calls on Amazon Bedrock from a queue",
  env: { ...(account === undefined ? {} : { account }), ...(region === undefined ? {} : { region }) },
});
// A finding ends the synthesis.
Validations.of(app).addPlugins(new AwsSolutionsChecks(service));
app.synth();

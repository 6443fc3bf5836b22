import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { cdkContext } from "../context.ts";
import config from "../sluice.config.ts";
import { examples } from "./examples.ts";

// `npx cdk list --app "node infra/examples/app.ts"` names them, `npx cdk deploy --app … SluiceTopicExample` deploys one.
const app = new App({ context: cdkContext() });
const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
const env = { ...(account === undefined ? {} : { account }), ...(region === undefined ? {} : { region }) };
const bucketName = `sluice-bucket-example-${account ?? "unknown"}`;
const stacks = Object.values(examples(app, { config, env, bucketName }));
Validations.of(app).addPlugins(...stacks.map((stack) => new AwsSolutionsChecks(stack)));
app.synth();

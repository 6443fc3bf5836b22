import { runApp } from "../run-app.ts";
import config from "../sluice.config.ts";
import { examples } from "./examples.ts";

// `npx cdk list --app "node infra/examples/app.ts"` names them, `npx cdk deploy --app … SluiceTopicExample` deploys one.
runApp((app, env) => {
  const bucketName = `sluice-bucket-example-${env.account ?? "unknown"}`;
  return Object.values(examples(app, { config, env, bucketName }));
});

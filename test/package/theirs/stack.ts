/** Somebody's own stack with the construct in it. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { App, Stack } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { defineConfig, Sluice } from "sluice/infra";
import type { SluiceProps } from "sluice/infra";

const config = defineConfig({
  models: {
    "fast-text": {
      targets: {
        west: { modelId: "us.amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: 1, max: 2 }, maxTokens: 100 },
      },
    },
  },
});
const props: SluiceProps = { config };
const app = new App({ outdir: "cdk.out" });
const stack = new Stack(app, "Theirs", { env: { region: "us-west-2", account: "123456789012" } });
const llm = new Sluice(stack, "Llm", props);
const role = new Role(stack, "App", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
for (const grant of [llm.grantSubmit(role), llm.grantForget(role), llm.grantCallNow(role)]) grant.assertSuccess();
app.synth();

const template = JSON.parse(readFileSync("cdk.out/Theirs.template.json", "utf8"));
const resources: { Type: string }[] = Object.values(template.Resources);
const functions = resources.filter(({ Type }) => Type === "AWS::Lambda::Function");
const assets = readdirSync("cdk.out", { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith("index.mjs"),
);
const bytes = assets.map((file) => statSync(`cdk.out/${file}`).size).reduce((sum, size) => sum + size, 0);
console.log(`${functions.length} functions, ${Math.round(bytes / 1024)} KB of code`);

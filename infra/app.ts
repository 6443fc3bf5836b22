import { runApp } from "./run-app.ts";
import { ServiceStack } from "./service-stack.ts";
import config from "./sluice.config.ts";

const description = "Sluice: LLM calls on Amazon Bedrock from a queue";
runApp((app, env) => [new ServiceStack(app, "Sluice", { config, description, env })]);

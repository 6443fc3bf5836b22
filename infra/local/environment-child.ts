/** The inside of an execution environment: imports the bundle, then runs what its parent sends. */
import { pathToFileURL } from "node:url";

import type { FromChild, Invocation } from "./environment.ts";

type Handler = (event: unknown, context: object) => unknown;

const [file = "", name = "handler"] = process.argv.slice(2);

// The parent's death closes the channel, however it died; Ctrl-C reaches the whole group, and the parent ends us.
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => undefined);

const bundle: Record<string, Handler> = await import(pathToFileURL(file).href);
const handler = bundle[name];
if (handler === undefined) throw new Error(`${file} exports no ${name}`);

process.on("message", (invocation: Invocation) => void run(handler, invocation));
send({ kind: "ready" });

async function run(handle: Handler, { requestId, event, endsAtMs }: Invocation): Promise<void> {
  try {
    const value = await handle(event, contextOf(requestId, endsAtMs));
    send({ kind: "returned", value, rssBytes: process.memoryUsage.rss() });
  } catch (error) {
    console.error(error);
    const thrown = error instanceof Error ? error.name : typeof error;
    send({ kind: "threw", name: thrown, rssBytes: process.memoryUsage.rss() });
  }
}

function contextOf(requestId: string, endsAtMs: number): object {
  const functionName = process.env["AWS_LAMBDA_FUNCTION_NAME"] ?? "local";
  return {
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:${process.env["AWS_REGION"]}:000000000000:function:${functionName}`,
    memoryLimitInMB: process.env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] ?? "128",
    awsRequestId: requestId,
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, endsAtMs - Date.now()),
  };
}

function send(message: FromChild): void {
  process.send?.(message);
}

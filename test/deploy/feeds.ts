/** Names and jobs that the deployed app and its test share. */
import type { ParamsOf } from "../../lib/client/index.ts";

const account = "000000000000";
const region = "us-east-1";
export const env = { account, region };

export const bucketOfJobs = "sluice-deploy-jobs";

/** Whoever waits for replies hears of them in this queue: straight, or by a bus and a topic that lead there. */
export const announced = "announced";
/** As the config has to name it; MiniStack finds its queue by the path. */
export const announcedUrl = `https://sqs.${region}.amazonaws.com/${account}/${announced}`;
export const announcedBus = "default";

export const topicArn = (name: string) => `arn:aws:sns:${region}:${account}:${name}`;

export function jobFrom(feed: string) {
  const params: ParamsOf["converse"] = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
  return { jobId: `by-${feed}`, model: "fast-text", op: "converse" as const, params };
}

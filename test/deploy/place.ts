/** Where the service is deployed, and the names and jobs that the deployed app and those who try it share. */
import type { ParamsOf } from "../../lib/client/index.ts";

export interface Place {
  readonly account: string;
  readonly region: string;
  /** The stack's name; in lower case every name begins with it that CloudFormation does not make. */
  readonly stack: string;
}

export function namesIn({ account, region, stack }: Place) {
  const named = (what: string) => `${stack.toLowerCase()}-${what}`;
  const announced = named("announced");
  return {
    named,
    /** Whoever waits for replies hears of them in this queue: straight, or by a bus and a topic that lead there. */
    announced,
    announcedUrl: `https://sqs.${region}.amazonaws.com/${account}/${announced}`,
    bus: named("bus"),
    bucketOfJobs: named(`jobs-${account}-${region}`),
    topicArn: (what: string) => `arn:aws:sns:${region}:${account}:${named(what)}`,
    queueArn: (what: string) => `arn:aws:sqs:${region}:${account}:${named(what)}`,
  };
}

/** Models that a test may make wait, while others are asked. */
export const heldModel = "held-text";
export const deadModel = "dead-text";
/** The key of their only target, and its ledger's. */
export const here = "here";

/** A few words are enough: on AWS each of them is paid for. */
export const tokensMax = 16;

export function jobFrom(feed: string, model = "fast-text") {
  const params: ParamsOf["converse"] = {
    messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }],
    inferenceConfig: { maxTokens: tokensMax },
  };
  return { jobId: `by-${feed}`, model, op: "converse" as const, params };
}

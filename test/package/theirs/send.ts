/** Somebody's own code: its types are checked, and it runs. */
import { createClient, JobRefused, readJobs } from "sluice";
import type { Client, Job, ReplyOf } from "sluice";
import { CallFailed, createCallNow } from "sluice/call-now";
import type { CallOf } from "sluice/call-now";
import { ConfigError, defineConfig } from "sluice/config";
import { createTestClient } from "sluice/testing";

const config = defineConfig({
  models: {
    "fast-text": {
      targets: {
        west: { modelId: "us.amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: 1, max: 2 }, maxTokens: 100 },
      },
    },
  },
});

export const client: Client = createClient({
  queueUrls: { rt: "https://rt", bg: "https://bg", bulk: "https://bulk" },
  jobTable: "jobs",
  region: "us-west-2",
});
export const callNow = createCallNow({ config, leaseTable: "leases", region: "us-west-2" });

const job: CallOf<"converse"> = {
  jobId: "order-1",
  model: "fast-text",
  op: "converse",
  params: { messages: [{ role: "user", content: [{ text: "Summarise order 1." }] }] },
};

// @ts-expect-error: the params of converse are not those of another operation
export const wrong: Job = { ...job, params: { messages: "Summarise order 1." } };
// @ts-expect-error: an op is one of three
export const none: Job = { ...job, op: "chat" };
// @ts-expect-error: whoever calls has the reply in hand
export const told = () => callNow({ ...job, replyTo: { sns: "arn" } });

export async function types() {
  const reply: ReplyOf<"converse"> = await callNow(job);
  if (reply.ok && "output" in reply) {
    const text: string | undefined = reply.output.output?.message?.content?.[0]?.text;
    // @ts-expect-error: an output of converse is typed, and has no such field
    return [text, reply.output.choices];
  }
  // @ts-expect-error: a reply that is forgotten, or big, has no output of its own
  return reply.output;
}

for (const known of [JobRefused, ConfigError, CallFailed, readJobs]) if (typeof known !== "function") throw new Error();
const sluice = createTestClient({ config, answer: () => "A summary." });
const waited = await sluice.waitForReply(await sluice.submit(job));
if (waited.kind !== "replied" || !waited.reply.ok || !("output" in waited.reply)) throw new Error("no reply");
console.log(waited.reply.output.output?.message?.content?.[0]?.text);

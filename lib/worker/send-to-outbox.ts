import { sqsMessageBytesMax } from "../core/limits.ts";
import { encodeUnstored } from "../core/outbox.ts";
import type { UnstoredReply } from "../core/outbox.ts";
import type { World } from "../ports.ts";
import { outputApart } from "./fit-for-row.ts";
import type { Bound } from "./in-time.ts";

/** Resolves once SQS has the reply. One that is too big for a message needs S3 for its output first. */
export async function sendToOutbox(
  { objects, outbox }: Pick<World, "objects" | "outbox">,
  unstored: UnstoredReply,
  bound: Bound,
): Promise<void> {
  const { jobId } = unstored;
  let message = encodeUnstored(unstored);
  if (Buffer.byteLength(message) > sqsMessageBytesMax) {
    const put = (output: string) => bound(() => objects.putOutput(jobId, output));
    message = encodeUnstored({ ...unstored, reply: await outputApart(unstored.reply, put) });
  }
  await bound(() => outbox.send(message));
}

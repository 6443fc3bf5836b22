/** What a stored reply tells about its job; never its output, nor the provider's own words. */
import type { JobRow } from "../../../lib/core/claim.ts";
import { ownSentence, replyIn } from "../../../lib/core/reply.ts";
import { lasting } from "../../../lib/core/words.ts";

export function readReplyMeta(row: JobRow): readonly (readonly [name: string, value: string | undefined])[] {
  const reply = replyIn(row);
  if (reply === undefined) return [];
  const { model, target, totalMs, queueMs, leaseWaitMs, providerMs, sleptMs } = reply.meta;
  return [
    ["reply", reply.ok ? reply.status : `${reply.status}: ${reply.error.code}`],
    ["message", reply.ok ? undefined : ownSentence(reply.error.message)],
    ["answered by", target === undefined ? undefined : `${model}@${target}`],
    [
      "time",
      [
        ms("in all", totalMs),
        ms("queued", queueMs),
        ms("for leases", leaseWaitMs),
        ms("at Bedrock", providerMs),
        ms("slept", sleptMs),
      ].join(", "),
    ],
  ];
}

function ms(name: string, value: number): string {
  return `${name} ${lasting(value)}`;
}

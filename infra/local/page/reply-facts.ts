/** What a stored reply tells about its job; never its output. */
import type { JobRow } from "../../../lib/core/claim.ts";
import type { Reply } from "../../../lib/core/reply.ts";
import { span } from "../../../lib/view/words.ts";

export function readReplyMeta({ reply }: JobRow): readonly (readonly [name: string, value: string | undefined])[] {
  if (reply === undefined) return [];
  const read: Reply = JSON.parse(reply);
  const { model, target, totalMs, queueMs, leaseWaitMs, providerMs, sleptMs } = read.meta;
  return [
    ["reply", read.ok ? read.status : `${read.status}: ${read.error.code}`],
    ["message", read.ok ? undefined : read.error.message],
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
  return `${name} ${value < 60_000 ? `${(value / 1_000).toFixed(1)} s` : span(value)}`;
}

import type { JobRow } from "../core/claim.ts";
import type { Reply } from "../core/reply.ts";

/** The reply in a row, which the service itself has written. */
export function readReply({ reply: text }: Pick<JobRow, "reply">): Reply | undefined {
  if (text === undefined) return undefined;
  const reply: Reply = JSON.parse(text);
  return reply;
}

import { expect, test } from "vitest";

import { readReplyMeta } from "../../../infra/local/page/reply-facts.ts";
import { noMeta, replyOf, replyText } from "../../../lib/core/reply.ts";
import type { ReplyError } from "../../../lib/core/reply.ts";
import { a } from "../../a.ts";

const refused = { code: "provider_error", kind: "fatal", retryable: false } as const;
const sentence = "west refused the request: X (400); correct the params";

test.each<[says: string, error: ReplyError]>([
  ["beside the message", { ...refused, message: sentence, providerMessage: "about Ada" }],
  [
    "in the message, as replies of an earlier version have them",
    { ...refused, message: 'west refused the request: X (400): "about Ada"; correct the params' },
  ],
])("the page tells of a failed job, and keeps the provider's words to itself that stand %s", (_says, error) => {
  const reply = replyText(replyOf({ jobId: "j-1", metadata: { patient: "Ada" } }, { kind: "failed", error }, noMeta));
  const facts = readReplyMeta(a.row({ reply }));
  expect(facts).toContainEqual(["message", sentence]);
  expect(JSON.stringify(facts)).not.toContain("Ada");
});

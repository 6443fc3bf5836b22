import { existsSync } from "node:fs";
import { expect, test } from "vitest";

import { openReplies } from "../../lib/cli/replies-file.ts";
import { replyOf, noMeta } from "../../lib/core/reply.ts";
import { Fault } from "../../lib/terminal/fault.ts";

/** Linux has a disk that is always full; elsewhere there is none to try it on. */
const full = "/dev/full";

test.skipIf(!existsSync(full))(
  "replies that the disk has no room for end the command with a word, not with a crash",
  async () => {
    const replies = openReplies(full);
    const reply = replyOf({ jobId: "a", metadata: {} }, { kind: "cancelled" }, noMeta);
    await replies.write(reply);
    await expect(replies.close()).rejects.toThrow(
      new Fault("--replies /dev/full cannot be written (ENOSPC); check its directory, and the disk's room"),
    );
    await expect(replies.write(reply)).rejects.toThrow(Fault);
  },
);

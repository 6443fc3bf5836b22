import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { openReplies } from "../../lib/cli/replies-file.ts";
import { replyOf, noMeta } from "../../lib/core/reply.ts";
import { Fault } from "../../lib/terminal/fault.ts";
import { temporaryFolder } from "../temporary.ts";

const reply = replyOf({ jobId: "a", metadata: {} }, { kind: "cancelled" }, noMeta);
const line = `${JSON.stringify(reply)}\n`;
const folder = temporaryFolder("replies");

describe("a file of replies", () => {
  test("keeps what it held until there is a reply, and then holds those of this time alone", async () => {
    const file = join(folder, "before.jsonl");
    writeFileSync(file, line.repeat(3));
    const replies = openReplies(file);
    expect(readFileSync(file, "utf8")).toBe(line.repeat(3));
    await replies.write(reply);
    await replies.write(reply);
    await replies.close();
    expect(readFileSync(file, "utf8")).toBe(line.repeat(2));
  });

  test("is as it was where no reply came", async () => {
    const file = join(folder, "none.jsonl");
    writeFileSync(file, line);
    await openReplies(file).close();
    expect(readFileSync(file, "utf8")).toBe(line);
  });

  test("is there, empty, where there was none and no reply came", async () => {
    const file = join(folder, "new.jsonl");
    await openReplies(file).close();
    expect(readFileSync(file, "utf8")).toBe("");
  });
});

/** Linux has a disk that is always full; elsewhere there is none to try it on. */
const full = "/dev/full";

test.skipIf(!existsSync(full))(
  "replies that the disk has no room for end the command with a word, not with a crash",
  async () => {
    const replies = openReplies(full);
    await replies.write(reply);
    await expect(replies.close()).rejects.toThrow(
      new Fault("--replies /dev/full cannot be written (ENOSPC); check its directory, and the disk's room"),
    );
    await expect(replies.write(reply)).rejects.toThrow(Fault);
  },
);

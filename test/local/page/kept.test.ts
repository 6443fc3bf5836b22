import { describe, expect, test } from "vitest";

import { keep } from "../../../infra/local/page/kept.ts";

/** Reads that end when they are told to, and a clock. */
function aKeeper() {
  let nowMs = 0;
  const reads: PromiseWithResolvers<string>[] = [];
  const read = () => {
    const next = Promise.withResolvers<string>();
    reads.push(next);
    return next.promise;
  };
  const kept = keep(read, (tookMs) => Math.max(5_000, 2 * tookMs), { nowMs: () => nowMs });
  const at = (ms: number) => void (nowMs = ms);
  return { kept, reads, at };
}

describe("what is read for all who look", () => {
  test("is read once for those who come while it is read, who all wait for it", async () => {
    const { kept, reads } = aKeeper();
    const looks = [kept.get(), kept.get()];
    reads[0]?.resolve("list");
    expect([await Promise.all(looks), reads.length]).toEqual([["list", "list"], 1]);
  });

  test("is kept from the end of the read on, the longer the longer that took", async () => {
    const { kept, reads, at } = aKeeper();
    const first = kept.get();
    at(10_000);
    reads[0]?.resolve("first");
    await first;
    at(29_999);
    expect([await kept.get(), reads.length]).toEqual(["first", 1]);
    at(30_000);
    void kept.get();
    expect(reads).toHaveLength(2);
  });

  test("is read anew after a change, whoever still reads what was before", async () => {
    const { kept, reads } = aKeeper();
    const before = kept.get();
    kept.forget();
    const after = kept.get();
    reads[1]?.resolve("after");
    expect(await after).toBe("after");
    reads[0]?.resolve("before");
    expect(await before).toBe("before");
    expect([await kept.get(), reads.length]).toEqual(["after", 2]);
  });

  test("is an error for all who waited for it, and for a second more", async () => {
    const { kept, reads, at } = aKeeper();
    const looks = [kept.get(), kept.get()];
    reads[0]?.reject(new Error("no queue"));
    for (const look of looks) await expect(look).rejects.toThrow("no queue");
    await expect(kept.get()).rejects.toThrow("no queue");
    at(1_000);
    const next = kept.get();
    reads[1]?.resolve("there again");
    expect(await next).toBe("there again");
  });
});

import { expect, test } from "vitest";
import { amissIn } from "./body-rules.ts";

test(
  "of a thousand batches no body is lost: each is answered or kept, and its neighbours run",
  async () => expect(await amissIn(1_000)).toBeUndefined(),
  600_000,
);

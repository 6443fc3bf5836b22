import { expect, test } from "vitest";
import { amissIn } from "./body-rules.ts";

test("of a batch no body is lost: each is answered or kept, and its neighbours run", async () =>
  expect(await amissIn(30)).toBeUndefined());

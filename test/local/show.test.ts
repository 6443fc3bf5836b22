import { expect, test } from "vitest";

import { showOn } from "../../infra/local/show.ts";
import type { ServiceNews } from "../../infra/local/service.ts";
import { screenOn } from "../../lib/terminal/screen.ts";

const saidOf = (...all: readonly ServiceNews[]) => {
  const told: string[] = [];
  const show = showOn(screenOn({ write: (text: string) => told.push(text) > 0 }), []);
  for (const news of all) show.news(news);
  return told.join("");
};

test("an engine that has died is told, with what to do: nothing else on the screen would say why all stands still", () => {
  expect(saidOf({ kind: "gone", from: "DynamoDB" })).toBe(
    "the engine of DynamoDB has died, and nothing works without it; end this with Ctrl-C, and start again\n",
  );
});

test("a log that the disk has no room for is told, with its name", () => {
  expect(saidOf({ kind: "log-lost", from: "bg", code: "ENOSPC" })).toBe(
    "the log of bg cannot be written (ENOSPC), and goes on without a word; see to the disk's room\n",
  );
});

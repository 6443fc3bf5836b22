import { expect, test } from "vitest";

import { showOn } from "../../infra/local/show.ts";
import { screenOn } from "../../lib/terminal/screen.ts";

test("an engine that has died is told, with what to do: nothing else on the screen would say why all stands still", () => {
  const told: string[] = [];
  const write = (text: string) => told.push(text) > 0;
  showOn(screenOn({ write }), []).news({ kind: "gone", from: "DynamoDB" });
  expect(told.join("")).toBe(
    "the engine of DynamoDB has died, and nothing works without it; end this with Ctrl-C, and start again\n",
  );
});

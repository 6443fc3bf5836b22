import { expect, test } from "vitest";
import { stageText } from "../../lib/core/stage.ts";
import type { Stage } from "../../lib/core/stage.ts";
import { t0 } from "../a.ts";

const step = "fast-text@us-west-2";
const life: [stage: Stage, text: string][] = [
  [{ kind: "queued" }, "queued"],
  [{ kind: "waiting", step }, "waiting"],
  [{ kind: "attempt", step, attempt: 2, attemptsMax: 4 }, "attempt=2/4"],
  [{ kind: "backoff", step, untilMs: t0 }, "backoff"],
  [{ kind: "requeued", untilMs: t0, cause: "capacity" }, "requeued until 2026-11-29T12:00:00.000Z"],
  [{ kind: "ended", status: "succeeded" }, "succeeded"],
];

test.each(life)("the stage %j reads %s", (stage, text) => {
  expect(stageText(stage)).toBe(text);
});

test("a time that no calendar has is shown as its number", () => {
  expect(stageText({ kind: "requeued", untilMs: Number.NaN, cause: "capacity" })).toBe("requeued until NaN");
  expect(stageText({ kind: "requeued", untilMs: 1e300, cause: "capacity" })).toBe("requeued until 1e+300");
});

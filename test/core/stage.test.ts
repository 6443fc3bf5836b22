import { expect, test } from "vitest";
import { stageRow, stageText } from "../../lib/core/stage.ts";
import type { Stage } from "../../lib/core/stage.ts";
import { t0 } from "../a.ts";

const step = "fast-text@us-west-2";
const life: [stage: Stage, text: string, step?: string][] = [
  [{ kind: "queued" }, "queued"],
  [{ kind: "waiting", step }, "waiting", step],
  [{ kind: "attempt", step, attempt: 2, attemptsMax: 4 }, "attempt=2/4", step],
  [{ kind: "backoff", step, untilMs: t0 }, "backoff", step],
  [{ kind: "requeued", untilMs: t0 }, "requeued until 2026-11-29T12:00:00.000Z"],
  [{ kind: "ended", status: "succeeded" }, "succeeded"],
];

test.each(life)("the stage %j reads %s", (stage, text, atStep) => {
  expect(stageText(stage)).toBe(text);
  expect(stageRow(stage, t0)).toEqual({
    stage: text,
    stageAtMs: t0,
    ...(atStep === undefined ? {} : { step: atStep }),
  });
});

test("a time that no calendar has is shown as its number", () => {
  expect(stageText({ kind: "requeued", untilMs: Number.NaN })).toBe("requeued until NaN");
  expect(stageText({ kind: "requeued", untilMs: 1e300 })).toBe("requeued until 1e+300");
});

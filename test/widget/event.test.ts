import { describe, expect, test } from "vitest";
import { widgetAsk } from "../../lib/widget/event.ts";
import type { WidgetAsk } from "../../lib/widget/event.ts";

const ask = (event: unknown) => widgetAsk(event, (name) => ["bg", "fast-text@us-west-2"].includes(name));
const theme = "dark" as const;
const widgetContext = {
  dashboardName: "Sluice",
  widgetId: "widget-16",
  theme,
  params: {},
  forms: { all: {} },
  width: 588,
};

describe("what the console asks", () => {
  test.each<[says: string, event: unknown, asked: WidgetAsk]>([
    ["documentation", { describe: true, widgetContext }, { kind: "describe" }],
    ["to see, in its theme", { widgetContext }, { kind: "show", theme }],
    [
      "to see, in a theme that we do not have",
      { widgetContext: { theme: "sepia" } },
      { kind: "show", theme: "system" },
    ],
    [
      "to cancel",
      { action: "cancel", jobId: "order-8812", widgetContext },
      { kind: "cancel", theme, jobId: "order-8812" },
    ],
    ["to pause a lane", { action: "pause", name: "bg", widgetContext }, { kind: "pause", theme, name: "bg" }],
    [
      "to resume a target",
      { action: "resume", name: "fast-text@us-west-2" },
      { kind: "resume", theme: "system", name: "fast-text@us-west-2" },
    ],
    ["whatever a test event of the Lambda console says", { key1: "value1" }, { kind: "show", theme: "system" }],
    ["nothing that could be read", null, { kind: "show", theme: "system" }],
    ["nothing that could be read", "describe", { kind: "show", theme: "system" }],
  ])("%s", (_says, event, asked) => expect(ask(event)).toEqual(asked));

  test.each<[event: object, says: string]>([
    [{ action: "cancel" }, "jobId names no job"],
    [{ action: "cancel", jobId: "<script>" }, "jobId names no job"],
    [{ action: "cancel", jobId: 8_812 }, "jobId names no job"],
    [{ action: "cancel", jobId: "x".repeat(129) }, "jobId names no job"],
    [{ action: "pause" }, "neither a lane nor a limit of the config"],
    [{ action: "pause", name: "L#fast-text@us-west-2#0" }, "neither a lane nor a limit of the config"],
    [{ action: "resume", name: "__proto__" }, "neither a lane nor a limit of the config"],
    [{ action: "forget", jobId: "order-8812" }, "none of cancel, pause, resume"],
    [{ action: ["cancel"], jobId: "order-8812" }, "none of cancel, pause, resume"],
  ])("%j is refused with the remedy", (event, says) =>
    expect(ask(event)).toMatchObject({ kind: "fault", message: expect.stringContaining(says) }),
  );
});

import { describe, expect, test } from "vitest";

import { screenOn } from "../../infra/local/screen.ts";

function on(facts: { readonly isTTY?: boolean; readonly columns?: number }, environment: NodeJS.ProcessEnv = {}) {
  let written = "";
  const clock = { nowMs: 0 };
  const screen = screenOn({ ...facts, write: (text) => (written += text) }, environment, () => clock.nowMs);
  return { screen, clock, written: () => written.replaceAll("\r\u001B[2K", "<erase>") };
}

describe("on a terminal", () => {
  test("a status is drawn over the last one", () => {
    const { screen, written } = on({ isTTY: true });
    screen.status("1 of 3");
    screen.status("2 of 3");
    expect(written()).toBe("<erase>1 of 3<erase>2 of 3");
  });

  test("a line pushes the status down", () => {
    const { screen, written } = on({ isTTY: true });
    screen.status("1 of 3");
    screen.line("hello");
    expect(written()).toBe("<erase>1 of 3<erase>hello\n1 of 3");
  });

  test("a status never wraps", () => {
    const { screen, written } = on({ isTTY: true, columns: 100 });
    screen.status("x".repeat(200));
    expect(written()).toBe(`<erase>${"x".repeat(99)}`);
  });

  test("there are colours, unless they are unwanted", () => {
    expect(on({ isTTY: true }).screen.style("green", "ok")).toBe("\u001B[32mok\u001B[39m");
    expect(on({ isTTY: true }, { NO_COLOR: "1" }).screen.style("green", "ok")).toBe("ok");
  });
});

describe("elsewhere", () => {
  test("a status is a line, at most one in three seconds, and never the same twice", () => {
    const { screen, clock, written } = on({});
    for (const [nowMs, text] of [
      [0, "a"],
      [2_999, "b"],
      [3_000, "c"],
      [9_000, "c"],
      [9_001, "d"],
    ] as const) {
      clock.nowMs = nowMs;
      screen.status(text);
    }
    expect(written()).toBe("c\nd\n");
  });

  test("nothing is erased and nothing coloured", () => {
    const { screen, written } = on({});
    screen.line(screen.style("green", "hello"));
    screen.clear();
    expect(written()).toBe("hello\n");
  });
});

import { describe, expect, test } from "vitest";

import { screenOn } from "../../lib/terminal/screen.ts";

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
    expect(written()).toBe(`<erase>${"x".repeat(98)}…`);
  });

  test("nor does a line, which is cut, and keeps its colours apart", () => {
    const { screen, written } = on({ isTTY: true, columns: 10 });
    screen.line(screen.style("red", "0123456789ab"));
    expect(written()).toBe("\u001B[31m012345678…\u001B[39m\n");
  });

  test("nor what has to be read to its end, which is broken at words", () => {
    const { screen, written } = on({ isTTY: true, columns: 12 });
    screen.tell("one two three four\nfive", "yellow");
    expect(written().replaceAll("\u001B[33m", "(").replaceAll("\u001B[39m", ")")).toBe(
      "(one two)\n(  three four)\n(five)\n",
    );
  });

  test("80 columns are meant where a terminal does not say how many it has", () => {
    const { screen, written } = on({ isTTY: true, columns: 0 });
    screen.line("x".repeat(81));
    expect(written()).toBe(`${"x".repeat(79)}…\n`);
  });

  test("there are colours, unless they are unwanted", () => {
    expect(on({ isTTY: true }).screen.style("green", "ok")).toBe("\u001B[32mok\u001B[39m");
    expect(on({ isTTY: true }, { NO_COLOR: "1" }).screen.style("green", "ok")).toBe("ok");
  });
});

describe("elsewhere", () => {
  test("a status is a line when its facts have changed, at most one in three seconds", () => {
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

  test("and after half a minute without a line, changed or not", () => {
    const { screen, clock, written } = on({});
    for (const nowMs of [3_000, 32_999, 33_000, 60_000]) {
      clock.nowMs = nowMs;
      screen.status(`${nowMs / 1_000} s, 0 of 1`, "0 of 1");
    }
    expect(written()).toBe("3 s, 0 of 1\n33 s, 0 of 1\n");
  });

  test("nothing is cut and nothing broken", () => {
    const { screen, written } = on({ columns: 10 });
    screen.line("x".repeat(20));
    screen.tell("one two three four");
    expect(written()).toBe(`${"x".repeat(20)}\none two three four\n`);
  });

  test("nothing is erased and nothing coloured", () => {
    const { screen, written } = on({});
    screen.line(screen.style("green", "hello"));
    screen.clear();
    expect(written()).toBe("hello\n");
  });
});

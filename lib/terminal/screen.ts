/** What a person sees while it runs: lines, and below them one that is drawn again and again on a terminal. */
import { styleText } from "node:util";

import { cut, fold } from "./width.ts";

export interface Screen {
  /** One line; on a terminal it is cut to the width. */
  line(text: string): void;
  /** What has to be read to its end: on a terminal it is broken at words. */
  tell(text: string, format?: Format): void;
  /** On a terminal it replaces the last one; elsewhere it is a line of its own, when `facts` changed or half a minute on. */
  status(text: string, facts?: string): void;
  /** Takes the last status away. */
  clear(): void;
  style(format: Format, text: string): string;
}

type Format = Parameters<typeof styleText>[0];

/** The part of process.stderr that is used. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Some terminals do not say how wide they are. */
const columnsDefault = 80;
const plainStatusMs = 3_000;
const sameStatusMs = 30_000;
const eraseLine = "\r\u001B[2K";

export function screenOn(out: Terminal, environment: NodeJS.ProcessEnv = process.env, nowMs = Date.now): Screen {
  const terminal = out.isTTY === true;
  const colours = terminal && (environment["NO_COLOR"] ?? "") === "";
  let shown = "";
  let toldFacts = "";
  let toldAtMs = nowMs();

  function clear(): void {
    if (terminal && shown !== "") out.write(eraseLine);
  }

  function write(lines: readonly string[]): void {
    clear();
    for (const text of lines) out.write(`${text}\n`);
    if (terminal) out.write(shown);
    toldAtMs = nowMs();
  }

  function style(format: Format, text: string): string {
    return colours ? styleText(format, text, { validateStream: false }) : text;
  }

  return {
    style,
    line(text) {
      write([terminal ? cut(text, widthOf(out)) : text]);
    },
    tell(text, format = "reset") {
      const lines = text.split("\n").flatMap((line) => (terminal ? fold(line, widthOf(out)) : [line]));
      write(lines.map((line) => (format === "reset" ? line : style(format, line))));
    },
    status(text, facts = text) {
      if (terminal) {
        // A line that wraps could not be taken back.
        shown = cut(text, widthOf(out) - 1);
        out.write(eraseLine + shown);
        return;
      }
      const passedMs = nowMs() - toldAtMs;
      if (passedMs < (facts === toldFacts ? sameStatusMs : plainStatusMs)) return;
      toldFacts = facts;
      write([text]);
    },
    clear() {
      clear();
      shown = "";
    },
  };
}

/** The columns of a terminal. */
export function widthOf({ columns = 0 }: Pick<Terminal, "columns">): number {
  return columns > 0 ? columns : columnsDefault;
}

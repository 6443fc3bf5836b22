/** What a person sees while it runs: lines, and below them one that is drawn again and again on a terminal. */
import { styleText } from "node:util";

export interface Screen {
  line(text: string): void;
  /** On a terminal it replaces the last one; elsewhere it is a line of its own, seldom. */
  status(text: string): void;
  /** Takes the last status away. */
  clear(): void;
  style(format: Parameters<typeof styleText>[0], text: string): string;
}

/** The part of process.stderr that is used. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Some terminals do not say how wide they are. */
const columnsMin = 60;
const plainStatusMs = 3_000;
const eraseLine = "\r\u001B[2K";

export function screenOn(out: Terminal, environment: NodeJS.ProcessEnv = process.env, nowMs = Date.now): Screen {
  const terminal = out.isTTY === true;
  const colours = terminal && (environment["NO_COLOR"] ?? "") === "";
  let shown = "";
  let toldAtMs = nowMs();

  function clear(): void {
    if (terminal && shown !== "") out.write(eraseLine);
  }

  return {
    line(text) {
      clear();
      out.write(`${text}\n`);
      if (terminal) out.write(shown);
      toldAtMs = nowMs();
    },
    status(text) {
      if (terminal) {
        // A line that wraps could not be taken back.
        shown = text.slice(0, Math.max(columnsMin, out.columns ?? 0) - 1);
        out.write(eraseLine + shown);
        return;
      }
      if (text === shown || nowMs() - toldAtMs < plainStatusMs) return;
      shown = text;
      out.write(`${text}\n`);
      toldAtMs = nowMs();
    },
    clear() {
      clear();
      shown = "";
    },
    style: (format, text) => (colours ? styleText(format, text, { validateStream: false }) : text),
  };
}

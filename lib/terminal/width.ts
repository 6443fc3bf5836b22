/** Text on lines of so many columns. Colours take no room, emoji and the wide letters of Asia take two columns. */
const pieces = /\p{Cc}\[[\d;]*m|./gsu;
const wide =
  /^[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|^\p{Emoji_Presentation}/u;

export function columnsOf(text: string): number {
  return (text.match(pieces) ?? []).reduce((sum, piece) => sum + columnsOfPiece(piece), 0);
}

/** The text, its end replaced by `…` where it does not fit; colours that began before the cut end after it. */
export function cut(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let room = columns - 1;
  let full = false;
  const kept = (text.match(pieces) ?? []).filter((piece) => {
    const needs = columnsOfPiece(piece);
    full ||= needs > room;
    if (needs > 0 && full) return false;
    room -= needs;
    return true;
  });
  const end = kept.findLastIndex((piece) => columnsOfPiece(piece) > 0) + 1;
  return [...kept.slice(0, end), "…", ...kept.slice(end)].join("");
}

/** The text on as many lines as it needs, broken at spaces, all but the first indented. A longer word has its own line. */
export function fold(text: string, columns: number, indent = "  "): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (columnsOf(`${last} ${word}`) <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(indent + word);
  }
  return lines;
}

/** What somebody else wrote, on one line and without what would move the cursor. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** JSON of the same value that moves no cursor: `JSON.stringify` leaves the upper controls, CSI among them, as they are. */
export function plainJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(
    /[\u007F-\u009F]/g,
    (control) => `\\u00${control.charCodeAt(0).toString(16)}`,
  );
}

function columnsOfPiece(piece: string): number {
  if (piece.startsWith("\u001B")) return 0;
  return wide.test(piece) ? 2 : 1;
}

import { columnsOf, cut } from "./width.ts";

export interface Column {
  readonly title: string;
  /** Numbers stand on the right. */
  readonly right?: true;
  /** Gives way first where the terminal is narrow; without any, the last one does. */
  readonly gives?: true;
}

const gap = "  ";
const givenMin = 8;

/** Lines of a table: one for the titles, one a row, none longer than `columns`; what does not fit ends in `…`. */
export function tableLines(
  titles: readonly Column[],
  rows: readonly (readonly string[])[],
  columns: number,
): readonly string[] {
  const all = [titles.map(({ title }) => title), ...rows];
  const widths = widthsIn(titles, all, columns);
  return all.map((cells) => {
    const laid = cells.map((cell, place) => {
      const width = widths[place] ?? 0;
      const text = cut(cell, Math.max(1, width));
      const pad = " ".repeat(Math.max(0, width - columnsOf(text)));
      return titles[place]?.right === true ? pad + text : text + pad;
    });
    const line = laid.join(gap).trimEnd();
    return Number.isFinite(columns) ? cut(line, columns) : line;
  });
}

function widthsIn(titles: readonly Column[], all: readonly (readonly string[])[], columns: number): readonly number[] {
  const widths = titles.map((_title, place) => Math.max(...all.map((cells) => columnsOf(cells[place] ?? ""))));
  const giving = titles.flatMap(({ gives }, place) => (gives === true ? [place] : []));
  let over = widths.reduce((sum, width) => sum + width, 0) + gap.length * (titles.length - 1) - columns;
  // The widest gives first, a column at a time, so that what is short stays whole.
  while (over > 0) {
    const widest = giving.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
    if (widest === undefined || (widths[widest] ?? 0) <= givenMin) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
  return widths;
}

import { columnsOf, cut } from "./width.ts";

export interface Column {
  readonly title: string;
  /** Numbers stand on the right. */
  readonly right?: true;
  /** Gives way where the terminal is narrow, those on the right before those on the left. */
  readonly gives?: true;
}

const gap = "  ";
const givenMin = 14;

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
  const widths = titles.map((_title, place) =>
    // A call takes no more arguments than the stack has room for, and a table may be longer.
    all.reduce((widest, cells) => Math.max(widest, columnsOf(cells[place] ?? "")), 0),
  );
  const giving = titles.flatMap(({ gives }, place) => (gives === true ? [place] : []));
  let over = widths.reduce((sum, width) => sum + width, 0) + gap.length * (titles.length - 1) - columns;
  // From the right: a name that is cut cannot be typed again, a reason that is cut can be asked for.
  for (const place of giving.toReversed()) {
    const width = widths[place] ?? 0;
    const given = Math.min(Math.max(0, over), Math.max(0, width - givenMin));
    widths[place] = width - given;
    over -= given;
  }
  return widths;
}

/**
 * The known name that somebody meant by another: the same but for case and punctuation, or a slip away, two from
 * six letters on. Of a dotted name only the last part is compared.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const meant = letters(name);
  const slipsMax = Math.min(2, Math.max(1, Math.floor(meant.length / 3)));
  const [best] = known
    .map((candidate) => ({ candidate, away: slips(meant, letters(candidate.split(".").at(-1) ?? candidate)) }))
    .filter(({ away }) => away <= slipsMax)
    .toSorted((a, b) => a.away - b.away);
  return best?.candidate;
}

function letters(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** How many letters must be put in, left out, changed or swapped with their neighbour to make one word of the other. */
function slips(a: string, b: string): number {
  let before: number[] = [];
  // mutant: `1` → `2`: nobody looks at a column beyond the last.
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const changed = at(above, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current.push(
        Math.min(
          at(above, column) + 1,
          at(current, column - 1) + 1,
          changed,
          swapped ? at(before, column - 2) + 1 : Infinity,
        ),
      );
    }
    [before, above] = [above, current];
  }
  return at(above, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}

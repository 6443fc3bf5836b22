/**
 * Why a mutant may survive, said above its line in the words in which it is printed:
 *
 *     // mutant: `<` → `<=`: a wait that ends now is none.
 *     // mutant: without `.trim()`: Number() trims.
 */
import type { Mutant } from "./mutate.ts";

export interface Excuse {
  /** Of the code that follows it. */
  readonly line: number;
  readonly words: string;
}

export function excusesIn(text: string): Excuse[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    const [, said] = /^\s*\/\/ mutant: (.*)/.exec(line) ?? [];
    if (said === undefined) return [];
    const [, words] = /^(without `.+?`|`.+?` → `.+?`): ./.exec(said) ?? [];
    if (words === undefined) throw new Error(`nothing is excused by: ${line.trim()}`);
    const below = lines.slice(index).findIndex((next) => !/^\s*\/\//.test(next));
    return [{ line: index + below + 1, words }];
  });
}

/** `` `<` → `<=` ``, on one line. */
export function wordsOf(text: string, { edit }: Mutant): string {
  const [was, becomes] = [text.slice(edit.start, edit.end), edit.becomes].map((code) =>
    code.replaceAll(/\s+/g, " ").replaceAll(/^[, ]+|[, ]+$/g, ""),
  );
  return becomes === "" || becomes === ";" ? `without \`${was}\`` : `\`${was}\` → \`${becomes}\``;
}

export function excuses({ line, words }: Excuse, text: string, mutant: Mutant): boolean {
  return line === mutant.line && words === wordsOf(text, mutant);
}

/** The colours of a chart's lines: what has a word of its own has the same one in every chart, whatever stands beside it. */
export const hues = ["blue", "orange", "teal", "violet", "pink", "brown", "grey", "amber", "green", "red"] as const;
export type Hue = (typeof hues)[number];

/** Outcomes of attempts, ends of jobs, lanes, and a limit against what is used of it. */
const byWord: ReadonlyMap<string, Hue> = new Map<string, Hue>([
  ["answered", "green"],
  ["throttled", "amber"],
  ["daily", "orange"],
  ["not-ready", "blue"],
  ["transient", "violet"],
  ["hung", "pink"],
  ["target", "brown"],
  ["context", "teal"],
  ["cut", "grey"],
  ["fatal", "red"],
  ["succeeded", "green"],
  ["failed", "red"],
  ["expired", "amber"],
  ["cancelled", "grey"],
  ["rt", "violet"],
  ["bg", "blue"],
  ["bulk", "brown"],
  ["in use", "blue"],
  ["limit", "grey"],
]);

/** Of `bg p95` the lane's, of `JobsSucceeded` the end's; undefined: the label has none of its own. */
function ownHue(label: string): Hue | undefined {
  const word = label
    .replace(/^Jobs(?=[A-Z])/, "")
    .replace(/,.*$| p\d+$/, "")
    .toLowerCase();
  return byWord.get(word);
}

/** One for each label; those without a hue of their own get what the others leave, in the order of `hues`. */
export function huesOf(labels: readonly string[]): readonly Hue[] {
  const own = labels.map(ownHue);
  const free = hues.filter((hue) => !own.includes(hue));
  const left = free.length > 0 ? free : hues;
  let given = 0;
  return own.map((hue) => hue ?? left[given++ % left.length] ?? "blue");
}

/** `lib/ERRORS.md`: every error that a person can meet, in the words of the code when it is run. */
import { cliErrors } from "./cli.ts";
import { clientErrors } from "./client.ts";
import { configErrors } from "./config.ts";
import type { Group } from "./entry.ts";
import { bodyErrors, envelopeErrors } from "./envelope.ts";
import { functionErrors } from "./functions.ts";
import { replyErrors } from "./replies.ts";
import { startErrors } from "./start.ts";
import { synthErrors } from "./synth.ts";

interface Part {
  readonly title: string;
  readonly about: string;
  readonly groups: readonly Group[];
}

const parts: readonly Part[] = [
  { title: "Before anything runs", about: "", groups: [configErrors, ...synthErrors] },
  { title: "Sending jobs", about: "", groups: [envelopeErrors, bodyErrors, ...clientErrors] },
  {
    title: "The reply's error",
    about:
      "`error.code` of a job that has no output, and `error.message`. `retryable` tells whether the same job under another `jobId` may go better.",
    groups: replyErrors,
  },
  { title: "The command line", about: "", groups: cliErrors },
  { title: "On one machine", about: "", groups: startErrors },
  { title: "While it runs", about: "", groups: functionErrors },
];

/** A message, in the words of the code, and the line that says when it comes. */
export interface Told {
  readonly message: string;
  readonly when: string;
  readonly remedy: string;
}

interface ToldGroup extends Omit<Group, "entries"> {
  readonly told: readonly Told[];
}

/** Runs all of the code that the catalogue names. */
export async function tellAll(): Promise<
  readonly (Omit<Part, "groups"> & { readonly groups: readonly ToldGroup[] })[]
> {
  const all = [];
  for (const { groups, ...part } of parts) {
    const told = [];
    for (const group of groups) told.push(await tell(group));
    all.push({ ...part, groups: told });
  }
  return all;
}

async function tell({ entries, ...group }: Group): Promise<ToldGroup> {
  const told = [];
  for (const [place, [when, message, remedy = ""]] of entries.entries()) {
    try {
      told.push({ when, message: await message(), remedy });
    } catch (cause) {
      throw new Error(`${group.title}, entry ${place + 1} (${when}) gives no message: ${String(cause)}`, { cause });
    }
  }
  return { ...group, told };
}

const head = `# Every error, with its cause and its remedy

Each line of code here is what the code says when it is run: \`npm run errors\` writes this file, and a test holds it to the
code. Names and numbers in it are examples. A message that says itself what to do is not explained again.
`;

export function documentOf(all: Awaited<ReturnType<typeof tellAll>>): string {
  const lines = all.flatMap(({ title, about, groups }) => [
    `## ${title}`,
    ...(about === "" ? [] : [about]),
    ...groups.flatMap((group) => [
      `### ${group.title}`,
      ...(group.about === "" ? [] : [group.about]),
      group.told.map(lineOf).join("\n"),
    ]),
  ]);
  return `${[head.trimEnd(), ...lines].join("\n\n")}\n`;
}

function lineOf({ message, when, remedy }: Told): string {
  const words = [when, remedy].filter((text) => text !== "").join(" ");
  return `- ${code(message.replaceAll(/\n\s*/g, " "))}${words === "" ? "" : `\\\n  ${words}`}`;
}

/** Fenced by more backticks than it holds. */
function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${pad}${text}${pad}${fence}`;
}

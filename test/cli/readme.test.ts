import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";

import { programOf } from "../../lib/cli/program.ts";

const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
const [, section = ""] = /\n## The command line\n([\s\S]*?)\n## /.exec(readme) ?? [];
const program = programOf(() => Promise.resolve());

function commandOf(words: readonly string[], command: Command = program): Command | undefined {
  const [word, ...rest] = words;
  const inner = command.commands.find((each) => each.name() === word);
  return inner === undefined ? (command === program ? undefined : command) : commandOf(rest, inner);
}

test("the README's table has every command, and none that is not there", () => {
  const cells = [...section.matchAll(/^\| (`.*?) +\|/gm)].map(([, cell = ""]) => cell);
  const names = cells.flatMap((cell) =>
    [...cell.matchAll(/`([a-z]+(?: [a-z]+)?)/g)].flatMap(([, name = ""]) => name.split(" ")),
  );
  const known = program.commands.map((command) => command.name());
  const inner = program.commands.flatMap(({ commands }) => commands.map((command) => command.name()));
  expect(new Set(names)).toEqual(new Set([...known, ...inner]));
});

test("each option that the README names with a command is one of it", () => {
  const lines = [...section.matchAll(/^\| `(.*?)`.*|^npx sluice (.*)$/gm)].map(([, cell, line]) => cell ?? line ?? "");
  const named = lines.flatMap((line) => {
    const command = commandOf(line.split(" "));
    return [...line.matchAll(/--[a-z-]+/g)].map(([option]) => ({ command, option, line }));
  });
  expect(named.length).toBeGreaterThan(8);
  const unknown = named.filter(({ command, option }) => !command?.options.some(({ long }) => long === option));
  expect(unknown.map(({ line, option }) => `${line}: ${option}`)).toEqual([]);
});

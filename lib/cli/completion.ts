import { Argument } from "commander";
import type { Command } from "commander";

import { exitCodes } from "./run.ts";
import type { Run } from "./run.ts";

const help = `
Examples:
  npx sluice completion bash > ~/.local/share/bash-completion/completions/sluice
  npx sluice completion zsh > "\${fpath[1]}/_sluice"

It completes a command named sluice: an installed one, or alias sluice='npx sluice'.`;

export function addCompletion(program: Command, run: Run): void {
  const command = program
    .command("completion")
    .summary("a script for bash or zsh")
    .description("Prints a script that has a shell complete commands and options.")
    .addArgument(new Argument("<shell>", "which").choices(["bash", "zsh"]))
    .addHelpText("after", help);
  command.action((shell: string) =>
    run(command, (cli) => {
      cli.lines((shell === "zsh" ? zshLines : bashLines)(program));
      return Promise.resolve(exitCodes.ok);
    }),
  );
}

interface Words {
  /** The command as it is typed, `parked list`; empty: before any. */
  readonly path: string;
  readonly words: readonly string[];
}

/** What may follow each command. */
function wordsOf(command: Command, global: readonly string[], path = ""): readonly Words[] {
  const own = path === "" ? [] : flagsOf(command);
  const inner = command.commands.map((each) => each.name());
  return [
    { path, words: [...inner, ...own, ...global] },
    ...command.commands.flatMap((each) => wordsOf(each, global, `${path} ${each.name()}`.trim())),
  ];
}

function flagsOf(command: Command): readonly string[] {
  return command.options.flatMap(({ long }) => long ?? []);
}

/** Both walk the words before the cursor down to a command, and offer what may follow it, else files. */
function bashLines(program: Command): readonly string[] {
  return [
    "_sluice() {",
    '  local word at="" known=""',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    ...walk(program),
    "  done",
    ...known(program, (words) => `known="${words.join(" ")}"`),
    '  COMPREPLY=($(compgen -W "$known" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '  [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "complete -F _sluice sluice",
  ];
}

/** The file is the function: zsh loads it when it is asked for the first time. */
function zshLines(program: Command): readonly string[] {
  return [
    "#compdef sluice",
    'local word at=""',
    "local -a known",
    'for word in "${(@)words[2,CURRENT-1]}"; do',
    ...walk(program),
    "done",
    ...known(program, (words) => `known=(${words.join(" ")})`),
    "compadd -a known || _files",
  ];
}

function walk(program: Command): readonly string[] {
  const paths = commandsOf(program).flatMap(({ path }) => (path === "" ? [] : [`"${path}"`]));
  return ['    case "${at:+$at }$word" in', `      ${paths.join("|")}) at="\${at:+$at }$word" ;;`, "    esac"];
}

function known(program: Command, offer: (words: readonly string[]) => string): readonly string[] {
  return [
    '  case "$at" in',
    ...commandsOf(program).map(({ path, words }) => `    "${path}") ${offer(words)} ;;`),
    "  esac",
  ];
}

function commandsOf(program: Command): readonly Words[] {
  return wordsOf(program, [...flagsOf(program), "--help"]);
}

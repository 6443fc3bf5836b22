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

function bashLines(program: Command): readonly string[] {
  const known = wordsOf(program, [...flagsOf(program), "--help"]);
  return [
    "_sluice() {",
    '  local word path="" words=""',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case "${path:+$path }$word" in',
    `      ${known.flatMap(({ path }) => (path === "" ? [] : [`"${path}"`])).join("|")}) path="\${path:+$path }$word" ;;`,
    "    esac",
    "  done",
    '  case "$path" in',
    ...known.map(({ path, words }) => `    "${path}") words="${words.join(" ")}" ;;`),
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '  [[ ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "complete -F _sluice sluice",
  ];
}

function zshLines(program: Command): readonly string[] {
  return ["#compdef sluice", "autoload -U +X bashcompinit && bashcompinit", ...bashLines(program)];
}

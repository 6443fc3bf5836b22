/** The end of a command's help: what `--json` gives, and examples. */
export function ending(json: string, examples: readonly string[]): string {
  const [first = "", ...more] = json.split("\n");
  return [
    "",
    `JSON: ${first}`,
    ...more.map((line) => `      ${line}`),
    "",
    "Examples:",
    ...examples.map((example) => `  npx sluice ${example}`),
    "",
    "Where the deployment is: npx sluice --help",
  ].join("\n");
}

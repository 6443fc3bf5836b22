/** `npm start`: the whole service on this machine. See `--help`. */
import { readOptions, usage } from "./options.ts";

const isWatched = process.stdin.isTTY && process.stdout.isTTY && (process.env["CI"] ?? "") === "";
const asked = readOptions(process.argv.slice(2), process.env["INIT_CWD"], isWatched);
switch (asked.kind) {
  case "help":
    process.stdout.write(usage);
    break;
  case "fault":
    process.stderr.write(`${asked.message}\nSee npm start -- --help\n`);
    process.exitCode = 2;
    break;
  case "run": {
    // Engines and CDK are loaded only now: help and faults are told at once.
    const { start } = await import("./main.ts");
    process.exitCode = await start(asked.options);
  }
}

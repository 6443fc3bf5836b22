import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { documentOf, tellAll } from "./document.ts";
import { internal } from "./internal.ts";
import { sitesIn } from "./sites.ts";
import type { Site } from "./sites.ts";

const root = join(import.meta.dirname, "../..");
const files = globSync("{lib,functions,infra}/**/*.ts", { cwd: root, exclude: ["**/*.d.ts"] }).toSorted();
const sites = sitesIn(Object.fromEntries(files.map((file) => [file, readFileSync(join(root, file), "utf8")])));

const all = await tellAll();
const messages = all.flatMap(({ groups }) => groups).flatMap(({ told }) => told.map(({ message }) => message));

const textOf = ({ parts }: Site) => parts.join("…");
const placeOf = (site: Site) => `${site.file}:${site.line}: ${textOf(site)}`;

const isMet = ({ parts }: Site) => messages.some((message) => holds(message, parts));

/** Whether a text has all of the parts, one behind the other. */
function holds(text: string, parts: readonly string[]): boolean {
  let from = 0;
  return parts.every((part) => {
    const at = text.indexOf(part, from);
    from = at + part.length;
    return at >= 0;
  });
}

const isInternal = (site: Site) =>
  internal.some(({ at, says }) => site.file.startsWith(at) && (says === undefined || textOf(site).includes(says)));

describe("lib/ERRORS.md", () => {
  test("says what the code says: `npm run errors` writes it anew", () =>
    expect(documentOf(all), "it does not: run npm run errors").toBe(readFileSync(join(root, "lib/ERRORS.md"), "utf8")));

  test("has every message of the code, each provoked by an entry in test/errors, but those that nobody meets", () =>
    expect(sites.filter((site) => !isMet(site) && !isInternal(site)).map(placeOf)).toEqual([]));

  test("excuses nothing that is not there, or is provoked", () => {
    const idle = internal.filter(
      (each) =>
        !sites.some((site) => !isMet(site) && site.file.startsWith(each.at) && textOf(site).includes(each.says ?? "")),
    );
    expect(idle).toEqual([]);
  });

  test("tells every message once", () =>
    expect(messages.filter((message, place) => messages.indexOf(message) !== place)).toEqual([]));
});

describe("a message is found in the code", () => {
  test.each<[says: string, code: string, found: readonly string[]]>([
    ["where it is thrown", 'throw new Error("it is late");', ["it is late"]],
    ["in an error of our own", 'class Late extends Error {}\nthrow new Late("it is late");', ["it is late"]],
    ["where a class gives it", 'class Late extends Error { constructor() { super("it is late"); } }', ["it is late"]],
    ["with what it leaves open", "throw new Error(`${name} is late`);", ["… is late"]],
    ["on both ways", 'throw new Error(late ? "it is late" : "it is early");', ["it is early", "it is late"]],
    ["through a constant", 'const what = "it is late"; throw new Error(what);', ["it is late"]],
    ["through a helper", 'function fail(what: string) { throw new Error(what); }\nfail("it is late");', ["it is late"]],
    [
      "through what a helper returns",
      'const why = () => { return "it is late"; };\nthrow new Error(`no: ${why()}`);',
      ["it is late"],
    ],
    ["as a fault", 'export const fault = { field: "at", message: "it is late" };', ["it is late"]],
    ["as a check of the config", 'z.string().regex(/a/, "it is late");', ["it is late"]],
    ["as a warning of a synth", 'Annotations.of(this).addWarningV2("late", "it is late");', ["it is late"]],
    ["and nothing else is", 'console.log("it is late"); throw new Error("ENOENT");', []],
  ])("%s", (_says, code, found) => expect(sitesIn({ "a.ts": code }).map(textOf).toSorted()).toEqual(found));

  test("through a helper of another file", () => {
    const texts = {
      "lib/a.ts": 'import { fail } from "./b.ts";\nfail("it is late");',
      "lib/b.ts": "export function fail(what: string) { throw new Error(`no: ${what}`); }",
    };
    expect(sitesIn(texts).map(placeOf)).toEqual(["lib/a.ts:2: it is late"]);
  });
});

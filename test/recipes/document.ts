/** The blocks of lib/RECIPES.md that are files, written where they run as a reader's own would: `sluice` is a package to them. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll } from "vitest";

const root = join(import.meta.dirname, "../..");
export const recipes = readFileSync(join(root, "lib/RECIPES.md"), "utf8");

/** The package's doors, as they open in a checkout: on what each is built from. */
function doors(): Readonly<Record<string, string>> {
  const { exports }: { exports: Record<string, string | { readonly default: string }> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  return Object.fromEntries(
    Object.entries(exports).map(([door, to]) => [
      door,
      (typeof to === "string" ? to : to.default).replace(/^\.\/dist\/(.*)\.js$/, "./$1.ts"),
    ]),
  );
}

/** A block that is a file begins with a comment that is its name. */
const file = /^```\w+\n(?:\/\/|#) ([\w.-]+)\n([\s\S]*?)^```$/gm;

export interface Kitchen {
  /** The folder of the recipe with this number. */
  folder(recipe: number): string;
  /** What a module of it exports. */
  load<Module>(recipe: number, name: string): Promise<Module>;
  readonly root: string;
  /** Every file, as `number/name`. */
  readonly files: readonly string[];
}

/** Below the checkout, so that the packages beside Sluice are found; gone with the tests of the file. */
export function openKitchen(): Kitchen {
  mkdirSync(join(root, ".sluice"), { recursive: true });
  const kitchen = mkdtempSync(join(root, ".sluice/recipes-"));
  afterAll(() => rmSync(kitchen, { recursive: true, force: true }));

  const own = join(kitchen, "node_modules/sluice");
  mkdirSync(own, { recursive: true });
  for (const part of ["lib", "infra", "functions"]) symlinkSync(join(root, part), join(own, part), "dir");
  write(join(own, "package.json"), JSON.stringify({ name: "sluice", type: "module", exports: doors() }));
  write(join(kitchen, "package.json"), JSON.stringify({ name: "yours", private: true, type: "module" }));
  write(
    join(kitchen, "tsconfig.json"),
    JSON.stringify({ extends: join(root, "tsconfig.json"), include: ["*/*.ts"], exclude: ["node_modules"] }),
  );

  const files = sections().flatMap(({ number, text }) =>
    [...text.matchAll(file)].map(([, name = "", code = ""]) => {
      write(join(kitchen, number, name), code);
      return `${number}/${name}`;
    }),
  );
  // A recipe that shows no config has the deployment's beside it, as its reader has.
  const config = `export { default } from "../../../infra/sluice.config.ts";\n`;
  for (const { number } of sections().filter((one) => !files.includes(`${one.number}/sluice.config.ts`)))
    write(join(kitchen, number, "sluice.config.ts"), config);
  return {
    root: kitchen,
    files,
    folder: (recipe) => join(kitchen, String(recipe)),
    async load<Module>(recipe: number, name: string) {
      const module: Module = await import(pathToFileURL(join(kitchen, String(recipe), name)).href);
      return module;
    },
  };
}

function sections(): readonly { readonly number: string; readonly text: string }[] {
  return recipes
    .split(/^## (?=\d)/m)
    .slice(1)
    .map((text) => ({ number: /^\d+/.exec(text)?.[0] ?? "", text }));
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

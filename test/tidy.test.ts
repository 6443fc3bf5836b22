/** The rules of the house, held on every file. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const sources = globSync("{lib,functions,infra,test}/**/*.ts", { cwd: root }).toSorted();
const documents = globSync(["*.md", "{lib,infra}/*.md"], { cwd: root });
const textOf = (file: string) => readFileSync(join(root, file), "utf8");

/** A file without its comments. */
const codeOf = (file: string) => textOf(file).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");

/** What a file imports: other files by their path from the root, packages by their name. */
function importsOf(file: string): string[] {
  const specifiers = [
    ...textOf(file).matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm),
  ];
  return specifiers
    .map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? "")
    .map((name) => (name.startsWith(".") ? relative(root, join(root, dirname(file), name)) : name));
}

/** The names by which links find a document's headings. */
function anchorsOf(document: string): string[] {
  return [...textOf(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

const isFile = (name: string) => /^(lib|functions|infra|test)\//.test(name);

/** The floors, and what each may stand on. */
const floors: readonly { readonly says: string; readonly floor: RegExp; readonly standsOn: RegExp }[] = [
  { says: "core stands on nothing but itself", floor: /^lib\/core\//, standsOn: /^lib\/core\// },
  { says: "the ports speak the core's words", floor: /^lib\/ports\.ts$/, standsOn: /^lib\/core\// },
  { says: "the config is checked by a library", floor: /^lib\/config\.ts$/, standsOn: /^lib\/core\/|^zod$/ },
  {
    says: "the stack and the command line tell a config by one hash",
    floor: /^lib\/config-hash\.ts$/,
    standsOn: /^lib\/core\/|^node:crypto$/,
  },
  {
    says: "the worker sees the core and the ports, and no adapter",
    floor: /^lib\/worker\//,
    standsOn: /^lib\/(core|worker)\/|^lib\/ports\.ts$/,
  },
  {
    says: "memory needs neither AWS nor Node",
    floor: /^lib\/memory\/(?!(world|invoke)\.ts$)/,
    standsOn: /^lib\/(core|memory)\/|^lib\/ports\.ts$|^zod$/,
  },
  {
    says: "nor do its world, which makes the worker that runs on it, and what invokes that",
    floor: /^lib\/memory\/(world|invoke)\.ts$/,
    standsOn: /^lib\/(core|worker|memory)\/|^lib\/ports\.ts$/,
  },
  { says: "the view is made of the core's words alone", floor: /^lib\/view\//, standsOn: /^lib\/(core|view)\// },
  {
    says: "the widget is the view, what operators do, and the ports",
    floor: /^lib\/widget\//,
    standsOn: /^lib\/(core|operate|view|widget)\/|^lib\/client\/cancel\.ts$|^lib\/ports\.ts$/,
  },
  {
    says: "the adapters know the SDK and no worker",
    floor: /^lib\/aws\//,
    standsOn: /^lib\/(core|aws)\/|^lib\/ports\.ts$|^node:|^@aws-sdk|^@smithy|^@aws-lambda-powertools/,
  },
  {
    says: "the client stands on the adapters and sees no worker",
    floor: /^lib\/client\//,
    standsOn: /^lib\/(core|aws|client)\/|^lib\/ports\.ts$|^node:|^@aws-sdk/,
  },
  {
    says: "what operators do stands on the ports",
    floor: /^lib\/operate\//,
    standsOn: /^lib\/(core|operate)\/|^lib\/ports\.ts$/,
  },
  {
    says: "a call is the worker in the caller's process: on AWS where the lease table and Bedrock are, in memory where the rest is",
    floor: /^lib\/call-now\//,
    standsOn: /^lib\/(core|aws|worker|memory|client|call-now)\/|^lib\/(ports|config)\.ts$/,
  },
  {
    says: "a test's client is the client and the worker, with memory below them",
    floor: /^lib\/testing\//,
    standsOn: /^lib\/(core|memory|worker|client|testing)\/|^lib\/(ports|config)\.ts$/,
  },
  {
    says: "what a person sees of text knows numbers and nothing of jobs",
    floor: /^lib\/terminal\//,
    standsOn: /^lib\/terminal\/|^lib\/core\/words\.ts$|^node:/,
  },
  {
    says: "the command line stands on the client, the adapters and what operators do",
    floor: /^lib\/cli\//,
    standsOn:
      /^lib\/(core|aws|client|operate|terminal|cli)\/|^lib\/(ports|config|config-hash)\.ts$|^node:|^@aws-sdk|^commander$/,
  },
  {
    says: "a function is its adapters and the worker",
    floor: /^functions\//,
    standsOn: /^lib\/|^functions\/(opening\.ts$|handlers\/)|^node:|^@middy|^aws-lambda$/,
  },
  {
    says: "the stack shares numbers and config with the runtime, nothing else",
    floor: /^infra\/(?!local\/)/,
    standsOn:
      /^lib\/(core\/|config(-hash)?\.ts$)|^infra\/(?!local\/)|^node:|^aws-cdk-lib|^constructs$|^cdk-nag$|^esbuild$/,
  },
  { says: "the local service may use all of it", floor: /^infra\/local\//, standsOn: /^(lib|infra)\/|^node:|^[a-z@]/ },
  { says: "tests may look at everything", floor: /^test\//, standsOn: /./ },
];

describe("arrows point one way", () => {
  test.each(floors)("$says", ({ floor, standsOn }) => {
    const astray = sources
      .filter((file) => floor.test(file))
      .flatMap((file) =>
        importsOf(file)
          .filter((name) => !standsOn.test(name))
          .map((name) => `${file} imports ${name}`),
      );
    expect(astray).toEqual([]);
  });

  test("every file belongs to one floor", () => {
    expect(sources.filter((file) => floors.filter(({ floor }) => floor.test(file)).length !== 1)).toEqual([]);
  });
});

test("the core and the view have no clock, no dice, no environment and no IO", () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\.|\bset(Timeout|Interval|Immediate)\b|\bcrypto\b|\bconsole\b|\bawait\b|\basync\b|\bfetch\(/;
  const core = sources.filter((file) => /^lib\/(core|view)\//.test(file));
  expect(core.flatMap((file) => impure.exec(codeOf(file))?.map((found) => `${file}: ${found}`) ?? [])).toEqual([]);
});

test("no file is longer than one reads without getting lost", () => {
  const linesMax = 330;
  const long = sources.filter((file) => !file.startsWith("test/") && textOf(file).split("\n").length > linesMax);
  expect(long).toEqual([]);
});

describe("nothing is left lying about", () => {
  /** Where a reader, Lambda or a command comes in. */
  const doors =
    /^(functions\/|infra\/(app|index|package)\.ts|infra\/examples\/app\.ts|infra\/local\/(start|environment-child)\.ts|lib\/(client|call-now|testing)\/index\.ts|lib\/cli\/start\.ts|test\/.*\.test\.ts|test\/.*\.config\.ts|test\/bench\/|test\/browser\/(screenshots|dashboard-picture)\.ts|test\/mutants\/run(ner)?\.ts|test\/simulation\/simulate\.ts|test\/deploy\/app\.ts|test\/package\/theirs\/|test\/(setup|own-tmpdir)\.ts|test\/account\/run\.ts|test\/errors\/write\.ts|test\/a\.ts)/;
  const imported = new Set(sources.flatMap(importsOf).filter(isFile));

  test("every file is a door or is imported", () => {
    expect(sources.filter((file) => !doors.test(file) && !file.endsWith(".d.ts") && !imported.has(file))).toEqual([]);
  });

  test("every import of a file exists", () => {
    expect([...imported].filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test("every file that the documents name exists", () => {
    const named = ["README.md", "lib/ARCHITECTURE.md", "lib/DECISIONS.md", "lib/RECIPES.md"].flatMap((document) =>
      [
        ...textOf(document).matchAll(
          /`((?:lib|functions|infra|test|core|worker|aws|memory|client|view|operate|widget)\/[\w./-]*)`/g,
        ),
      ].map(([, name = ""]) => name),
    );
    const places = (name: string) => [name, `${name}.ts`, `lib/${name}`, `lib/${name}.ts`];
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => !places(name).some((place) => existsSync(join(root, place))))).toEqual([]);
  });

  test("every script that the documents name is one of the package's", () => {
    const { scripts }: { readonly scripts: Record<string, string> } = JSON.parse(textOf("package.json"));
    const named = documents.flatMap((document) =>
      [...textOf(document).matchAll(/\bnpm run ([a-z][a-z:-]*)/g)].map(([, name = ""]) => name),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  test("every link in the documents leads to a file, and to a heading of it, that are there", () => {
    const links = documents.flatMap((document) =>
      [...textOf(document).matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g)].map(
        ([link, path = "", anchor = ""]) => ({
          link: `${document}: ${link}`,
          file: path === "" ? document : join(dirname(document), path),
          anchor,
        }),
      ),
    );
    const isThere = (file: string, anchor: string) =>
      existsSync(join(root, file)) && (anchor === "" || anchorsOf(file).includes(anchor));
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter(({ file, anchor }) => !isThere(file, anchor)).map(({ link }) => link)).toEqual([]);
  });

  test("decisions are numbered without a gap, and each that is named is there", () => {
    const numbers = [...textOf("lib/DECISIONS.md").matchAll(/^## D-(\d+) /gm)].map(([, number]) => Number(number));
    expect(numbers).toEqual(numbers.map((_number, place) => place + 1));
    const named = [...sources, "README.md", "lib/ARCHITECTURE.md", "lib/DECISIONS.md", "infra/OPERATIONS.md"].flatMap(
      (file) => [...textOf(file).matchAll(/\bD-(\d+)\b/g)].map(([, number]) => Number(number)),
    );
    expect(named.filter((number) => !numbers.includes(number))).toEqual([]);
  });

  test("no work is put off in a comment", () => {
    const later = /\b(TODO|FIXME|XXX)\b/;
    expect(sources.filter((file) => file !== "test/tidy.test.ts" && later.test(textOf(file)))).toEqual([]);
  });
});

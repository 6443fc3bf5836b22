/**
 * Every text in the code that can become a part of an error's message, found by following messages back to where their
 * words are written: through constants, helpers, their arguments and what they return.
 */
import { dirname, join } from "node:path";
import { parseSync, visitorKeys } from "oxc-parser";
import type { ArrowFunctionExpression, Function, Node } from "oxc-parser";

/** A text as it is written: its fixed parts, with something else between each two. */
export interface Site {
  readonly file: string;
  readonly line: number;
  readonly parts: readonly string[];
}

type AnyFunction = Function | ArrowFunctionExpression;

/** An expression, with the functions around it, the innermost first. */
interface Placed {
  readonly node: Node;
  readonly in: Module;
  readonly within: readonly AnyFunction[];
}

/** What of one file messages may pass through, by its name. */
interface Module {
  readonly file: string;
  readonly text: string;
  /** Of other files: `file#name`. */
  readonly imports: Map<string, string>;
  readonly constants: Map<string, Placed[]>;
  readonly fields: Map<string, Placed[]>;
}

/** All files together. Functions by `file#name`, those of objects and classes by `.name`. */
interface Code {
  readonly modules: Map<string, Module>;
  readonly named: Map<string, AnyFunction[]>;
  readonly names: Map<AnyFunction, string>;
  readonly returned: Map<AnyFunction, Placed[]>;
  readonly calls: Map<string, (readonly Placed[])[]>;
  /** Where a message begins. */
  readonly messages: Placed[];
}

/** Of objects that tell what is wrong: problems, faults, replies' errors, zod's and CDK's checks, what a parked message says. */
const messageFields = new Set(["message", "error", "detail", "why", "trouble", "validate"]);
/** The second argument is the message: zod's checks and CDK's annotations. */
const messageCalls = /^(regex|refine|addWarningV2|addInfoV2|addErrorV2|addError)$/;

/** `texts`: what each file holds, by its path. */
export function sitesIn(texts: Readonly<Record<string, string>>): Site[] {
  const trees = Object.entries(texts).map(([file, text]) => ({ file, text, tree: parseSync(file, text).program }));
  const isError = errorClasses(trees.map(({ tree }) => tree));
  const code: Code = {
    modules: new Map(),
    named: new Map(),
    names: new Map(),
    returned: new Map(),
    calls: new Map(),
    messages: [],
  };
  for (const { file, text, tree } of trees) {
    const module: Module = { file, text, imports: new Map(), constants: new Map(), fields: new Map() };
    code.modules.set(file, module);
    for (const seen of walk(tree)) note(seen, module, code, isError);
  }
  return follow(code);
}

interface Seen {
  readonly node: Node;
  readonly parents: readonly Node[];
}

function* walk(node: Node, parents: readonly Node[] = []): Generator<Seen> {
  yield { node, parents };
  const inner = [node, ...parents];
  for (const key of visitorKeys[node.type] ?? []) {
    const child: unknown = Reflect.get(node, key);
    for (const each of Array.isArray(child) ? child : [child]) if (isNode(each)) yield* walk(each, inner);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function isFunction(node: Node): node is AnyFunction {
  return ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"].includes(node.type);
}

/** Whether a class of that name is an error, ours among them. */
function errorClasses(trees: readonly Node[]): (name: string) => boolean {
  const ours = new Set(
    trees
      .flatMap((tree) => [...walk(tree)])
      .flatMap(({ node }) => {
        if (node.type !== "ClassDeclaration" || node.superClass?.type !== "Identifier") return [];
        return node.superClass.name.endsWith("Error") && node.id !== null ? [node.id.name] : [];
      }),
  );
  return (name) => name.endsWith("Error") || ours.has(name);
}

function isErrorClass(parents: readonly Node[], isError: (name: string) => boolean): boolean {
  const around = parents.find(({ type }) => type === "ClassDeclaration");
  return (
    around?.type === "ClassDeclaration" && around.superClass?.type === "Identifier" && isError(around.superClass.name)
  );
}

function note({ node, parents }: Seen, module: Module, code: Code, isError: (name: string) => boolean): void {
  const within = parents.filter(isFunction);
  const placed = (expression: Node): Placed => ({ node: expression, in: module, within });
  const returns = (by: AnyFunction | undefined, expression: Node | null) => {
    if (by !== undefined && expression !== null) add(code.returned, by, placed(expression));
  };
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- messages come by few of the 170 kinds of nodes
  switch (node.type) {
    case "ImportDeclaration":
      for (const each of node.specifiers) {
        if (each.type !== "ImportSpecifier" || each.imported.type !== "Identifier") continue;
        if (!node.source.value.startsWith(".")) continue;
        module.imports.set(each.local.name, `${join(dirname(module.file), node.source.value)}#${each.imported.name}`);
      }
      return;
    case "FunctionDeclaration":
    case "FunctionExpression":
      nameFunction(node, parents[0], module, code);
      return;
    case "ArrowFunctionExpression":
      nameFunction(node, parents[0], module, code);
      if (node.expression) add(code.returned, node, { node: node.body, in: module, within: [node, ...within] });
      return;
    case "ReturnStatement":
      return returns(within[0], node.argument);
    case "YieldExpression":
      return returns(within[0], node.argument);
    case "VariableDeclarator":
      if (node.id.type === "Identifier" && node.init !== null) add(module.constants, node.id.name, placed(node.init));
      return;
    case "Property": {
      if (node.key.type !== "Identifier" || parents[0]?.type === "ObjectPattern") return;
      add(module.fields, node.key.name, placed(node.value));
      if (messageFields.has(node.key.name)) code.messages.push(placed(node.value));
      return;
    }
    case "ObjectExpression": {
      // What went wrong, and what to do, told as two lines.
      const named = new Map(
        node.properties.flatMap((each) => (each.type === "Property" ? [[nameOf(each.key), each.value] as const] : [])),
      );
      const [what, remedy] = [named.get("what"), named.get("remedy")];
      if (what !== undefined && remedy !== undefined) code.messages.push(placed(what), placed(remedy));
      return;
    }
    case "NewExpression":
      if (node.callee.type === "Identifier" && isError(node.callee.name))
        code.messages.push(...node.arguments.map(placed));
      return;
    case "CallExpression": {
      const given = node.arguments.map(placed);
      if (node.callee.type === "Super" && isErrorClass(parents, isError)) code.messages.push(...given);
      const name = calledName(node.callee, module);
      if (name === undefined) return;
      add(code.calls, name, given);
      if (name.startsWith(".") && messageCalls.test(name.slice(1)) && given[1] !== undefined)
        code.messages.push(given[1]);
      return;
    }
    default:
      return;
  }
}

function nameOf(key: Node): string {
  return key.type === "Identifier" ? key.name : "";
}

function nameFunction(node: AnyFunction, parent: Node | undefined, { file }: Module, code: Code): void {
  const own =
    node.type === "FunctionDeclaration" ? node.id : parent?.type === "VariableDeclarator" ? parent.id : undefined;
  const key = parent?.type === "Property" || parent?.type === "MethodDefinition" ? parent.key : undefined;
  const name =
    own?.type === "Identifier" ? `${file}#${own.name}` : key?.type === "Identifier" ? `.${key.name}` : undefined;
  if (name === undefined) return;
  code.names.set(node, name);
  add(code.named, name, node);
}

function calledName(callee: Node, module: Module): string | undefined {
  if (callee.type === "Identifier") return module.imports.get(callee.name) ?? `${module.file}#${callee.name}`;
  return callee.type === "MemberExpression" && callee.property.type === "Identifier"
    ? `.${callee.property.name}`
    : undefined;
}

function follow(code: Code): Site[] {
  const sites: Site[] = [];
  const seen = new Set<Node>();
  const passed = new Set<string>();
  const ahead = [...code.messages];
  for (let at = ahead.pop(); at !== undefined; at = ahead.pop()) {
    if (seen.has(at.node)) continue;
    seen.add(at.node);
    const { node, in: module, within } = at;
    const here = (...nodes: readonly (Node | null)[]) =>
      nodes.forEach((inner) => inner !== null && ahead.push({ node: inner, in: module, within }));
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- and pass through few
    switch (node.type) {
      case "Literal":
        if (typeof node.value === "string") sites.push(siteAt(at, [node.value]));
        break;
      case "TemplateLiteral":
        sites.push(
          siteAt(
            at,
            node.quasis.map(({ value }) => value.cooked ?? value.raw),
          ),
        );
        here(...node.expressions);
        break;
      case "ConditionalExpression":
        here(node.consequent, node.alternate);
        break;
      case "BinaryExpression":
        if (node.operator === "+") here(node.left, node.right);
        break;
      case "LogicalExpression":
        here(node.left, node.right);
        break;
      case "ParenthesizedExpression":
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
        here(node.expression);
        break;
      case "AwaitExpression":
        here(node.argument);
        break;
      case "ArrayExpression":
        here(...node.elements);
        break;
      case "SpreadElement":
        here(node.argument);
        break;
      case "ObjectExpression":
        here(...node.properties.map((each) => (each.type === "Property" ? each.value : each.argument)));
        break;
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        ahead.push(...(code.returned.get(node) ?? []));
        break;
      case "CallExpression": {
        const name = calledName(node.callee, module);
        for (const called of code.named.get(name ?? "") ?? []) ahead.push(...(code.returned.get(called) ?? []));
        // A list that is mapped, joined: what is in it, and what is made of it.
        if (node.callee.type === "MemberExpression")
          here(node.callee.object, ...node.arguments.filter((each) => each.type === "ArrowFunctionExpression"));
        break;
      }
      case "MemberExpression":
        if (node.object.type === "Identifier" && node.computed) here(node.object);
        else if (node.property.type === "Identifier") ahead.push(...(module.fields.get(node.property.name) ?? []));
        break;
      case "Identifier": {
        const by = within.find((each) => placeOf(each, node.name) >= 0);
        if (by === undefined) {
          ahead.push(...constantsOf(node.name, module, code));
          for (const named of code.named.get(module.imports.get(node.name) ?? `${module.file}#${node.name}`) ?? [])
            ahead.push(...(code.returned.get(named) ?? []));
          break;
        }
        const name = code.names.get(by);
        const place = placeOf(by, node.name);
        if (name === undefined || passed.has(`${name} ${place}`)) break;
        passed.add(`${name} ${place}`);
        ahead.push(...(code.calls.get(name) ?? []).flatMap((given) => given[place] ?? []));
        break;
      }
      default:
        break;
    }
  }
  return sites
    .filter(({ parts }) => parts.some((part) => /\w \w|^ \w|\w $/.test(part)))
    .toSorted((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
}

function constantsOf(name: string, module: Module, code: Code): readonly Placed[] {
  const own = module.constants.get(name);
  if (own !== undefined) return own;
  const [file = "", exported = ""] = module.imports.get(name)?.split("#") ?? [];
  return code.modules.get(file)?.constants.get(exported) ?? [];
}

/** Which of a function's parameters has that name; -1: none. */
function placeOf(by: AnyFunction, name: string): number {
  return by.params.findIndex((each) => {
    const pattern = each.type === "AssignmentPattern" ? each.left : each;
    return pattern.type === "Identifier" && pattern.name === name;
  });
}

function siteAt({ node, in: { file, text } }: Placed, parts: readonly string[]): Site {
  return { file, line: text.slice(0, node.start).split("\n").length, parts };
}

function add<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

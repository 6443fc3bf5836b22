/** Which slips of the hand a source text is tried with: each mutant is one replacement in it. */
import { parseSync, visitorKeys } from "oxc-parser";
import type { Expression, Node, Span } from "oxc-parser";

export interface Mutant {
  /** `rate#17`: the noun of its file, and its number there. */
  readonly id: string;
  readonly line: number;
  readonly edit: Edit;
  /** What is switched as a whole, for the edit alone would be no expression. */
  readonly host: Host;
}

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly becomes: string;
}

export interface Host extends Span {
  readonly kind: "expression" | "statement" | "block";
}

/** All mutants of a file in the order of its text. */
export function mutantsOf(noun: string, text: string): Mutant[] {
  const { program, errors } = parseSync(`${noun}.ts`, text, { preserveParens: false });
  if (errors.length > 0) throw new Error(`${noun}.ts cannot be parsed: ${errors[0]?.message}`);
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  const seen = new Set<string>();
  return [...slipsIn(program, { text, told: new Set() })]
    .filter(({ edit }) => !seen.has(textWith(text, edit)) && seen.add(textWith(text, edit)))
    .map(({ edit, host }, index) => ({ id: `${noun}#${index}`, line: lineAt(edit.start), edit, host }));
}

export function textWith(text: string, { start, end, becomes }: Edit): string {
  return text.slice(0, start) + becomes + text.slice(end);
}

/** The file with all of its mutants in it, each asleep until `mutant(id)` says that it is its turn. */
export function switched(text: string, mutants: readonly Mutant[]): string {
  const insertions: { readonly at: number; readonly outward: number; readonly text: string }[] = [];
  for (const { id, edit, host } of mutants) {
    const { start, end } = host;
    const insert = (at: number, outward: number, code: string) => insertions.push({ at, outward, text: code });
    const asked = `mutant(${JSON.stringify(id)})`;
    switch (host.kind) {
      case "expression": {
        const inside = { start: edit.start - start, end: edit.end - start, becomes: edit.becomes };
        insert(start, start - end, `(${asked} ? (${textWith(text.slice(start, end), inside)}) : (`);
        insert(end, end - start, "))");
        break;
      }
      case "statement":
        // In braces of its own, lest an `else` that follows take this `if` for its own.
        insert(start, start - end - 0.5, `{ if (!${asked}) {`);
        insert(end, end - start + 0.5, "}}");
        break;
      case "block":
        insert(edit.start, 0, `if (${asked})${edit.becomes}`);
        break;
    }
  }
  // At one place what ends there ends from the inside out, before anything begins from the outside in.
  insertions.sort((a, b) => a.at - b.at || rank(a.outward) - rank(b.outward) || a.outward - b.outward);
  let from = 0;
  let result = "";
  for (const { at, text: inserted } of insertions) {
    result += text.slice(from, at) + inserted;
    from = at;
  }
  return result + text.slice(from);
}

const rank = (outward: number) => (outward > 0 ? 0 : 1);

interface Slip {
  readonly edit: Edit;
  readonly host: Host;
}

interface Within {
  readonly text: string;
  /** Conditions that have had their truths told from above. */
  readonly told: Set<Node>;
  readonly parent?: Node;
  /** The optional chain that a part of it cannot leave. */
  readonly chain?: Node;
}

function* slipsIn(node: Node, within: Within): Generator<Slip> {
  const host: Host = { ...spanOf(within.chain ?? node), kind: "expression" };
  for (const slip of slipsOf(node, within)) yield "edit" in slip ? slip : { edit: slip, host };
  for (const [key, child] of childrenOf(node)) {
    const inChain = node.type === "ChainExpression" ? node : within.chain;
    const { chain: _chain, ...rest } = within;
    const onChain = key === "expression" || key === "object" || key === "callee";
    yield* slipsIn(child, { ...rest, parent: node, ...(onChain && inChain !== undefined && { chain: inChain }) });
  }
}

/** Types, names and imports have no mutants. */
function childrenOf(node: Node): [key: string, child: Node][] {
  const keys = visitorKeys[node.type] ?? [];
  return Object.entries(node)
    .filter(([key]) => keys.includes(key) && !(key === "key" && "computed" in node && !node.computed))
    .flatMap(([key, value]) => [value].flat().map((child: unknown) => [key, child] as const))
    .flatMap(([key, child]): [string, Node][] => (isNode(child) && !isTypeOnly(child) ? [[key, child]] : []));
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function isTypeOnly({ type }: Node): boolean {
  return type === "ImportDeclaration" || (type.startsWith("TS") && !/^TS(As|Satisfies)Expression$/.test(type));
}

const comparisons = new Map([
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["===", ""],
  ["!==", ""],
]);

const arithmetic = new Map([
  ["+", "-"],
  ["-", "+"],
  ["*", "/"],
  ["/", "*"],
  ["%", "*"],
  ["**", "*"],
  ["+=", "-="],
  ["-=", "+="],
  ["++", "--"],
  ["--", "++"],
]);

const otherMethods = new Map([
  ["some", "every"],
  ["every", "some"],
  ["min", "max"],
  ["max", "min"],
  ["floor", "ceil"],
  ["ceil", "floor"],
  ["round", "floor"],
  ["startsWith", "endsWith"],
  ["endsWith", "startsWith"],
  ["replaceAll", "replace"],
  ["toUpperCase", "toLowerCase"],
]);

const idleMethods = new Set(["filter", "sort", "toSorted", "reverse", "trim", "toLowerCase", "slice", "replace"]);

/** Each slip that begins at this node; an edit alone is switched with the node. */
function* slipsOf(node: Node, { text, told, parent }: Within): Generator<Edit | Slip> {
  const { start, end } = node;
  const as = (becomes: string): Edit => ({ start, end, becomes });
  const operator = (from: Node, code: string, becomes: string): Edit => {
    const at = text.indexOf(code, from.end);
    return { start: at, end: at + code.length, becomes };
  };
  const truths = (condition: Expression, values: readonly boolean[]) => truthsOf(condition, values, told);

  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- a syntax tree has some 170 kinds of node, and slips are made in these alone
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement":
      yield* truths(node.test, [true, false]);
      break;
    case "ForStatement":
      if (node.test) yield* truths(node.test, [true, false]);
      break;
    case "LogicalExpression":
      if (node.operator === "??") {
        yield as(text.slice(node.left.start, node.left.end));
        yield as(text.slice(node.right.start, node.right.end));
        break;
      }
      yield operator(node.left, node.operator, node.operator === "&&" ? "||" : "&&");
      if (!told.has(node)) yield* truths(node, [node.operator === "||"]);
      break;
    case "BinaryExpression": {
      const boundary = comparisons.get(node.operator);
      if (boundary !== undefined && !told.has(node)) yield* truths(node, [true, false]);
      const other = boundary ?? arithmetic.get(node.operator) ?? "";
      if (other !== "") yield operator(node.left, node.operator, other);
      break;
    }
    case "UnaryExpression":
      if (node.operator === "-" || (node.operator === "!" && !told.has(node)))
        yield as(text.slice(node.argument.start, node.argument.end));
      break;
    case "AssignmentExpression":
      if (arithmetic.has(node.operator)) yield operator(node.left, node.operator, arithmetic.get(node.operator) ?? "");
      break;
    case "UpdateExpression":
      yield as(text.slice(start, end).replace(node.operator, arithmetic.get(node.operator) ?? ""));
      break;
    case "Literal":
      yield* slipsOfLiteral(node, parent);
      break;
    case "TemplateLiteral":
      yield as('""');
      break;
    case "ArrayExpression":
      yield* dropped(node.elements, text);
      break;
    case "ObjectExpression":
      yield* dropped(node.properties, text);
      break;
    case "ChainExpression":
      for (const { index } of text.slice(start, end).matchAll(/\?\.(?=[[(])/g)) yield gone(start + index, 2);
      for (const { index } of text.slice(start, end).matchAll(/\?(?=\.\w)/g)) yield gone(start + index, 1);
      break;
    case "CallExpression": {
      const { callee } = node;
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") break;
      const { name } = callee.property;
      const [argument] = node.arguments;
      // With a pattern both replace all that it finds.
      const isPattern = argument?.type === "Literal" && "regex" in argument;
      const other = isPattern ? undefined : otherMethods.get(name);
      if (other !== undefined) yield { ...spanOf(callee.property), becomes: other };
      if (idleMethods.has(name)) yield gone(callee.object.end, end - callee.object.end);
      break;
    }
    case "ExpressionStatement":
    case "ContinueStatement":
      yield { edit: as(";"), host: { start, end, kind: "statement" } };
      break;
    case "ReturnStatement":
      if (parent?.type === "SwitchCase") yield { edit: as(";"), host: { start, end, kind: "statement" } };
      break;
    case "BlockStatement":
      if (parent !== undefined && /^(Arrow)?Function/.test(parent.type)) yield emptied(node, "return");
      if (parent?.type === "ForOfStatement" || parent?.type === "ForStatement" || parent?.type === "WhileStatement")
        yield emptied(node, "continue");
      break;
  }
}

/** An empty block is left at once. */
function emptied({ start, end }: Node, leave: string): Slip {
  return { edit: { start: start + 1, end: end - 1, becomes: ` ${leave}; ` }, host: { start, end, kind: "block" } };
}

/** A part of `&&` is tried as true only, for a false one is the whole made false; of `||` the other way round. */
function* truthsOf(node: Expression, values: readonly boolean[], told: Set<Node>): Generator<Slip> {
  told.add(node);
  const host: Host = { ...spanOf(node), kind: "expression" };
  const isLogical = node.type === "LogicalExpression" && node.operator !== "??";
  const deciding = isLogical && node.operator === "||";
  const whole = isLogical ? values.filter((value) => value === deciding) : values;
  yield* whole.map((value) => ({ edit: { ...spanOf(node), becomes: String(value) }, host }));
  if (!isLogical) return;
  yield* truthsOf(node.left, [!deciding], told);
  if (isTruth(node.right)) yield* truthsOf(node.right, [!deciding], told);
}

/** The right part of a logical expression may be any value. */
function isTruth(node: Expression): boolean {
  if (node.type === "BinaryExpression") return comparisons.has(node.operator);
  return (node.type === "UnaryExpression" && node.operator === "!") || node.type === "LogicalExpression";
}

function* slipsOfLiteral(node: Extract<Node, { type: "Literal" }>, parent?: Node): Generator<Edit> {
  const { start, end, value } = node;
  if ("regex" in node) {
    const { pattern, flags } = node.regex;
    if (pattern.startsWith("^")) yield gone(start + 1, 1);
    if (pattern.endsWith("$")) yield gone(start + pattern.length, 1);
    if (flags.includes("i")) yield { start, end, becomes: `/${pattern}/${flags.replace("i", "")}` };
    return;
  }
  if (typeof value === "boolean") yield { start, end, becomes: String(!value) };
  if (typeof value === "number") yield { start, end, becomes: String(value + 1) };
  // What a comparison or a case says is the condition's to be wrong.
  const isCompared = parent?.type === "BinaryExpression" || parent?.type === "SwitchCase";
  if (typeof value === "string" && !isCompared) yield { start, end, becomes: value === "" ? '"mutant"' : '""' };
}

/** A list without each of its items. */
function* dropped(items: readonly (Node | null)[], text: string): Generator<Edit> {
  const [first, ...others] = items.filter((item) => item !== null);
  if (first === undefined) return;
  const comma = /^\s*,/.exec(text.slice(first.end))?.[0] ?? "";
  yield gone(first.start, (others[0]?.start ?? first.end + comma.length) - first.start);
  let before = first;
  for (const item of others) {
    yield gone(before.end, item.end - before.end);
    before = item;
  }
}

function gone(start: number, length: number): Edit {
  return { start, end: start + length, becomes: "" };
}

function spanOf({ start, end }: Span): Span {
  return { start, end };
}

/** The synthesized template as data: its intrinsic functions resolved, its resources by type. */
import { isObject } from "../../lib/core/json.ts";
import type { Json, JsonObject } from "../../lib/core/json.ts";

export interface Resource {
  /** Its logical id. */
  readonly id: string;
  readonly type: string;
  readonly properties: JsonObject;
}

/** What `Ref` (no attribute) or `Fn::GetAtt` of a resource or a pseudo parameter gives; undefined: not known here. */
export type LookUp = (id: string, attribute?: string) => string | undefined;

export function resourcesOf(template: JsonObject): readonly Resource[] {
  return Object.entries(objectAt(template, "Resources")).map(([id, resource]) => ({
    id,
    type: isObject(resource) && typeof resource["Type"] === "string" ? resource["Type"] : "",
    properties: isObject(resource) ? objectAt(resource, "Properties") : {},
  }));
}

/**
 * A value with every Ref, Fn::GetAtt, Fn::Join, Fn::Sub, Fn::Select and Fn::Split replaced. What nobody knows becomes
 * `${id}` or `${id.attribute}`, so that it is seen where it is used; AWS::NoValue takes its key away.
 */
export function resolve(value: Json, lookUp: LookUp): Json {
  if (Array.isArray(value)) return value.filter(hasValue).map((inner: Json) => resolve(inner, lookUp));
  if (!isObject(value)) return value;

  const [[name, argument] = [], ...more] = Object.entries(value);
  const intrinsic =
    name !== undefined && more.length === 0 && Object.hasOwn(intrinsics, name) ? intrinsics[name] : undefined;
  if (intrinsic !== undefined && argument !== undefined) return intrinsic(argument, lookUp);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      inner === undefined || !hasValue(inner) ? [] : [[key, resolve(inner, lookUp)]],
    ),
  );
}

/** A property as text, number, or object; throws where the template has something else. */
export function textAt(from: JsonObject, key: string): string {
  const value = from[key];
  if (typeof value !== "string") throw new Error(`the template has no text at ${key}`);
  return value;
}

export function numberAt(from: JsonObject, key: string, otherwise: number): number {
  const value = from[key] ?? otherwise;
  if (!Number.isFinite(Number(value))) throw new Error(`the template has no number at ${key}`);
  return Number(value);
}

export function objectAt(from: JsonObject, key: string): JsonObject {
  const value = from[key] ?? {};
  if (!isObject(value)) throw new Error(`the template has no object at ${key}`);
  return value;
}

const intrinsics: Readonly<Record<string, (argument: Json, lookUp: LookUp) => Json>> = {
  Ref: (id, lookUp) => named(lookUp, text(id)),
  "Fn::GetAtt": (argument, lookUp) => {
    const [id = "", ...attribute] = Array.isArray(argument) ? argument.map(text) : text(argument).split(".");
    return named(lookUp, id, attribute.join("."));
  },
  "Fn::Join": (argument, lookUp) => {
    const [by, parts] = pair(resolve(argument, lookUp));
    return list(parts).map(text).join(text(by));
  },
  "Fn::Sub": (argument, lookUp) => {
    const [template, own]: readonly [Json, Json] = Array.isArray(argument) ? pair(argument) : [argument, {}];
    return text(template).replaceAll(/\$\{([^!}]+)\}/g, (_whole, name: string) => {
      const mine = isObject(own) ? own[name] : undefined;
      if (mine !== undefined) return text(resolve(mine, lookUp));
      const [id = "", ...attribute] = name.split(".");
      return named(lookUp, id, attribute.join("."));
    });
  },
  "Fn::Select": (argument, lookUp) => {
    const [index, parts] = pair(resolve(argument, lookUp));
    return list(parts)[Number(index)] ?? null;
  },
  "Fn::Split": (argument, lookUp) => {
    const [by, whole] = pair(resolve(argument, lookUp));
    return text(whole).split(text(by));
  },
};

function named(lookUp: LookUp, id: string, attribute = ""): string {
  return attribute === "" ? (lookUp(id) ?? `\${${id}}`) : (lookUp(id, attribute) ?? `\${${id}.${attribute}}`);
}

/** A value as it stands in a text. */
export function text(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function hasValue(value: Json): boolean {
  return !isObject(value) || value["Ref"] !== "AWS::NoValue";
}

function pair(value: Json): [Json, Json] {
  const [first = null, second = null] = list(value);
  return [first, second];
}

function list(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

import type { AttributeValue } from "@aws-sdk/client-dynamodb";

/** An item as DynamoDB's protocol spells it. */
export type Item = Readonly<Record<string, AttributeValue>>;

/** The most keys of one BatchGetItem. */
export const keysPerReadMax = 100;

export function attribute(value: string | number | boolean): AttributeValue {
  if (typeof value === "string") return { S: value };
  return typeof value === "number" ? { N: String(value) } : { BOOL: value };
}

/** undefined where the attribute is missing, of another type, or no number. */
export function readNumber(item: Item, name: string): number | undefined {
  const value = Number(item[name]?.N);
  return Number.isFinite(value) ? value : undefined;
}

export function readString(item: Item, name: string): string | undefined {
  return item[name]?.S;
}

/**
 * The `#names` and `:values` that some expressions mention: every attribute is named by itself, so that no reserved word
 * of DynamoDB bites, and of the values only those in use are sent, because DynamoDB refuses the others.
 */
export function mentioned(expressions: readonly string[], values: Item) {
  const text = expressions.join(" ");
  const names = new Set([...text.matchAll(/#(\w+)/g)].flatMap(([, name]) => name ?? []));
  const used = new Set([...text.matchAll(/:(\w+)/g)].flatMap(([, name]) => name ?? []));
  const sent = Object.entries(values).filter(([name]) => used.has(name));
  return {
    ExpressionAttributeNames: Object.fromEntries([...names].map((name) => [`#${name}`, name])),
    ...(sent.length === 0
      ? {}
      : { ExpressionAttributeValues: Object.fromEntries(sent.map(([name, value]) => [`:${name}`, value])) }),
  };
}

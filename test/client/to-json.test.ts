import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { toJson } from "../../lib/client/to-json.ts";
import type { Fault } from "../../lib/core/envelope.ts";

function read(value: unknown) {
  const faults: Fault[] = [];
  const json = toJson(value, faults);
  return { json, fields: faults.map(({ field }) => field), faults };
}

describe("a value on its way into a message", () => {
  test("is unchanged if it is JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(read(value)).toEqual({ json: value, fields: [], faults: [] });
      }),
    );
  });

  const kept: [says: string, value: unknown, json: unknown][] = [
    ["bytes become base64", { bytes: new TextEncoder().encode("Ada") }, { bytes: "QWRh" }],
    ["a Buffer too", { bytes: Buffer.from("Ada") }, { bytes: "QWRh" }],
    ["a view takes only its own part", new Uint8Array([0, 65, 100, 97, 0]).subarray(1, 4), "QWRh"],
    ["a date becomes its ISO text", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    [
      "an object of a class is its fields",
      new (class {
        model = "fast-text";
      })(),
      { model: "fast-text" },
    ],
    ["an empty object without a prototype is one", { metadata: Object.create(null) }, { metadata: {} }],
    ["what is undefined goes", { a: 1, b: undefined }, { a: 1 }],
  ];
  test.each(kept)("%s", (_says, value, json) => expect(read(value)).toEqual({ json, fields: [], faults: [] }));

  test("a key named __proto__ stays a key", () => {
    const { json } = read(JSON.parse('{"__proto__": {"lane": "rt"}}'));
    expect(JSON.stringify(json)).toBe('{"__proto__":{"lane":"rt"}}');
  });

  const refused: [says: string, value: unknown, field: string][] = [
    ["NaN", { params: { top: [0, Number.NaN] } }, "params.top[1]"],
    ["infinity", { params: { top: Infinity } }, "params.top"],
    ["a bigint", { params: { top: 1n } }, "params.top"],
    ["a function", { params: () => 1 }, "params"],
    ["undefined in a list, which would shift its neighbours or become null", { list: [1, undefined] }, "list[1]"],
    ["a hole in a list, which would become null", { list: Object.assign(Array(2), { 0: 1 }) }, "list[1]"],
    ["a Map, which would become {}", { metadata: new Map() }, "metadata"],
    ["a bare ArrayBuffer, which would become {}", { bytes: new ArrayBuffer(1) }, "bytes"],
    ["a promise that nobody awaited, which would become {}", { params: Promise.resolve({ messages: [] }) }, "params"],
    ["an error, which would become {}", { metadata: { cause: new Error("no") } }, "metadata.cause"],
    ["a list of floats, which would become an object", { params: { vector: new Float32Array(2) } }, "params.vector"],
    ["a boxed text, which would become {0: …}", { jobId: Object("Ada") }, "jobId"],
    ["a date that is none, which would become null", { deadlineAt: new Date(Number.NaN) }, "deadlineAt"],
  ];
  test.each(refused)("%s is refused by its path", (_says, value, field) => {
    expect(read(value).fields).toEqual([field]);
  });

  test("what contains itself is refused where it comes round", () => {
    const looped: { self?: unknown } = {};
    looped.self = looped;
    expect(read({ params: looped }).faults).toEqual([
      { field: "params.self", message: expect.stringContaining("params.self contains itself") },
    ]);
  });

  test("a tree whose nodes know their parents is refused at once, though there are many ways round in it", () => {
    interface Node {
      readonly children: Node[];
      readonly parent?: Node;
    }
    const root: Node = { children: [] };
    root.children.push({ children: [], parent: root }, { children: [], parent: root });
    expect(read(root).fields).toEqual(["children[0].parent", "children[1].parent"]);
  });

  test("what lies in two places, not in itself, is kept twice", () => {
    const shared = { text: "Ada" };
    expect(read({ a: shared, b: [shared, shared] })).toMatchObject({
      json: { a: shared, b: [shared, shared] },
      fields: [],
    });
  });

  test("what lies too deep is refused", () => {
    const deep = (levels: number): object => (levels === 0 ? {} : [deep(levels - 1)]);
    expect(read(deep(200)).fields).toEqual([]);
    expect(read(deep(201)).faults[0]?.message).toContain("more than 200 levels deep");
  });
});

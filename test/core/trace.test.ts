import { describe, expect, test } from "vitest";
import { traceOf, traceOfReply } from "../../lib/core/trace.ts";

const root = "Root=1-5e1b4151-5ac6c58f5b5daa6532e4d5f7";
const whole = `${root};Parent=53995c3f42cd8ad8;Sampled=0`;

describe("the trace of a message", () => {
  test.each<[says: string, header: string | undefined, trace: string | undefined]>([
    ["is its header's, without the lineage", `${whole};Lineage=25:a87bd80c:1`, whole],
    ["in X-Ray's order, whatever its own is", "Sampled=0; Parent=53995c3f42cd8ad8; " + root, whole],
    ["is its root alone, if it says no more", root, root],
    ["leaves out what is unknown, or no value", `${root};Self=1-1-1;Parent=me;Sampled=?`, root],
    ["is none without a root", "Parent=53995c3f42cd8ad8;Sampled=1", undefined],
    ["is none of a root with more behind it", `${root}0`, undefined],
    ["is none of a root with more before it", root.replace("1-", "21-"), undefined],
    ["leaves out a parent with more before it", `${root};Parent=053995c3f42cd8ad8`, root],
    ["leaves out a parent with more behind it", `${root};Parent=53995c3f42cd8ad8,`, root],
    ["leaves out a sampling with more before it", `${root};Sampled=01`, root],
    ["leaves out a sampling with more behind it", `${root};Sampled=1?`, root],
    ["is none of what is no header", "hello", undefined],
    ["is none if there is none", undefined, undefined],
  ])("%s", (_says, header, trace) => expect(traceOf(header)).toBe(trace));
});

describe("a reply is announced", () => {
  const own = "Root=1-69000000-000000000000000000000000;Parent=0000000000000000;Sampled=1;Lineage=2:b1:3|1:a0:0";
  const reply = (trace: unknown) => JSON.stringify({ meta: { trace } });
  test.each<[says: string, reply: string, own: string | undefined, header: string | undefined]>([
    ["with its job's trace, and the lineage of who announces it", reply(whole), own, `${whole};Lineage=2:b1:3|1:a0:0`],
    ["with its job's trace, where Lambda gives no lineage", reply(whole), undefined, whole],
    ["without a lineage that AWS would not take", reply(whole), "Lineage=a b", whole],
    ["without a trace, if its job had none", reply(undefined), own, undefined],
    ["without one that AWS would not take", reply("Root=1"), own, undefined],
    ["without what is no text", reply(7), own, undefined],
    ["without a trace, if it cannot be read", "{", own, undefined],
    ["without a trace, if it has no story", "{}", own, undefined],
  ])("%s", (_says, text, header, announced) => expect(traceOfReply(text, header)).toBe(announced));
});

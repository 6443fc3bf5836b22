import { expect, test } from "vitest";
import { unknownName } from "../../lib/core/unknown-name.ts";
import { a } from "../a.ts";

const config = a.config();
const told = (facts: Partial<Parameters<typeof unknownName>[0]>) =>
  unknownName({ model: "fast-text", ...facts }, config);

const waits = "it waits for a worker that knows it until its deadline";
const rows: readonly [says: string, facts: Parameters<typeof told>[0], word: string | undefined][] = [
  ["a model that the config has is none", {}, undefined],
  ["nor is one of its targets", { model: "fast-text@us-west-2" }, undefined],
  ["nor is a fallback that it has", { fallback: ["smart-text"] }, undefined],
  [
    "a model with a typo is told with those that there are",
    { model: "fast-txt" },
    `model: "fast-txt" is not in the config (known: fast-text, smart-text); ${waits}`,
  ],
  [
    "a target with a typo is told with those of its model",
    { model: "fast-text@mars" },
    `model: "fast-text@mars" is not in the config (known: fast-text@us-west-2, fast-text@us-east-1); ${waits}`,
  ],
  [
    "a fallback with a typo is told as one",
    { fallback: ["smart-txt"] },
    `fallback: "smart-txt" is not in the config (known: fast-text, smart-text); ${waits}`,
  ],
];

test.each(rows)("%s", (_says, facts, word) => expect(told(facts)).toBe(word));

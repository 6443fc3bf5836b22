/** What a hostile body costs, in steps of our code as V8 counts them: nearly the same on every machine. */
import { Session } from "node:inspector";
import type { Profiler } from "node:inspector";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readBody } from "../../lib/core/feeds.ts";

const session = new Session();

beforeAll(() => {
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
});
afterAll(() => {
  session.post("Profiler.stopPreciseCoverage");
  session.disconnect();
});

/** Functions and blocks that were entered since the last count. */
function counts(): readonly (readonly [name: string, count: number])[] {
  const functions: Profiler.FunctionCoverage[] = [];
  session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
    const core = result.filter(({ url }) => url.includes("/lib/core/"));
    functions.push(...core.flatMap((script) => script.functions));
  });
  return functions.map(({ functionName, ranges }) => [functionName, ranges.reduce((sum, { count }) => sum + count, 0)]);
}

function costOf(body: string) {
  counts();
  readBody(body);
  const all = counts();
  const sum = (of: typeof all) => of.reduce((total, [, count]) => total + count, 0);
  return { steps: sum(all), parses: sum(all.filter(([name]) => name === "parseJson")) };
}

const keys = (size: number, value: string, name = "k") =>
  `{${Array.from({ length: size }, (_, index) => `"${name}${index}":${value}`).join(",")}}`;
const job = (field: string) => `{"jobId":"j","model":"m","op":"converse",${field}}`;
const quoted = (inner: string) => JSON.stringify(inner);

const rows: [says: string, body: (size: number) => string][] = [
  ["keys that nearly are a field", (size) => keys(size, "1", "lane")],
  [
    "fields that nearly are one",
    (size) => job(`"params":{},"a":${keys(size, "1")},${keys(size, "1", "lane").slice(1, -1)}`),
  ],
  ["destinations that nearly are one", (size) => job(`"params":{},"replyTo":${keys(size, "1", "sq")}`)],
  ["places of nothing", (size) => keys(size, '{"a":{"b":{"c":{}}}}')],
  ["texts of nothing", (size) => keys(size, quoted('{"a":"{}"}'))],
  ["envelopes", (size) => keys(size, '{"jobId":"a"}')],
  ["envelopes with a slip each", (size) => keys(size, '{"jobId":"a","lanex":1}')],
  ["envelopes with a slip each, as text in text", (size) => quoted(keys(size, quoted('{"jobId":"a","lanex":1}')))],
  ["what nearly are task tokens", (size) => keys(size, '"AAAAKgAAA"', "tasktoken")],
  ["metadata", (size) => job(`"params":{},"metadata":${keys(size, '"v"')}`)],
  ["steps", (size) => job(`"params":{},"fallback":["m"${',"m@t"'.repeat(size)}]`)],
  ["params", (size) => job(`"params":${keys(size, "[1,2]")}`)],
  ["records", (size) => `{"Records":[{}${",{}".repeat(size)}]}`],
];

test.each(rows)("%s cost a few steps a character, and twice as many twice as much", (_says, body) => {
  const [once, twice] = [body(1_000), body(2_000)];
  const [one, two] = [costOf(once).steps, costOf(twice).steps];
  expect(one).toBeGreaterThan(0);
  expect(one / once.length).toBeLessThan(4);
  // V8 loses some steps while it compiles anew; what is quadratic would be at four times.
  expect(two / one).toBeLessThan(1.5 * (twice.length / once.length));
});

test.each(['"[INFO] started"', '"{name} is here"', `"'hello'"`, '"12"', '"   "'])(
  "texts that cannot be JSON by their ends are not tried: %s",
  (text) => expect(costOf(keys(1_000, text)).parses).toBeLessThan(5),
);

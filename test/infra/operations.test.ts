/** The guide for operators is held to the code: its alarms, its rows, its numbers, what it says the stack is made of. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { programOf } from "../../lib/cli/program.ts";
import { checkConfig } from "../../lib/config.ts";
import { laneCap } from "../../lib/core/lease.ts";
import { lanes } from "../../lib/core/lane.ts";
import * as limits from "../../lib/core/limits.ts";
import { alarmTexts } from "../../infra/alarm-texts.ts";
import { laneMapping, leasesOf } from "../../infra/concurrency.ts";
import { listPrices } from "../../infra/cost.ts";
import written from "../../infra/sluice.config.ts";
import { widgetsOf } from "./shown.ts";
import { template as synthesized } from "./synth.ts";

const root = join(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "infra/OPERATIONS.md"), "utf8");
const config = checkConfig(written);
const template = synthesized(written);
const resources: readonly { readonly Type: string; readonly DeletionPolicy?: string }[] = Object.values(
  template.toJSON()["Resources"],
);

/** What stands under a heading of the second rank. */
function section(heading: string): string {
  return guide.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
}

/** Its parts of the third rank, by their headings. */
function parts(heading: string): (readonly [heading: string, text: string])[] {
  return section(heading)
    .split(/^### /m)
    .slice(1)
    .map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n"))]);
}

/** The cells of the rows of a section's tables, without their heads. */
function rows(heading: string): string[][] {
  return [...section(heading).matchAll(/^\| (?!-)(.*) \|$/gm)].map(([, line = ""]) =>
    line.split(" | ").map((cell) => cell.trim()),
  );
}

/** The innermost command that some words name. */
function commandOf(command: Command, [word, ...rest]: readonly string[]): Command {
  const inner = command.commands.find((each) => each.name() === word);
  return inner === undefined ? command : commandOf(inner, rest);
}

describe("the alarms", () => {
  test("have a part each, in their own order, and no part is of another", () =>
    expect(parts("The alarms").map(([name]) => name)).toEqual(Object.keys(alarmTexts)));

  test.each(parts("The alarms"))(
    "%s is told of: what it means, where to look, what to do, when it is over",
    (_, text) => {
      const told = [...text.matchAll(/^- \*\*(.*?):\*\* ([^]*?)(?=\n- \*\*|\n*$)/gm)];
      expect(told.map(([, what]) => what)).toEqual(["Means", "Look at", "Do", "Over when"]);
      for (const [, , says = ""] of told) expect(says.length).toBeGreaterThan(15);
    },
  );
});

test("each row of the dashboard is told of, with what is well and what is not", () => {
  const titles = widgetsOf(template).flatMap(
    ({ properties: { markdown = "" } }) => /^## (.*)\n/.exec(markdown)?.[1] ?? [],
  );
  expect(titles.length).toBeGreaterThan(5);
  expect(parts("The dashboard").map(([name]) => name)).toEqual(titles);
  for (const [, text] of parts("The dashboard")) expect(text).toMatch(/^- \*\*Well:\*\* [^]*^- \*\*Trouble:\*\* /m);
});

describe("what the stack is made of", () => {
  const named = (heading: string) => [...section(heading).matchAll(/`(AWS::\w+::\w+)`/g)].map(([, type = ""]) => type);

  test("stands in the guide, kind by kind", () =>
    expect(named("Deploy").toSorted()).toEqual([...new Set(resources.map(({ Type }) => Type))].toSorted()));

  test("and what stays without it: a version goes with its function", () => {
    const kept = resources.filter(({ DeletionPolicy }) => DeletionPolicy === "Retain").map(({ Type }) => Type);
    const data = [...new Set(kept)].filter((type) => type !== "AWS::Lambda::Version");
    expect(named("Take it away").toSorted()).toEqual(data.toSorted());
  });

  test("has the outputs that its commands ask for", () => {
    const outputs = Object.keys(template.toJSON()["Outputs"]);
    const asked = [...guide.matchAll(/\$\(output ([\w${}]+)\)/g)].flatMap(([, name = ""]) =>
      lanes.map((lane) => name.replace("${queue}", lane)),
    );
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.filter((name) => !outputs.includes(name))).toEqual([]);
  });

  test("has the resources that its commands ask for, one each", () => {
    const all = Object.entries<{ readonly Type: string }>(template.toJSON()["Resources"]);
    const asked = [...guide.matchAll(/\$\(physical (\w+) ([\w:]+)\)/g)];
    expect(asked.length).toBeGreaterThan(1);
    for (const [, id = "", type] of asked)
      expect(all.filter(([name, { Type }]) => name.startsWith(id) && Type === type)).toHaveLength(1);
  });
});

describe("the numbers", () => {
  test.each(lanes)("of %s's workers follow from the config", (lane) => {
    const { batchSize, concurrencyMax } = laneMapping(config, lane);
    const numbers = [leasesOf(config, lane), batchSize, concurrencyMax].map(String);
    expect(rows("Size").find(([first]) => first === lane)).toEqual([lane, ...numbers]);
  });

  test("of invocations at once are the mappings' and the sweeper's", () => {
    const mapped = Object.values(template.findResources("AWS::Lambda::EventSourceMapping")).map(
      ({ Properties }) => Properties.ScalingConfig.MaximumConcurrency,
    );
    const together = mapped.reduce((sum: number, many: number) => sum + many, 1);
    expect(section("Size")).toContain(`a concurrency of ${together} at most`);
  });

  test("of the example follow from one another", () => {
    const [jobsPerS, seconds, inTokens, outTokens] = [10, 3, 1_000, 300];
    const limit = Math.ceil(jobsPerS * seconds * 1.25);
    const minute = jobsPerS * 60;
    expect(section("Size")).toContain(
      `${jobsPerS} jobs a second, each of ${inTokens} tokens in and at most ${outTokens} out, of a model that takes ${seconds} s`,
    );
    expect(rows("Size").slice(1, 6)).toEqual([
      ["leases", `${jobsPerS} × ${seconds} s`, String(jobsPerS * seconds)],
      ["limit, with a fourth more for what is slow", `${jobsPerS * seconds} × 1.25`, String(limit)],
      ["requests a minute", `${jobsPerS} × 60`, String(minute)],
      ["tokens a minute", `${minute} × (${inTokens} + ${outTokens})`, String(minute * (inTokens + outTokens))],
      ["bg's part of a limit", `${limit} × 95 %, rounded off`, String(laneCap(limit, config.lanes.bg.share))],
    ]);
    expect(section("Size")).toContain(`it can run ${Math.floor(400_000 / (inTokens + outTokens) / 60)} jobs a second`);
    expect(section("Size")).toContain(`take ${(100_000 / jobsPerS / 3_600).toFixed(1)} h`);
  });

  test.each([
    ["Quotas", `above ${limits.hiddenMessagesMax} delays are cut short`],
    [
      "Quotas",
      `a page of ${limits.leasesPerPage} leases is one key: ${limits.leasesPerPage} leases of one second make ${2 * limits.leasesPerPage}`,
    ],
    ["The alarms", `more than ${limits.hiddenMessagesMax} messages`],
    ["The alarms", `after ${limits.laneLimits.bulk.receivesMax} receives (rt: ${limits.laneLimits.rt.receivesMax})`],
    ["The alarms", `frozen for longer than ${(limits.leaseMs - limits.leaseMarginMs) / 1_000} s`],
    ["Upgrade", `${limits.releasesMax} times at most`],
    ["Take it away", `for ${limits.laneLimits.bulk.deadlineMsMax / 3_600_000} hours at most`],
    ["When much is lost", `kept by SQS for ${limits.sqsRetentionS / 86_400} days`],
    ["Cost", `${listPrices.s3PutPerM} USD a million puts, ${listPrices.s3GetPerM} a million gets`],
  ])("of %s are the code's: %s", (heading, says) => expect(section(heading).replaceAll(/\s+/g, " ")).toContain(says));
});

test("the reasons for parking are those that there are", () => {
  const [, union = ""] =
    /export type ParkReason =([^;]*);/.exec(readFileSync(join(root, "lib/core/settlement.ts"), "utf8")) ?? [];
  const reasons = [...union.matchAll(/"(\w+)"/g)].map(([, reason]) => reason);
  expect(reasons.length).toBeGreaterThan(4);
  expect([...section("Parked messages").matchAll(/^\| `(\w+)` /gm)].map(([, reason]) => reason)).toEqual(reasons);
});

describe("the guide", () => {
  test("asks npx sluice for nothing that it does not know", () => {
    const program = programOf(() => Promise.resolve());
    const lines = [...guide.matchAll(/npx sluice ([^`#\n]*)/g)].map(([, line = ""]) => line.trim().split(/\s+/));
    expect(lines.length).toBeGreaterThan(25);
    const wrong = lines.filter((words) => {
      const command = commandOf(program, words);
      const options = words.filter((word) => word.startsWith("--"));
      return command === program || !options.every((option) => command.options.some(({ long }) => long === option));
    });
    expect(wrong.map((words) => words.join(" "))).toEqual([]);
  });

  test("is where the README says", () =>
    expect(readFileSync(join(root, "README.md"), "utf8")).toContain("(infra/OPERATIONS.md)"));

  test("leads to headings and files that there are", () => {
    const headings = new Set(
      [...guide.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading.toLowerCase().replaceAll(" ", "-")),
    );
    const links = [...guide.matchAll(/\]\(([^)]*)\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => link.startsWith("#") && !headings.has(link.slice(1)))).toEqual([]);
    const files = links.filter((link) => !link.startsWith("#")).map((link) => link.split("#")[0] ?? "");
    expect(files.filter((file) => !existsSync(join(root, "infra", file)))).toEqual([]);
  });
});

/** `npm run dashboard-picture`: the widgets of the synthesized dashboard, with the metrics of a run on this machine. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { synthesize } from "../../infra/local/synth.ts";
import { resolve, resourcesOf, text } from "../../infra/local/template.ts";
import { isObject } from "../../lib/core/json.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { Point } from "../../lib/view/chart.ts";
import { markup, Markup } from "../../lib/view/markup.ts";
import { stylesheet } from "../../lib/view/style.ts";
import { widgetMarkup } from "./dashboard.ts";
import { smallPng } from "./small-png.ts";
import { busyLimits, job, openBrowser, openStage } from "./stage.ts";

const out = process.argv[2] ?? new URL("../../infra/local/page/dashboard.png", import.meta.url).pathname;
const bucketMs = 2_000;
const rounds = 22;

/** Something for every row: a target that fails, one that throttles, a request that Bedrock refuses, a long answer. */
const script: ScriptText = {
  seed: 11,
  rules: [
    { when: { jobId: "report-*" }, do: { kind: "answer" }, latency: 25_000 },
    { when: { jobId: "refused-*" }, do: { kind: "fail", error: "invalid" } },
    { when: { region: "us-east-1", modelId: "us.amazon.*", nth: { to: 12 } }, do: { kind: "fail", error: "internal" } },
    {
      when: { jobId: "digest-*", nth: { to: 3, of: "job" } },
      do: { kind: "fail", error: "throttled", retryAfter: "5" },
    },
  ],
  latency: { meanMs: 700, sigma: 0.6 },
};

/** Any module will do where only the template counts. */
function smallEntry(): string {
  return new URL("../../lib/core/lane.ts", import.meta.url).pathname;
}

function dashboardBody(): readonly JsonObject[] {
  const outdir = mkdtempSync(join(tmpdir(), "sluice-picture-"));
  try {
    const { template } = synthesize(busyLimits, outdir, smallEntry);
    const resources = resourcesOf(template);
    const found = resources.find(({ type }) => type === "AWS::CloudWatch::Dashboard");
    const named = new Map(resources.map(({ id, properties }) => [id, properties["QueueName"]]));
    const nameOf = (id: string) => {
      const name = named.get(id);
      return typeof name === "string" ? name : id;
    };
    const body: unknown = JSON.parse(text(resolve(found?.properties["DashboardBody"] ?? "", nameOf)));
    const widgets = isObject(body) && Array.isArray(body["widgets"]) ? body["widgets"] : [];
    return widgets.filter(isObject);
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

const widgets = dashboardBody();
const stage = await openStage(script, busyLimits);
const browser = await openBrowser();
try {
  const depths = new Map<string, Point[]>();
  const nameOf = new Map(
    Object.entries(stage.service.depthUrls).map(([queue, url]) => [queue, url.split("/").at(-1) ?? ""]),
  );
  await stage.page.watching.pause("bulk");
  await stage.client.submitBatch([
    job("report-a", { model: "fast-text@us-west-2", fallback: "none" }),
    job("archive-a", { lane: "bulk", deadlineAt: Date.now() + 20_000 }),
    job("archive-b", { lane: "bulk" }),
    ...["a", "b"].map((name) => job(`digest-${name}`, { model: "smart-text@us-west-2", fallback: "none" })),
    ...Array.from({ length: 4 }, (_, place) =>
      job(`east-${place}`, { model: "fast-text@us-east-1", fallback: "none" }),
    ),
    ...Array.from({ length: 24 }, (_, place) => job(`ticket-${place}`)),
  ]);
  await stage.sendBody("bg", "{ not: json");
  const fromMs = Math.floor(Date.now() / bucketMs) * bucketMs;
  for (let round = 0; round < rounds; round += 1) {
    const lane = round % 3 === 0 ? "rt" : "bg";
    await stage.client.submitBatch(
      Array.from({ length: 2 + (round % 5) }, (_, place) =>
        job(`ticket-${round}-${place}`, { model: round % 2 === 0 ? "fast-text" : "smart-text", lane }),
      ),
    );
    if (round % 8 === 3) await stage.client.submit(job(`refused-${round}`));
    const seen = await stage.page.watching.overview();
    const atMs = Math.floor(seen.atMs / bucketMs) * bucketMs;
    const all = [
      ...seen.lanes.flatMap(({ lane: name, depth, deadLetters }) => [
        [name, depth] as const,
        [`${name}-dead-letters`, deadLetters] as const,
      ]),
      ["parked", seen.parked] as const,
      ["replies", seen.replies] as const,
    ];
    for (const [queue, depth] of all) {
      if (depth === undefined) continue;
      const name = nameOf.get(queue) ?? "";
      for (const [metric, value] of [
        ["Visible", depth.visible],
        ["NotVisible", depth.hidden],
      ] as const) {
        const key = `${name} ApproximateNumberOfMessages${metric}`;
        depths.set(key, [...(depths.get(key) ?? []).filter((point) => point.atMs !== atMs), { atMs, value }]);
      }
    }
    await sleep(bucketMs);
  }
  const frame = { fromMs, toMs: Math.ceil(Date.now() / bucketMs) * bucketMs, bucketMs };
  const drawn = widgets.map((widget) =>
    widgetMarkup(widget, stage.measured, frame, (queue, metric) => depths.get(`${queue} ${metric}`) ?? []),
  );
  const style = new Markup(
    `${stylesheet("light")}body{margin:0}.sluice{padding:14px}.sluice .grid4{display:grid;grid-template-columns:repeat(4,1fr);gap:8px}.sluice .row{grid-column:1/-1}.sluice .row h2{margin:8px 0 0}.sluice .row p{margin:0}.sluice .chart figcaption{font-size:12.5px}`,
  );
  const html = markup`<!doctype html><meta charset="utf-8"><style>${style}</style><body class="sluice"><p class="note">The widgets of the dashboard, drawn from ${rounds * (bucketMs / 1_000)} s of a run on one machine, a point every ${bucketMs / 1_000} s; on AWS it is one a minute. Lambda's and DynamoDB's own metrics have no value here.</p><div class="grid4">${drawn}</div>`;
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
  await page.setContent(html.text);
  writeFileSync(out, smallPng(await page.screenshot({ fullPage: true })));
} finally {
  await browser.close();
  await stage.close();
}

/** `npm run screenshots`: pictures of the page for the README, of a run that has one of everything. */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { smallPng } from "./small-png.ts";
import { busyLimits, busyScript, fillBusy, job, openBrowser, openStage } from "./stage.ts";

const folder = new URL("../../infra/local/page/", import.meta.url).pathname;
const out = process.argv[2] ?? folder;

const stage = await openStage(busyScript, busyLimits);
const browser = await openBrowser();
try {
  await fillBusy(stage);
  for (let round = 0; round < 12; round += 1) {
    await sleep(2_000);
    await stage.client.submitBatch(
      Array.from({ length: 4 }, (_, place) => job(`ticket-${round}-${place}`, { model: "smart-text@us-east-1" })),
    );
  }
  for (const [name, colorScheme, width] of [
    ["page-light", "light", 1_280],
    ["page-dark", "dark", 1_280],
  ] as const) {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 }, deviceScaleFactor: 1 });
    await page.goto(stage.page.url);
    await page.waitForTimeout(1_500);
    writeFileSync(`${out}/${name}.png`, smallPng(await page.screenshot({ fullPage: true })));
    await page.close();
  }
} finally {
  await browser.close();
  await stage.close();
}

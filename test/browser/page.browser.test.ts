/** What a person sees and does at the local page, in front of the whole service. */
/* oxlint-disable vitest/expect-expect, vitest/no-standalone-expect -- what is waited for must be seen, or the wait fails the
   test; and no page may complain, whichever test it was opened by. */
import { request } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

import { busyLimits, busyScript, fillBusy, handBack, job, openBrowser, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

let stage: Stage;
let browser: Browser;
beforeAll(async () => {
  [stage, browser] = await Promise.all([openStage(busyScript, busyLimits), openBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await stage.close();
});

/** What the browser said of each page: errors of scripts, of the policy, of the network. */
let complaints: string[] = [];
beforeEach(() => {
  complaints = [];
});
afterEach(() => expect(complaints).toEqual([]));

async function open(path = "/", how: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...how });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(stage.page.url + path);
  return page;
}
const textOf = (page: Page) => page.locator("main").innerText();
/** By hand, for a browser writes these headers itself. */
function statusOf(
  hostname: string,
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = "",
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const type = { "content-type": "application/x-www-form-urlencoded" };
    const asked = request({ hostname, port, method, path, headers: { ...type, ...headers } }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    asked.once("error", reject);
    asked.end(body);
  });
}
/** Waits until the page shows it, by itself. */
const shows = (page: Page, text: string) => page.getByText(text).first().waitFor();

describe("before any job was sent", () => {
  test("the page says that nothing waits, and what to do", async () => {
    const page = await open();
    await shows(page, "Nothing waits: every job that a worker has seen is answered. Send one");
    expect(await page.locator("main table").count()).toBe(0);
    await page.context().close();
  });

  test("with nothing parked it says so", async () => {
    const page = await open("/parked");
    await shows(page, "Nothing is parked.");
    await page.context().close();
  });
});

describe("with one of everything", () => {
  beforeAll(async () => {
    await fillBusy(stage);
  });

  test("an open page shows, without being read again, why each job waits", async () => {
    const page = await open();
    await shows(page, "fast-text@us-west-2 works on it, attempt 1 of 4");
    await shows(page, "no step had room for it: their leases were out, or Bedrock throttled");
    await shows(page, "its lane bulk is paused");
    expect(await page.locator("main h2").first().innerText()).toBe("Why each job waits");
    await page.context().close();
  });

  test("a dead target is seen by its breaker", async () => {
    const page = await open();
    await shows(page, "the breakers of its steps were open");
    const card = page.locator("li.card", { hasText: "fast-text@us-east-1" }).first();
    await card.getByText(/^breaker /).waitFor();
    await page.context().close();
  });

  test("leases are shown with their holders, against the limit", async () => {
    const page = await open();
    const card = page.locator("li.card", { hasText: "fast-text@us-west-2" }).first();
    await card.getByText(/^[1-4] of 4 leases$/).waitFor();
    await card.getByText("report-2026-11", { exact: false }).first().waitFor();
    await page.context().close();
  });

  test("there are charts of leases, of Bedrock's time and of outcomes", async () => {
    const page = await open();
    await shows(page, "Leases of smart-text@us-east-1");
    for (const title of ["Bedrock's time, ms", "Attempts by outcome", "Replies"]) await shows(page, title);
    expect(await page.locator("figure.chart polyline, figure.chart rect").count()).toBeGreaterThan(0);
    await page.context().close();
  });

  test("the timeline of a job tells waiting, attempt and requeue apart, by text", async () => {
    const page = await open("/job?id=digest-monday");
    await shows(page, "handed back to SQS for");
    const life = await page.locator("ol.life").innerText();
    expect(life).toMatch(/waits for a lease/);
    expect(life).toMatch(/at Bedrock, attempt 1\/\d/);
    expect(life).toMatch(/throttled, ThrottlingException/);
    expect(life).toMatch(/requeued/);
    expect(await page.locator("svg.phases rect").count()).toBeGreaterThanOrEqual(3);
    await page.context().close();
  });

  test("prompts are nowhere, on no page", async () => {
    for (const path of ["/", "/job?id=digest-monday", "/job?id=report-2026-11-a", "/parked"]) {
      const page = await open(path);
      await page.waitForTimeout(1_200);
      expect(await page.content()).not.toContain("Secret prompt");
      await page.context().close();
    }
  });

  test("a lane is paused and resumed by its button", async () => {
    const page = await open();
    await page.getByRole("button", { name: "Pause rt" }).click();
    await shows(page, "rt is paused until it is resumed");
    const lane = page.locator(".lanes .card").first();
    await lane.getByText("paused, until resumed").waitFor();
    await page.getByRole("button", { name: "Resume rt" }).click();
    await shows(page, "rt is resumed");
    await page.getByRole("button", { name: "Pause rt" }).waitFor();
    await page.context().close();
  });

  test("a job is cancelled by its button, once it is confirmed", async () => {
    const page = await open();
    page.once("dialog", (dialog) => void dialog.dismiss());
    await page.getByRole("button", { name: "Cancel job archive-a" }).click();
    expect((await stage.jobs.read("archive-a"))?.reply).toBeUndefined();

    page.once("dialog", (dialog) => void dialog.accept());
    await page.getByRole("button", { name: "Cancel job archive-a" }).click();
    await shows(page, "Job archive-a is cancelled.");
    await page.getByRole("button", { name: "Cancel job archive-a" }).waitFor({ state: "detached" });
    expect(JSON.parse((await stage.jobs.read("archive-a"))?.reply ?? "{}")).toMatchObject({ status: "cancelled" });
    await page.context().close();
  });

  test("a parked job is run again, as a new one that the old one's id begins", async () => {
    const page = await open();
    await page.getByRole("link", { name: "Look at them, and run them again" }).click();
    await shows(page, "dead_letter");
    await shows(page, "not_an_envelope");
    await page.getByRole("button", { name: "Run order-7001-summary again, as a new job" }).click();
    await shows(page, "Job order-7001-summary runs again as order-7001-summary~2");
    await expect
      .poll(async () => (await stage.jobs.read("order-7001-summary~2"))?.reply, { timeout: 30_000 })
      .toBeDefined();
    await page.context().close();
  });

  test("everything works by the keyboard alone, and keeps its place while the page renews itself", async () => {
    const page = await open();
    await shows(page, "Pause bg");
    for (let press = 0; press < 200; press += 1) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate("document.activeElement.dataset.key")) === "Pause smart-text@us-west-2") break;
    }
    await page.waitForTimeout(2_500);
    expect(await page.evaluate("document.activeElement.dataset.key")).toBe("Pause smart-text@us-west-2");
    expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
    await page.keyboard.press("Enter");
    await shows(page, "smart-text@us-west-2 is paused until it is resumed");
    await page.getByRole("button", { name: "Resume smart-text@us-west-2" }).press("Enter");
    await shows(page, "smart-text@us-west-2 is resumed");
    await page.context().close();
  });

  test("a job is found by its name", async () => {
    const page = await open();
    await page.getByLabel("Job", { exact: true }).fill("digest-monday");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Job digest-monday" }).waitFor();
    await page.getByLabel("Job", { exact: true }).fill("nobody");
    await page.keyboard.press("Enter");
    await shows(page, "No worker has seen a job of this name");
    await page.context().close();
  });

  test.each(["light", "dark"] as const)("in a %s system the page is so too", async (colorScheme) => {
    const page = await open("/", { colorScheme });
    const [, red = "0"] =
      /rgb\((\d+)/.exec(String(await page.evaluate("getComputedStyle(document.body).backgroundColor"))) ?? [];
    expect(Number(red) > 128).toBe(colorScheme === "light");
    await page.context().close();
  });

  test.each(["/", "/job?id=digest-monday", "/parked"])("%s needs no sideways scroll at 390 px", async (path) => {
    const page = await open(path, { viewport: { width: 390, height: 800 } });
    await page.waitForTimeout(1_200);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await page.context().close();
  });

  test("without script it shows the same, and its buttons work", async () => {
    const page = await open("/", { javaScriptEnabled: false });
    await page.getByRole("button", { name: "Pause bg" }).click();
    expect(await page.locator("#said").innerText()).toContain("bg is paused until it is resumed");
    await page.getByRole("button", { name: "Resume bg" }).click();
    expect(await page.locator("#said").innerText()).toContain("bg is resumed");
    await page.context().close();
  });
});

describe("whatever senders write stays text", () => {
  test("markup in a worker's words, in a parked body and in an address does nothing", async () => {
    const hostile = `<img src=x onerror="document.title='owned'">`;
    await stage.sendBody("parked", JSON.stringify(job(hostile)), hostile);
    const parked = await open("/parked");
    await parked.getByText(hostile).first().waitFor();
    const found = await open(`/job?id=${encodeURIComponent(hostile)}`);
    await found.getByText(hostile).first().waitFor();
    for (const page of [parked, found]) {
      expect(await page.title()).not.toBe("owned");
      expect(await page.locator("main img").count()).toBe(0);
      await page.context().close();
    }
  });

  test("what is said by a link from elsewhere is not said", async () => {
    const page = await open("/?said=Send+your+credentials");
    expect(await page.content()).not.toContain("Send your credentials");
    await page.context().close();
  });

  test("the policy stops a script that got in all the same", async () => {
    const page = await open();
    const ran = await page.evaluate(
      `new Promise((resolve) => {
        document.addEventListener("securitypolicyviolation", (event) => resolve(event.violatedDirective), { once: true });
        const script = document.createElement("script");
        script.textContent = "window.owned = true";
        document.body.append(script);
      })`,
    );
    expect(ran).toBe("script-src-elem");
    expect(await page.evaluate("window.owned")).toBeUndefined();
    complaints = complaints.filter((each) => !each.includes("Content Security Policy"));
    await page.context().close();
  });
});

describe("only this page's own browser is answered", () => {
  test.each<[says: string, headers: Record<string, string>, status: number]>([
    ["by its address", {}, 200],
    ["under a name that was made to point here", { host: "evil.example" }, 403],
  ])("%s", async (_says, headers, status) => {
    const { hostname, port } = new URL(stage.page.url);
    expect(await statusOf(hostname, Number(port), "GET", "/", headers)).toBe(status);
  });

  test.each<[says: string, headers: Record<string, string>, status: number]>([
    ["its own button", { origin: "self", "sec-fetch-site": "same-origin" }, 200],
    ["another site's form", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }, 403],
    ["a form without an origin", {}, 403],
    ["a form of another port", { origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" }, 403],
  ])("a pause by %s", async (_says, { origin, ...headers }, status) => {
    const { hostname, port } = new URL(stage.page.url);
    const named = origin === undefined ? {} : { origin: origin === "self" ? stage.page.url : origin };
    expect(
      await statusOf(
        hostname,
        Number(port),
        "POST",
        "/resume",
        { ...headers, ...named, accept: "text/plain" },
        "name=bg",
      ),
    ).toBe(status);
  });
});

describe("ten thousand jobs", () => {
  test("do not hang the page: it stays small, quick, and is read once a second for all who look", async () => {
    await handBack(stage, 10_000);
    await stage.page.watching.pause("bulk");
    const pages = await Promise.all([open(), open(), open()]);
    const [page] = pages;
    await page.locator("main table tbody tr").nth(60).waitFor();
    await shows(page, "and 900 more");
    expect(await page.locator("main table tbody tr").count()).toBeLessThanOrEqual(100);
    expect((await page.content()).length).toBeLessThan(300_000);

    const [before, startedAtMs] = [stage.page.watching.reads(), Date.now()];
    await page.waitForTimeout(6_000);
    const secondsPassed = (Date.now() - startedAtMs) / 1_000;
    expect(stage.page.watching.reads() - before).toBeLessThanOrEqual(secondsPassed + 1);
    await page.getByRole("button", { name: "Resume bulk" }).click();
    await shows(page, "bulk is resumed");
    await shows(page, "Not all open jobs are shown");
    await Promise.all(pages.map((each) => each.context().close()));

    const quiet = stage.page.watching.reads();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(stage.page.watching.reads()).toBe(quiet);
  });
});

test("when the service has ended the page says so, and keeps what was seen last", async () => {
  const page = await open();
  const seen = await textOf(page);
  await stage.page.close();
  await shows(page, "The service has ended, or is being started again.");
  expect((await textOf(page)).length).toBeGreaterThan(seen.length / 2);
  complaints = complaints.filter((each) => !/ERR_CONNECTION|Failed to fetch/.test(each));
  await page.context().close();
});

import { once } from "node:events";
import { createServer, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createHistory } from "../../../infra/local/page/history.ts";
import { createMeasured } from "../../../infra/local/page/measured.ts";
import { openPage } from "../../../infra/local/page/server.ts";
import type { Page } from "../../../infra/local/page/server.ts";
import type { Watching } from "../../../infra/local/page/watch.ts";
import { Fault } from "../../../lib/terminal/fault.ts";
import { an } from "../../view/an-overview.ts";
import { config } from "../../worker/a-service.ts";

const done: string[] = [];
const act = async (what: string) => {
  done.push(what);
  return `Done: ${what}.`;
};
const watching: Watching = {
  overview: async () => an.overview(),
  job: async () => undefined,
  parked: async () => [],
  reads: () => 0,
  cancel: act,
  pause: act,
  resume: act,
  rerun: act,
};

let page: Page;
beforeAll(async () => {
  page = await openPage(0, { config, watching, history: createHistory(), measured: createMeasured() });
});
afterAll(() => page.close());

/** As a browser sends it, or as none would: a URL is not made right on the way. */
async function ask(method: string, path: string, headers: Readonly<Record<string, string>> = {}, body = "") {
  const asked = request({ port: page.port, host: "127.0.0.1", method, path, headers: { host: hostOf(), ...headers } });
  const [response] = await once(asked.end(body), "response");
  response.resume();
  return { status: response.statusCode, location: response.headers.location };
}

const hostOf = () => `127.0.0.1:${page.port}`;

describe("a browser without script, which has pressed a button", () => {
  test.each([
    ["where it was", "/job?id=a", /^\/job\?id=a&said=/],
    [
      "to no other site, whatever the path that it came from looks like",
      "//elsewhere.example/x",
      /^\/elsewhere\.example\/x\?said=/,
    ],
    ["to no other site by slashes of the other kind", "/\\elsewhere.example", /^\/elsewhere\.example\?said=/],
  ])("is led back %s", async (_says, from, to) => {
    const headers = { origin: page.url, referer: page.url + from };
    const { status, location } = await ask("POST", "/pause", headers, "name=bulk");
    expect([status, location]).toEqual([303, expect.stringMatching(to)]);
  });

  test("is not told that it could not be done, when it was, for a place that nobody can go back to", async () => {
    done.length = 0;
    const { status, location } = await ask("POST", "/pause", { origin: page.url, referer: "http://" }, "name=bulk");
    expect([done, status, location]).toEqual([["bulk"], 303, expect.stringMatching(/^\/\?said=/)]);
  });
});

test.each([
  ["the job's id", "/job?id=a", "a · Sluice"],
  ["Sluice alone where it names no job", "/job", "Sluice"],
])("a page is titled by %s", async (_says, path, title) => {
  const answer = await fetch(page.url + path);
  expect(/<title>(.*)<\/title>/.exec(await answer.text())?.[1]).toBe(title);
});

test("a form that is longer than any of the page is answered, and nothing is done by its beginning", async () => {
  done.length = 0;
  const form = `name=bulk&rest=${"x".repeat(2_000_000)}`;
  const { status } = await ask("POST", "/pause", { origin: page.url }, form);
  expect([done, status]).toEqual([[], 413]);
});

test("without a port that it may have, the page says which, and what to do", async () => {
  const last = 65_535;
  const taken = createServer().listen(last, "127.0.0.1");
  await Promise.race([once(taken, "listening"), once(taken, "error")]).catch(() => undefined);
  const facts = { config, watching, history: createHistory(), measured: createMeasured() };
  await expect(openPage(last, facts)).rejects.toThrow(
    new Fault("the page cannot be at port 65535 (EADDRINUSE); name another with --port N, or go without by --no-page"),
  );
  taken.close();
});

test.each(["//", "http://", "//elsewhere.example"])("there is no page %s", async (path) => {
  expect((await ask("GET", path)).status).toBe(404);
});

import { describe, expect, test } from "vitest";

import { refusalOf } from "../../../infra/local/page/guard.ts";
import type { Asking } from "../../../infra/local/page/guard.ts";

const own = "127.0.0.1:4747";
const button = { host: own, origin: `http://${own}` };

describe("who is answered", () => {
  test.each<[says: string, method: string, headers: Asking["headers"], status: number | undefined]>([
    ["a browser at the address", "GET", { host: own }, undefined],
    ["a browser at localhost", "GET", { host: "localhost:4747" }, undefined],
    ["a name that somebody's DNS made to point here", "GET", { host: "evil.example:4747" }, 403],
    ["another port", "GET", { host: "127.0.0.1:80" }, 403],
    ["nobody's name", "GET", {}, 403],
    ["the page's own button", "POST", { ...button, "sec-fetch-site": "same-origin" }, undefined],
    ["an older browser, which does not say the site", "POST", button, undefined],
    ["a form of another site", "POST", { host: own, origin: "https://evil.example" }, 403],
    ["a form of a page in a frame without a name", "POST", { host: own, origin: "null" }, 403],
    ["a form without an origin", "POST", { host: own }, 403],
    ["a page of the other name of this machine", "POST", { host: own, origin: "http://localhost:4747" }, 403],
    ["a button by a name that points here", "POST", { host: "evil.example", origin: "http://evil.example" }, 403],
    ["whoever says that the site is another", "POST", { ...button, "sec-fetch-site": "cross-site" }, 403],
    ["other methods", "PUT", button, 405],
  ])("%s", (_says, method, headers, status) => expect(refusalOf({ method, headers }, 4_747)?.status).toBe(status));

  test.each<[says: string, method: string, headers: Asking["headers"], status: number | undefined]>([
    ["a browser, which does not say it", "GET", { host: "127.0.0.1" }, undefined],
    ["a browser at localhost", "GET", { host: "localhost" }, undefined],
    ["one who says it", "GET", { host: "127.0.0.1:80" }, undefined],
    ["the page's own button", "POST", { host: "localhost", origin: "http://localhost" }, undefined],
    ["a name that somebody's DNS made to point here", "GET", { host: "evil.example" }, 403],
  ])("at the port that goes without saying: %s", (_says, method, headers, status) =>
    expect(refusalOf({ method, headers }, 80)?.status).toBe(status),
  );

  test("is told where to look, or how to ask from a shell", () => {
    expect(refusalOf({ method: "GET", headers: { host: "x" } }, 4_747)?.message).toContain("http://127.0.0.1:4747");
    expect(refusalOf({ method: "POST", headers: { host: own } }, 4_747)?.message).toContain(
      "-H 'Origin: http://127.0.0.1:4747'",
    );
  });
});

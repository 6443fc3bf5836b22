import { describe, expect, test } from "vitest";

import { admit } from "./admission.ts";
import type { Shell } from "./admission.ts";

const mine = "123456789012";

/** A shell with everything in place. */
const ready: Shell = {
  env: { SLUICE_TEST_ACCOUNT: mine },
  hasCredentials: async () => true,
  region: async () => "us-west-2",
  accountIn: async () => mine,
};

const expired = async () => {
  throw new Error("ExpiredToken");
};

const rows: readonly (readonly [says: string, shell: Partial<Shell>, kind: string, remedy: RegExp])[] = [
  ["no account is named", { env: {} }, "off", /set SLUICE_TEST_ACCOUNT/],
  ["the account is blank", { env: { SLUICE_TEST_ACCOUNT: " " } }, "off", /set SLUICE_TEST_ACCOUNT/],
  ["there are no credentials", { hasCredentials: async () => false }, "off", /put credentials/],
  ["the account is no account", { env: { SLUICE_TEST_ACCOUNT: "prod" } }, "refused", /12 digits/],
  [
    "the credentials are another account's",
    { accountIn: async () => "999999999999" },
    "refused",
    /999999999999's.*123456789012/,
  ],
  ["STS knows nobody", { accountIn: async () => "" }, "refused", /correct the variable/],
  ["STS refuses", { accountIn: expired }, "refused", /renew them.*ExpiredToken/],
  ["no region is set", { region: async () => undefined }, "refused", /set it to us-east-1/],
  ["the region is far from the model", { region: async () => "eu-west-1" }, "refused", /set it to us-east-1/],
  ["the region is the government's", { region: async () => "us-gov-west-1" }, "refused", /set it to us-east-1/],
];

describe("the test for an account", () => {
  test.each(rows)("does not run where %s, and says what to do", async (_says, shell, kind, remedy) => {
    const admission = await admit({ ...ready, ...shell });
    expect(admission).toEqual({ kind, says: expect.stringMatching(remedy) });
  });

  test("runs where the credentials are those of the account that is named", async () => {
    expect(await admit(ready)).toEqual({ kind: "on", account: mine, region: "us-west-2" });
  });

  test("asks nobody as long as it is off", async () => {
    const asked = async () => {
      throw new Error("asked");
    };
    const asleep = { hasCredentials: asked, region: asked, accountIn: asked };
    expect(await admit({ ...ready, ...asleep, env: {} })).toMatchObject({ kind: "off" });
  });
});

/** Whether the smoke test may run: only by a wish that names the account, for it spends money there. */
export type Admission =
  | { readonly kind: "off" | "refused"; readonly says: string }
  | { readonly kind: "on"; readonly account: string; readonly region: string };

/** What the shell's credentials are good for. */
export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the SDK finds credentials at all. */
  hasCredentials(): Promise<boolean>;
  region(): Promise<string | undefined>;
  /** Asks STS whose they are. */
  accountIn(region: string): Promise<string>;
}

const howToSwitchOn =
  "put credentials for an account that is for tests into the environment, and set SLUICE_TEST_ACCOUNT to its 12 digits";

export async function admit(shell: Shell): Promise<Admission> {
  const wanted = shell.env["SLUICE_TEST_ACCOUNT"]?.trim() ?? "";
  if (wanted === "" || !(await shell.hasCredentials()))
    return { kind: "off", says: `The test on a real AWS account is off; to switch it on, ${howToSwitchOn}.` };
  if (!/^\d{12}$/.test(wanted))
    return { kind: "refused", says: `SLUICE_TEST_ACCOUNT is not the 12 digits of an account; ${howToSwitchOn}.` };

  const region = await shell.region();
  if (region === undefined || !region.startsWith("us-") || region.startsWith("us-gov-"))
    return {
      kind: "refused",
      says: `AWS_REGION is ${region ?? "not set"}; set it to us-east-1 or us-west-2, for the model that is asked is reached from the US regions.`,
    };

  try {
    const account = await shell.accountIn(region);
    if (account === wanted) return { kind: "on", account, region };
    return {
      kind: "refused",
      says: `These credentials are account ${account}'s and SLUICE_TEST_ACCOUNT names ${wanted}; use that account's credentials, or correct the variable.`,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "refused", says: `STS does not say whose the credentials are; renew them and try again (${why}).` };
  }
}

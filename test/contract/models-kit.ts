/** Small things that every test of the Models port needs. */
import { vi } from "vitest";
import type { ModelAnswer, ModelRequest, Models } from "../../lib/ports.ts";
import { a } from "../a.ts";

export const keys = { accessKeyId: "local", secretAccessKey: "local" };

function modelRequest(facts: Partial<ModelRequest> = {}): ModelRequest {
  return {
    step: a.step(),
    op: "converse",
    params: { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] },
    ...facts,
  };
}

export function ask(
  models: Models,
  facts: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
): Promise<ModelAnswer> {
  return models.ask(modelRequest(facts), signal);
}

/** Asks again until it holds; how long that takes proves nothing. */
export function soon(holds: () => void): Promise<void> {
  return vi.waitFor(holds, { timeout: 5_000, interval: 2 });
}

/** What it was rejected with. */
export async function rejection(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (reason) {
    return reason;
  }
  throw new Error("it was not rejected");
}

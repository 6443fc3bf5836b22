/** By names alone, on the engines: the lease table on DynamoDB's, Bedrock's stand-in over HTTP. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startBedrock } from "../../infra/local/bedrock/server.ts";
import { createLeaseTable } from "../../lib/aws/lease-table.ts";
import { createCallNow } from "../../lib/call-now/index.ts";
import type { CallOf } from "../../lib/call-now/index.ts";
import type { ConfigInput } from "../../lib/config.ts";
import * as engines from "../contract/engines.ts";

const target = (region: string, max: number) => ({
  modelId: "amazon.nova-lite-v1:0",
  region,
  limit: { start: max, max },
  maxTokens: 500,
});
const config: ConfigInput = {
  models: {
    fast: { targets: { west: target("us-west-2", 4), east: target("us-east-1", 4) } },
    narrow: { targets: { west: target("us-west-2", 1) } },
  },
};
const call = (jobId: string, more: Partial<CallOf<"converse">> = {}): CallOf<"converse"> => ({
  jobId,
  model: "fast",
  op: "converse",
  params: { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] },
  ...more,
});

describe.each(engines.dynamoEngines)("a call beside %s", async (_name, start) => {
  const endpoint = await engines.engineForTests(start);
  const bedrock = await startBedrock();
  afterAll(() => bedrock.close());
  const leaseTable = await engines.createLeaseTable(endpoint);
  const leases = createLeaseTable(new DynamoDBClient(engines.localClient(endpoint)), leaseTable);
  const leasesOut = async (ledger: string) => Object.keys((await leases.readPage({ ledger, page: 0 })) ?? {});
  beforeAll(() => {
    vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", endpoint);
    vi.stubEnv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", bedrock.endpoint);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "local");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "local");
    vi.stubEnv("AWS_BEARER_TOKEN_BEDROCK", undefined);
    vi.stubEnv("AWS_REGION", undefined);
  });
  afterAll(() => {
    vi.unstubAllEnvs();
  });
  const open = (table = leaseTable) => createCallNow({ config, leaseTable: table, region: "us-east-1" });

  test("falls back, by each operation, and returns its leases", async () => {
    bedrock.load({ rules: [{ when: { region: "us-west-2" }, do: { kind: "fail", error: "denied" } }] });
    const callNow = open();
    const said = await callNow(call("c-1"));
    expect(said).toMatchObject({ ok: true, meta: { target: "east", fallbackUsed: true, attempts: 2 } });
    const streamed = await callNow({ ...call("c-2"), op: "converse_stream" });
    expect(streamed).toMatchObject({ ok: true, output: { stopReason: "end_turn" } });
    const invoked = await callNow({ jobId: "c-3", model: "fast", op: "invoke_model", params: { messages: [] } });
    expect(invoked).toMatchObject({ ok: true, meta: { target: "east" } });
    expect(await leasesOut("fast@west")).toEqual([]);
    expect(await leasesOut("fast@east")).toEqual([]);
  });

  test("keeps to a limit that other processes share, and is told when there is no capacity", async () => {
    bedrock.load({ latency: 12_000 });
    const stopping = new AbortController();
    const first = open()(call("c-4", { model: "narrow" }), { signal: stopping.signal });
    await vi.waitFor(async () => expect(await leasesOut("narrow@west")).toHaveLength(1));
    expect(await open()(call("c-5", { model: "narrow" }))).toMatchObject({
      ok: false,
      error: { code: "no_capacity", retryable: true },
    });
    stopping.abort();
    expect(await first).toMatchObject({ ok: false, status: "cancelled" });
    expect(await leasesOut("narrow@west")).toEqual([]);
    expect(bedrock.record().calls.filter(({ jobId }) => jobId === "c-5")).toEqual([]);
    await vi.waitFor(() => expect(bedrock.record().now).toBe(0));
  });

  test("throttled once is answered", async () => {
    bedrock.load({ rules: [{ when: { nth: 1 }, do: { kind: "fail", error: "throttled", retryAfter: "1" } }] });
    expect(await open()(call("c-6", { model: "narrow" }))).toMatchObject({ ok: true, meta: { attempts: 2 } });
  });

  test("of a lease table that is not there says so at once", async () => {
    bedrock.load({});
    await expect(open("nobody's")(call("c-7"))).rejects.toMatchObject({ name: "CallFailed" });
    expect(bedrock.record().calls.filter(({ jobId }) => jobId === "c-7")).toEqual([]);
  });
});

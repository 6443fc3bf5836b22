import { once } from "node:events";
import { createServer } from "node:http";
import { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { s3Client, sqsClient } from "../../lib/aws/clients.ts";
import { workerSettingsOf } from "../../lib/aws/settings.ts";
import { awsWorld, identityOf, withOwnBucket } from "../../lib/aws/world.ts";
import { prepare } from "../../lib/client/message.ts";
import { createOutbox } from "../../lib/client/outbox.ts";
import { checkAgainst } from "../../lib/core/envelope.ts";
import { errorName } from "../../lib/core/error-name.ts";
import { readBody } from "../../lib/core/feeds.ts";
import { dynamoThrottling } from "../../lib/core/measure.ts";
import { openWorker } from "../../lib/worker/open-worker.ts";
import { isInfrastructure } from "../../lib/worker/trouble.ts";
import { a } from "../a.ts";
import { createBucket, engineForTests, localClient } from "../contract/engines.ts";

const endpoint = await engineForTests(startFauxqs);
const bucket = await createBucket(endpoint);
const { region, credentials } = localClient(endpoint);

const environment = {
  SLUICE_LANE: "bg",
  SLUICE_QUEUE_URL: `${endpoint}/000000000000/bg`,
  SLUICE_PARKED_QUEUE_URL: `${endpoint}/000000000000/parked`,
  SLUICE_REPLIES_QUEUE_URL: `${endpoint}/000000000000/replies`,
  SLUICE_JOB_TABLE: "jobs",
  SLUICE_LEASE_TABLE: "leases",
  SLUICE_BUCKET: bucket,
};

beforeEach(() => {
  vi.stubEnv("AWS_ENDPOINT_URL", endpoint);
  vi.stubEnv("AWS_REGION", region);
  vi.stubEnv("AWS_ACCESS_KEY_ID", credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", credentials.secretAccessKey);
});
afterEach(() => vi.unstubAllEnvs());

const worker = (buckets: readonly string[] = []) => ({
  config: withOwnBucket(a.config({ paramsRef: { buckets } }), workerSettingsOf(environment)),
  world: awsWorld(workerSettingsOf(environment), { note: () => {} }),
});

const refOf = (body: string) => {
  const read = readBody(body);
  if (read.kind !== "envelope" || read.envelope.params.kind !== "ref") throw new Error("no envelope with a reference");
  return { envelope: read.envelope, ...read.envelope.params };
};

describe("a worker on AWS", () => {
  test("reads the big params that a client put into the stack's bucket, without a word of it in the config", async () => {
    const params = { messages: [{ role: "user", content: [{ text: "word ".repeat(200_000) }] }] };
    const prepared = prepare({ jobId: "big", model: "fast-text", op: "converse", params }, bucket);
    if (prepared.kind !== "ready" || prepared.upload === undefined) throw new Error("no upload");
    await createOutbox(sqsClient(), s3Client(), { rt: "", bg: "", bulk: "" }).upload(prepared.upload);

    const { config, world } = worker();
    const { envelope, bucket: from, key } = refOf(prepared.message.body);
    expect(checkAgainst(envelope, config)).toBeUndefined();
    const object = await world.objects.get(from, key);
    expect(object.kind === "found" && JSON.parse(object.text)).toEqual(params);
  });

  test("reads the config's buckets too, and no others", () => {
    const { config } = worker(["in-box"]);
    const fieldAt = (place: string) =>
      checkAgainst(
        refOf(JSON.stringify({ jobId: "j", model: "fast-text", op: "converse", paramsRef: place })).envelope,
        config,
      )?.field;
    expect(["s3://in-box/a", `s3://${bucket}/params/a`].map(fieldAt)).toEqual([undefined, undefined]);
    // An output is another job's answer.
    expect(["s3://out-box/a", `s3://${bucket}/outputs/a`].map(fieldAt)).not.toContain(undefined);
  });

  test("knows a table's throttling from a model's, which has the same name", async () => {
    const asked = { message: "Throughput exceeds the current capacity of your table or index." };
    const server = createServer((_request, response) => {
      response.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
      response.end(JSON.stringify({ __type: "com.amazonaws.dynamodb.v20120810#ThrottlingException", ...asked }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`);
    const { world } = worker();
    const error: unknown = await world.jobs.read("j-1").catch((thrown: unknown) => thrown);
    server.close();
    expect(errorName(error)).toBe(dynamoThrottling);
    expect(isInfrastructure(error)).toBe(true);
  });

  test("asks nobody before its first record: what is wrong below costs no cold start", async () => {
    const connect = vi.spyOn(Socket.prototype, "connect");
    const { config, world } = worker();
    expect(openWorker(world, config, identityOf(workerSettingsOf(environment)))).toMatchObject({ lane: "bg" });
    await new Promise(setImmediate);
    expect(connect).not.toHaveBeenCalled();
    connect.mockRestore();
  });

  test.each(Object.keys(environment))("does not start without %s, and says so", (name) =>
    expect(() => workerSettingsOf({ ...environment, [name]: "" })).toThrow(`${name} is not set`),
  );
});

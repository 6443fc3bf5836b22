import { describe, expect, test } from "vitest";

import type { CallRecord } from "../../lib/memory/bedrock-play.ts";
import { violations } from "./judge.ts";
import type { History } from "./judge.ts";

const call = (facts: Partial<CallRecord> = {}): CallRecord => ({
  op: "converse",
  modelId: "nova",
  region: "us-west-2",
  jobId: "job-1",
  startedAtMs: 100,
  endedAtMs: 200,
  outcome: "answered",
  ...facts,
});

const said = (text: string) => JSON.stringify({ ok: true, output: { text } });

/** One job, asked once and answered. */
const calm: History = {
  endings: new Map([["job-1", { says: "one" }]]),
  replies: new Map([["job-1", { texts: [said("this is one")], seenAtMs: 300 }]]),
  objects: new Map(),
  calls: [call()],
  limits: new Map([["nova@us-west-2", 1]]),
  lost: [],
  hits: [],
  dark: [],
  thrown: [],
  messages: new Map([["bg", 0]]),
  parkable: [],
  parked: [],
  leasesOut: 0,
};

const killed = { kind: "killed", jobIds: ["job-1"], fromMs: 150, toMs: 150 } as const;
const frozen = { kind: "frozen", jobIds: ["job-1"], fromMs: 150, toMs: 500 } as const;
const again = call({ startedAtMs: 210, endedAtMs: 250 });
const late = call({ startedAtMs: 400, endedAtMs: 410, outcome: "ThrottlingException" });
const twice = "job-1 was answered 2 times, and 1 would be right";
const inS3 = new Map([["job-1", { texts: ['{"ok":true,"outputRef":"s3://b/k"}'], seenAtMs: 300 }]]);

/** What was seen, where it differs from the calm, and what the judge says of it. */
const rows: readonly (readonly [says: string, seen: Partial<History>, verdict: readonly string[]])[] = [
  ["one answer, one reply: nothing", {}, []],
  ["a job without a reply", { replies: new Map() }, ["job-1 has no reply"]],
  [
    "a reply that was changed",
    { replies: new Map([["job-1", { texts: [said("one"), said("one and a half")], seenAtMs: 300 }]]) },
    ["the reply of job-1 was changed"],
  ],
  [
    "the answer of another job",
    { replies: new Map([["job-1", { texts: [said("two")], seenAtMs: 300 }]]) },
    ["job-1 got another answer than its own"],
  ],
  [
    "a failure where there should be none",
    { replies: new Map([["job-1", { texts: ['{"ok":false,"error":{"code":"no_capacity"}}'], seenAtMs: 300 }]]) },
    ["job-1 failed: no_capacity"],
  ],
  [
    "a success where there should be none",
    { endings: new Map([["job-1", { code: "provider_error" }]]) },
    ["job-1 ended with no code for provider_error"],
  ],
  ["an output in S3", { replies: inS3, objects: new Map([["s3://b/k", "this is one"]]) }, []],
  ["an output that S3 does not have", { replies: inS3 }, ["job-1 got another answer than its own"]],
  ["a second answer", { calls: [call(), again] }, [twice]],
  ["a second answer after the first was lost", { calls: [call(), again], lost: ["job-1"] }, []],
  ["a second answer after another's was lost", { calls: [call(), again], lost: ["job-2"] }, [twice]],
  ["a second answer after its worker was killed", { calls: [call(), again], hits: [killed] }, []],
  ["a second answer while its worker was frozen", { calls: [call(), again], hits: [frozen] }, []],
  ["a second answer after a failure", { calls: [call({ outcome: "ThrottlingException" }), again] }, []],
  ["a request when the reply is there", { calls: [call(), late] }, ["job-1 was asked again when it had its reply"]],
  ["the same after a kill", { calls: [call(), late], hits: [killed] }, ["job-1 was asked again when it had its reply"]],
  ["the same by a worker that was frozen", { calls: [call(), late], hits: [frozen] }, []],
  [
    "a request that was aborted",
    { calls: [call({ outcome: "aborted" }), again] },
    ["a request of job-1 was aborted for no reason"],
  ],
  ["one that was aborted by a kill", { calls: [call({ outcome: "aborted" }), again], hits: [killed] }, []],
  [
    "one that a worker began after it was killed",
    { calls: [call({ outcome: "aborted", startedAtMs: 160 }), again], hits: [killed] },
    ["a request of job-1 was aborted for no reason"],
  ],
  [
    "one that a worker began after it thawed",
    {
      calls: [again, call({ outcome: "aborted", startedAtMs: 510, endedAtMs: 520 })],
      hits: [{ ...frozen, toMs: 205 }],
    },
    [],
  ],
  [
    "one that was aborted in the dark, without its lease",
    { calls: [call({ outcome: "aborted" }), again], dark: [{ fromMs: 90, toMs: 120 }] },
    [],
  ],
  [
    "two requests where one may be",
    { calls: [call(), call({ jobId: "job-2", startedAtMs: 199, outcome: "ThrottlingException" })] },
    ["2 requests were in flight at nova@us-west-2, and its limit is 1"],
  ],
  ["two at two targets", { calls: [call(), call({ region: "us-east-1", outcome: "ThrottlingException" })] }, []],
  [
    "two, one of them frozen",
    { calls: [call(), call({ jobId: "job-2", startedAtMs: 199, outcome: "ThrottlingException" })], hits: [frozen] },
    [],
  ],
  ["one that begins when the other ends", { calls: [call(), call({ jobId: "job-2", startedAtMs: 200 })] }, []],
  ["a message left", { messages: new Map([["bg", 1]]) }, ["1 messages are left in bg"]],
  ["a lease left", { leasesOut: 2 }, ["2 leases were never returned"]],
  ["a throw", { thrown: ["TypeError"] }, ["an invocation ended with TypeError"]],
  ["what is parked twice, and may be", { parkable: ["bad {"], parked: ["bad {", "bad {"] }, []],
  ["what may not be parked", { parked: ["bad {"] }, ["parked, and should not be: bad {"]],
  ["what is not parked", { parkable: ["bad {"] }, ["not parked: bad {"]],
];

describe("the judge sees", () => {
  test.each(rows)("%s", (_says, seen, verdict) => expect(violations({ ...calm, ...seen })).toEqual(verdict));

  test("a request that never ended", () => {
    const { endedAtMs: _, outcome: __, ...open } = call();
    expect(violations({ ...calm, calls: [open] })).toEqual(["1 requests are still in flight"]);
  });
});

import { describe, expect, test } from "vitest";
import type { JobView, LaneView, LedgerView, Overview } from "../../lib/core/overview.ts";
import type { Controls } from "../../lib/view/controls.ts";
import { markup } from "../../lib/view/markup.ts";
import { overviewMarkup } from "../../lib/view/overview.ts";
import { t0 } from "../a.ts";
import { an, seen } from "./an-overview.ts";

const html = (facts: Partial<Overview> = {}, controls: Controls = {}) =>
  overviewMarkup(an.overview(facts), controls).text;
const text = (facts: Partial<Overview> = {}, controls: Controls = {}) => seen(html(facts, controls));
const jobText = (facts: Partial<JobView>) => text({ jobs: [an.job(facts)] });
const ledgerText = (facts: Partial<LedgerView>) => text({ ledgers: [an.ledger(facts)] });

describe("the first thing one sees", () => {
  test("is why each job waits, with what it does in words beside the colour", () => {
    const said = jobText({});
    expect(said.trim()).toMatch(/^Why each job waits/);
    expect(said).toContain("waits for a lease all 20 leases of fast-text@us-west-2 are out 1 min 5 s in 1 h");
  });

  test("tells what most wait for before it tells of any by name", () => {
    const jobs = [
      an.job({ jobId: "lonely", doing: "asking", why: "smart-text@us-west-2 works on it, attempt 1 of 4" }),
      ...Array.from({ length: 3 }, (_, place) => an.job({ jobId: `many-${place}` })),
      an.job({ jobId: "second", doing: "asking", why: "smart-text@us-west-2 works on it, attempt 2 of 4" }),
    ];
    expect(text({ jobs })).toMatch(
      /^ Why each job waits 3 waits for a lease all 20 leases .* are out 2 at Bedrock smart-text@us-west-2 works on it Open jobs/,
    );
  });

  test("counts further reasons together", () => {
    const jobs = Array.from({ length: 9 }, (_, place) => an.job({ why: `reason ${place}` }));
    expect(text({ jobs })).toContain("3 for other reasons");
  });
});

describe("a lane's card", () => {
  const laneText = (budget: NonNullable<LaneView["budget"]>) =>
    text({ lanes: [{ lane: "bulk", depth: undefined, deadLetters: undefined, budget }] });

  test("says what has been spent of its budget", () => {
    const said = laneText({ spentUsd: 12.345, budgetUsd: 50, usedPercent: 24.69 });
    expect(said).toContain("12.35 of 50.00 USD spent today");
    expect(said).not.toContain("budget spent");
  });

  test("does not say that the first fractions of a cent are nothing", () =>
    expect(laneText({ spentUsd: 1e-9, budgetUsd: 50, usedPercent: 0 })).toContain("< 0.01 of 50.00 USD spent today"));

  test("says how long it waits when that is spent", () =>
    expect(laneText({ spentUsd: 51, budgetUsd: 50, usedPercent: 102, untilMs: t0 + 3_600_000 })).toContain(
      "51.00 of 50.00 USD spent today budget spent, for 1 h more",
    ));

  test("says nothing of money where nobody counts it", () => expect(text()).not.toContain("USD"));
});

describe("a job's row", () => {
  test.each<[says: string, facts: Partial<JobView>, shown: string]>([
    ["says for how long it still waits", { why: "its lane is paused", untilMs: t0 + 20_000 }, "paused, for 20 s more"],
    [
      "says nothing of an end that has passed",
      { why: "it was handed back", untilMs: t0 - 1 },
      "it was handed back 1 min",
    ],
    ["says that its deadline has passed", { deadlineAtMs: t0 - 3_000 }, "3 s ago"],
    [
      "counts attempts, requeues and deliveries",
      { attempts: 3, requeues: 1, deliveries: 2 },
      "3 attempts, 1 requeue, 2 deliveries",
    ],
    ["shows no requeue that was not", { deliveries: 1 }, "1 attempt, 1 delivery"],
    ["names its lane", { lane: "bulk" }, "order-8812-summary bulk"],
    [
      "does without what no worker has told",
      {
        jobId: "x",
      },
      "x bg",
    ],
  ])("%s", (_says, facts, shown) => expect(jobText(facts)).toContain(shown));
});

describe("of ten thousand jobs", () => {
  const jobs = Array.from({ length: 10_000 }, (_, place) => an.job({ jobId: `job-${place}` }));

  test("a hundred are named and the others counted", () => {
    const said = text({ jobs });
    expect(said).toContain("job-99 ");
    expect(said).not.toContain("job-100 ");
    expect(said).toContain("and 9,900 more, younger than these");
    expect(said).toContain("10,000 waits for a lease");
  });

  test("the others may be older where the table was not read to its end", () => {
    const said = text({ jobs, missing: "any" });
    expect(said).toContain("and 9,900 more");
    expect(said).not.toContain("younger than these");
  });

  test("the page stays one that a browser takes at once", () =>
    expect(html({ jobs }, everything).length).toBeLessThan(150_000));
});

test("says when not all open jobs are shown", () => {
  expect(text({ jobs: [an.job()], missing: "younger" })).toContain("Not all open jobs are shown");
  expect(text({ jobs: [an.job()] })).not.toContain("Not all");
});

describe("when nothing is open", () => {
  test("says so, and what to do", () => expect(text()).toMatch(/Nothing waits: .* Send one, as the README says/));

  test("does not say so while messages wait for their first worker", () => {
    const lanes = [{ lane: "bg" as const, depth: { visible: 12, hidden: 0 }, deadLetters: undefined }];
    expect(text({ lanes })).toContain("12 messages wait in the lanes");
    expect(text({ lanes })).not.toContain("Nothing waits");
  });

  test("does not say so of jobs that it has not read", () => {
    expect(text({ missing: "any" })).toContain("Among the jobs that were read none is open");
    expect(text({ missing: "any" })).toContain("Not all open jobs are shown");
  });
});

describe("a limit", () => {
  const lease = (id: string, jobId: string, worker?: string) => ({
    id,
    expiresAtMs: t0 + 12_000,
    hasLapsed: false,
    jobIds: [jobId],
    ...(worker === undefined ? {} : { worker }),
  });

  test.each<[says: string, facts: Partial<LedgerView>, shown: string]>([
    ["says how many leases are out, of how many", { inUse: 7 }, "7 of 20 leases in use, at most 60"],
    ["says nothing of a maximum that is its limit", { inUse: 60, limit: 60 }, "60 of 60 leases in use worker"],
    [
      "says which lanes have their share of it",
      { inUse: 18, fullFor: ["bg", "bulk"] },
      "18 of 20 leases in use, full for bg and bulk, at most 60",
    ],
    ["says what it is a limit of", { name: "group:nova", kind: "group" }, "group:nova limit of a quota group"],
    ["names what serves it", {}, "us.amazon.nova-lite-v1:0 in us-west-2"],
    [
      "says that an operator has paused it",
      { paused: { untilMs: t0 + 90_000, by: "operator" } },
      "paused by an operator, for 1 min 30 s more",
    ],
    [
      "says that a throttle has",
      { paused: { untilMs: t0 + 2_000, by: "throttle" } },
      "paused by a throttle, for 2 s more",
    ],
    [
      "says that a pause has no end",
      { paused: { untilMs: 99_999_999_999_999, by: "operator" } },
      "paused by an operator, until resumed",
    ],
    ["says that it was taken out", { isOut: true }, "taken out by an operator"],
    ["says which limit an operator has set", { override: { limit: 3 } }, "limit set to 3"],
    ["shows an open breaker", { breaker: { kind: "open", openUntilMs: t0 + 30_000 } }, "breaker open, for 30 s more"],
    [
      "shows one whose time is over",
      { breaker: { kind: "open", openUntilMs: t0 } },
      "breaker open, the next attempt is its probe",
    ],
    [
      "shows a probe that is out",
      { breaker: { kind: "half-open", probe: { id: "p", expiresAtMs: t0 + 1 } } },
      "half-open, a probe is out",
    ],
    ["shows that none is", { breaker: { kind: "half-open" } }, "half-open, the next attempt is its probe"],
    [
      "counts failures before it opens",
      { breaker: { kind: "closed", failures: 2 } },
      "breaker closed, 2 failures in a row",
    ],
  ])("%s", (_says, facts, shown) =>
    expect(
      ledgerText({ leases: facts.inUse === 60 ? [lease("ab", "job-1", "w")] : [], ...facts }).replace("1 lease: ", ""),
    ).toContain(shown),
  );

  test("says nothing of a breaker that is closed", () =>
    expect(ledgerText({ breaker: { kind: "closed", failures: 0 } })).not.toContain("breaker"));

  test("names who holds its leases, a worker once, and for which jobs", () => {
    const leases = [
      lease("ab12-1", "job-1", "worker-ab12"),
      lease("ab12-2", "job-2", "worker-ab12"),
      lease("zz", "job-3"),
    ];
    const said = ledgerText({
      inUse: 3,
      leases: [...leases, { ...lease("old", "job-4"), hasLapsed: true, expiresAtMs: t0 - 9_000 }],
    });
    expect(said).toContain(
      "2 leases: worker worker-ab12, for job-1, job-2 ; held for 12 s unless renewed".replace(" ;", ";"),
    );
    expect(said).toContain("1 lease: a worker whose leases begin with zz");
    expect(said).toContain("a holder that is gone, for job-4; lapsed: the next who wants one takes it");
  });

  test("counts further holders, and further jobs of one", () => {
    const leases = Array.from({ length: 30 }, (_, place) => lease(`${place}`, `job-${place}`, `w-${place}`));
    expect(ledgerText({ leases })).toContain("and 22 more holders");
    const busy = Array.from({ length: 9 }, (_, place) => lease(`${place}`, `job-${place}`, "w"));
    expect(ledgerText({ leases: busy })).toContain("job-3 and 5 more; held");
  });

  test("is full where all its leases are out, and marked where it was learned", () => {
    expect(html({ ledgers: [an.ledger({ inUse: 20 })] })).toMatch(/class="full" width="333".*class="mark" x="333"/);
    expect(html({ ledgers: [an.ledger({ inUse: 10 })] })).toContain('class="fill" width="167"');
  });
});

describe("a lane", () => {
  test("shows what waits, what is hidden, its dead letters, and until when it is paused", () => {
    const lane = { lane: "bg" as const, depth: { visible: 1_200, hidden: 30 }, deadLetters: { visible: 2, hidden: 1 } };
    const said = text({ lanes: [{ ...lane, pausedUntilMs: t0 + 60_000 }] });
    expect(said).toMatch(/bg soon waiting 1,200 in hand or hidden 30 dead letters 3 paused, for 1 min more/);
  });

  test("whose queue is not known shows no number", () =>
    expect(text({ lanes: [{ lane: "rt", depth: undefined, deadLetters: undefined }] })).toContain(
      "rt somebody is waiting waiting – in hand or hidden – dead letters –",
    ));

  test("stands beside what is parked and what waits in the replies queue", () => {
    const said = text({ parked: { visible: 2, hidden: 1 }, replies: { visible: 0, hidden: 4 } });
    expect(said).toContain("parked each waits for you, with its reason messages 3");
    expect(said).toContain("did not take at first messages 4");
  });
});

test("tells of a chain in another order", () =>
  expect(text({ chains: [{ model: "fast-text", chain: ["smart-text", "fast-text@us-east-1"] }] })).toContain(
    "An operator has fast-text try smart-text, then fast-text@us-east-1 first",
  ));

/** Every control, by a mark of its own. */
const everything: Controls = {
  cancel: (jobId) => markup`<button>cancel ${jobId}</button>`,
  pause: (name) => markup`<button>pause ${name}</button>`,
  resume: (name) => markup`<button>resume ${name}</button>`,
  rerun: () => markup`<button>rerun</button>`,
  job: (jobId) => markup`<a href="/job/${jobId}">${jobId}</a>`,
};

describe("what can be done", () => {
  const paused = an.ledger({
    name: "slow",
    paused: { untilMs: t0 + 1, by: "operator" },
    override: { pausedUntilMs: t0 + 1 },
  });
  const throttled = an.ledger({ name: "full", paused: { untilMs: t0 + 1, by: "throttle" } });
  const facts: Partial<Overview> = {
    jobs: [an.job()],
    ledgers: [paused, throttled],
    lanes: [
      { lane: "rt", depth: undefined, deadLetters: undefined, pausedUntilMs: t0 + 1 },
      { lane: "bg", depth: undefined, deadLetters: undefined },
    ],
    parked: { visible: 1, hidden: 0 },
  };

  test("is offered where it is: a cancel for each job, a pause where there is none, its end where there is", () => {
    const offered = [...html(facts, everything).matchAll(/<button>(.*?)<\/button>/g)].map(([, what]) => what);
    expect(offered).toEqual([
      "cancel order-8812-summary",
      "resume slow",
      "pause full",
      "resume rt",
      "pause bg",
      "rerun",
    ]);
  });

  test("is not offered where nobody may do it", () => expect(html(facts)).not.toContain("<button"));

  test("nothing parked, nothing to run again", () => {
    expect(html({ ...facts, parked: { visible: 0, hidden: 0 } }, everything)).not.toContain("rerun");
  });
});

describe("whatever anybody has written stays text", () => {
  const hostile = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><style>*{display:none}",
    '<cwdb-action action="call">{}</cwdb-action>',
    "&lt;b&gt;",
    "`${7*7}`",
    "<!-- ",
    "]]>",
  ];
  /** The tags that the view itself makes, of which hostile words make no more. */
  const tags = (written: string) => [...written.matchAll(/<\/?([a-z-]+|!)/g)].map(([, tag]) => tag).join();
  const filled = (word: string) =>
    html(
      {
        jobs: [an.job({ jobId: word, why: word, stage: word, step: word, worker: word })],
        ledgers: [
          an.ledger({
            name: word,
            region: word,
            modelId: word,
            leases: [{ id: word, expiresAtMs: t0 + 1, hasLapsed: false, worker: word, jobIds: [word] }],
          }),
        ],
        chains: [{ model: word, chain: [word] }],
      },
      everything,
    );

  test.each(hostile)("%s", (word) => {
    expect(tags(filled(word))).toEqual(tags(filled("harmless")));
    expect(filled(word)).not.toContain(word);
    expect(seen(filled(word))).toContain(word.replaceAll(/\s+/g, " "));
  });

  test("what turns the direction of writing is made visible", () =>
    expect(filled("gpj.\u202Eexe")).toContain("gpj.\uFFFDexe"));
});

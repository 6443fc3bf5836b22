/** Jobs of every kind, each with the script that Bedrock plays for it and the end that it must come to. */
import type { Lane } from "../../lib/core/lane.ts";
import type { Latency, ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { Ending } from "./judge.ts";

export interface ChaosJob {
  readonly jobId: string;
  readonly lane: Lane;
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly ending: Ending;
  /** Its message is sent a second time: right behind the first, or behind all others. */
  readonly again?: "at once" | "at last";
  readonly rules: readonly RuleText[];
}

type RuleText = NonNullable<ScriptText["rules"]>[number];

const lanes = ["bg", "bulk", "bg", "bulk", "rt"] as const;
const ops = ["converse", "converse_stream", "invoke_model"] as const;
const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
/** Over what a row keeps inline. */
const bigText = "All of it, word by word. ".repeat(2_000);

/** `latency` is of each answer; a failure that the script has comes at once. Of fourteen messages two are sent twice, or none. */
export function makeJobs(
  count: number,
  name: string,
  latency: Latency,
  messages: "some twice" | "each once" = "some twice",
): readonly ChaosJob[] {
  return Array.from({ length: count }, (_, n) => {
    const job = makeJob(n, `${name}-${n}`, latency);
    const again = ({ 3: "at once", 10: "at last" } as const)[n % 14];
    return messages === "each once" || again === undefined ? job : { ...job, again };
  });
}

function makeJob(n: number, jobId: string, latency: Latency): ChaosJob {
  const lane = lanes[n % lanes.length] ?? "bg";
  const text = `the answer to ${jobId}.`;
  const request = n % 8 === 5 ? {} : { params };
  const envelope = { jobId, model: "fast-text", op: ops[n % ops.length], ...request, lane };
  // Somebody waits for an rt job, but in this weather not for a minute only.
  const patient = lane === "rt" ? { ...envelope, deadlineAt: Date.now() + 290_000 } : envelope;
  const job = {
    jobId,
    lane,
    envelope: patient,
    ending: { says: text },
    rules: [{ when: { jobId }, do: { kind: "answer", content: [{ text }] }, latency }],
  } as const satisfies ChaosJob;

  if (n % 17 === 8) return { ...job, ending: { code: "invalid_envelope" }, envelope: { ...patient, modle: "x" } };
  if (n % 13 === 6)
    return {
      ...job,
      ending: { code: "provider_error" },
      rules: [{ when: { jobId }, do: { kind: "fail", error: "invalid" } }],
    };
  if (n % 11 === 4)
    return { ...job, rules: [{ when: first(jobId), do: { kind: "fail", error: "internal" } }, ...job.rules] };
  if (n % 11 === 9)
    return {
      ...job,
      rules: [{ when: first(jobId), do: { kind: "fail", error: "throttled", retryAfter: "1" } }, ...job.rules],
    };
  if (n % 9 === 2)
    return {
      ...job,
      rules: [{ when: { jobId }, do: { kind: "answer", content: [{ text: `${bigText}${text}` }] }, latency }],
    };
  return job;
}

function first(jobId: string): NonNullable<RuleText["when"]> {
  return { jobId, nth: { to: 1, of: "job" } };
}

/** Where the request of the jobs lies whose message has only a reference to it. */
export const keyOfParams = "params/of-all.json";
export const paramsOfAll = JSON.stringify(params);

export function bodyOf({ envelope }: ChaosJob, bucket: string): string {
  const { params: inline, ...rest } = envelope;
  return JSON.stringify(inline === undefined ? { ...rest, paramsRef: `s3://${bucket}/${keyOfParams}` } : envelope);
}

import { isObject, parseJson } from "./json.ts";

/** X-Ray's header is made of these; https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader */
const parts = {
  Root: /^1-[0-9a-f]{8}-[0-9a-f]{24}$/,
  Parent: /^[0-9a-f]{16}$/,
  Sampled: /^[01]$/,
  /** By which functions a chain has come, and how often: Lambda counts it on, and cuts loops by it. */
  Lineage: /^[0-9a-f:|]{1,256}$/,
};

/** The trace that a message belongs to, as text that every AWS service takes; nothing, if the header names none. */
export function traceOf(header: string | undefined): string | undefined {
  const { Root, Parent, Sampled } = read(header);
  return Root === undefined ? undefined : written({ Root, Parent, Sampled });
}

/**
 * What a reply is announced with: the trace of its job's message (`meta.trace`), and the lineage of the function that
 * announces, for the message's would forget that the job went through it. `own`: the header of the invocation.
 */
export function traceOfReply(reply: string, own: string | undefined): string | undefined {
  const value = parseJson(reply);
  const meta = isObject(value) ? value["meta"] : undefined;
  const trace = isObject(meta) && typeof meta["trace"] === "string" ? traceOf(meta["trace"]) : undefined;
  if (trace === undefined) return undefined;
  const { Lineage } = read(own);
  return written({ ...read(trace), Lineage });
}

type Parts = { readonly [Name in keyof typeof parts]?: string | undefined };

function read(header: string | undefined): Parts {
  const found = header?.split(";").map((part) => part.trim().split("="));
  const named = (name: keyof typeof parts) => {
    const [, value] = found?.find(([key]) => key === name) ?? [];
    return value !== undefined && parts[name].test(value) ? value : undefined;
  };
  return { Root: named("Root"), Parent: named("Parent"), Sampled: named("Sampled"), Lineage: named("Lineage") };
}

function written(header: Parts): string {
  return Object.entries(header)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
    .join(";");
}

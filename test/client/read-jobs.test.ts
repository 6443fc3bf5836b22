import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { readJobs } from "../../lib/client/index.ts";
import type { JobLine } from "../../lib/client/index.ts";

const job = (jobId: string, text = "Hello") => ({
  jobId,
  model: "fast-text",
  op: "converse",
  params: { messages: [{ role: "user", content: [{ text }] }] },
});
const good = (jobId: string, text?: string) => JSON.stringify(job(jobId, text));

async function* chunks(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** `3 j-1` for a job, `4 field` for a fault. */
async function read(content: string | Uint8Array, size = 7): Promise<string[]> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const seen: string[] = [];
  for await (const one of readJobs(chunks(bytes, size)))
    seen.push(`${one.line} ${one.kind === "job" ? one.job.jobId : one.fault.field}`);
  return seen;
}

describe("a JSONL file", () => {
  const rows: [says: string, content: string, seen: string[]][] = [
    ["without a line has no job", "", []],
    ["gives a job a line", `${good("a")}\n${good("b")}\n`, ["1 a", "2 b"]],
    ["needs no newline at its end", `${good("a")}\n${good("b")}`, ["1 a", "2 b"]],
    ["may have blank lines, which count", `\n${good("a")}\n  \t\n\n${good("b")}\n\n`, ["2 a", "5 b"]],
    ["may come from Windows", `\uFEFF${good("a")}\r\n\r\n${good("b")}\r\n`, ["1 a", "3 b"]],
    [
      "tells what is not JSON by its line, and goes on",
      `${good("a")}\n{"jobId": \n${good("b")}`,
      ["1 a", "2 line", "3 b"],
    ],
    [
      "tells a fault by line and field, and goes on",
      `{"jobId":"a","model":"m","op":"chat","params":{}}\n${good("b")}`,
      ["1 op", "2 b"],
    ],
    ["tells a typo by its name", `${JSON.stringify({ ...job("a"), modle: "m" })}\n`, ["1 modle"]],
    ["takes a line that is no object for no job", `[]\n1\n${good("b")}`, ["1 body", "2 body", "3 b"]],
    [
      "is cut at line feeds alone: U+2028 is a character of a prompt",
      `${good("a", "x\u2028y\u2029z")}\n${good("b")}`,
      ["1 a", "2 b"],
    ],
  ];
  test.each(rows)("%s", async (_says, content, seen) => expect(await read(content)).toEqual(seen));

  test("with a line that is not UTF-8 loses that line alone", async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${good("a")}\n`),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(good("b")),
    ]);
    expect(await read(bytes)).toEqual(["1 a", "2 line", "3 b"]);
  });

  describe("with a line that is longer than any job", () => {
    const mib = new Uint8Array(1_048_576).fill(0x20);
    const lineFeed = Uint8Array.of(0x0a);
    async function* lines(mibs: number, before = new Uint8Array(0), after = new Uint8Array(0)) {
      yield Buffer.from(`${good("a")}\n`);
      yield before;
      for (let at = 0; at < mibs; at += 1) yield mib;
      yield after;
      yield lineFeed;
      yield Buffer.from(`${good("b")}\n`);
    }
    async function told(from: AsyncIterable<Uint8Array>) {
      const seen: JobLine[] = [];
      for await (const one of readJobs(from)) seen.push(one);
      return seen;
    }

    test("loses that line alone, and says what to do", async () => {
      expect(await told(lines(65))).toMatchObject([
        { line: 1, kind: "job" },
        { line: 2, kind: "fault", fault: { field: "line", message: expect.stringContaining("paramsRef") } },
        { line: 3, kind: "job" },
      ]);
    });

    test("reads up to the bound, and not a byte more", async () => {
      const start = Buffer.from(good("long"));
      const rest = new Uint8Array(1_048_576 - start.length).fill(0x20);
      expect(await told(lines(63, start, rest))).toMatchObject([{}, { line: 2, kind: "job" }, { line: 3 }]);
      expect(await told(lines(64, start, rest.subarray(1)))).toMatchObject([
        {},
        { line: 2, kind: "fault" },
        { line: 3 },
      ]);
      expect(await told(lines(64, Uint8Array.of(0x20)))).toMatchObject([{}, { line: 2, kind: "fault" }, { line: 3 }]);
    });

    test("at the end of the file is told too", async () => {
      async function* unended() {
        yield Buffer.from(`${good("a")}\n`);
        for (let at = 0; at < 65; at += 1) yield mib;
      }
      expect(await told(unended())).toMatchObject([{ kind: "job" }, { line: 2, kind: "fault" }]);
    });
  });

  test("gives every job as it was written, wherever its chunks end", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "binary" })),
        fc.integer({ min: 1, max: 64 }),
        async (texts, size) => {
          const written = texts.map((text, index) => job(`j-${index}`, text.toWellFormed()));
          const bytes = Buffer.from(written.map((one) => `${JSON.stringify(one)}\n`).join(""));
          const seen: unknown[] = [];
          for await (const one of readJobs(chunks(bytes, size))) seen.push(one.kind === "job" ? one.job : one.fault);
          expect(seen).toEqual(written);
        },
      ),
    );
  });

  test("never has its content in a fault", async () => {
    const content = '{"jobId": "secret" secret\n{"jobId":"secret","model":"m","op":"secret"}\n{"se cret": "secret"}\n';
    const seen: JobLine[] = [];
    for await (const one of readJobs(chunks(Buffer.from(content), 99))) seen.push(one);
    expect(seen.map(({ kind }) => kind)).toEqual(["fault", "fault", "fault"]);
    expect(JSON.stringify(seen)).not.toContain("cret");
  });

  test("is read from its path", async () => {
    const folder = await mkdtemp(join(tmpdir(), "jobs-"));
    const file = join(folder, "jobs.jsonl");
    await writeFile(file, `${good("a")}\n`);
    const seen: JobLine[] = [];
    for await (const one of readJobs(file)) seen.push(one);
    await rm(folder, { recursive: true });
    expect(seen).toEqual([{ line: 1, kind: "job", job: job("a") }]);
  });

  test("that cannot be read is an error", async () => {
    await expect(readJobs("no-such-file.jsonl").next()).rejects.toThrow("ENOENT");
  });
});

import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { tellWhere } from "../../infra/local/told.ts";
import serviceConfig from "../../infra/sluice.config.ts";
import { checkConfig } from "../../lib/config.ts";

const config = checkConfig(serviceConfig);
const endpoints = { AWS_ENDPOINT_URL_DYNAMODB: "", AWS_ENDPOINT_URL_SQS: "", AWS_ENDPOINT_URL_S3: "" };

describe("the file that says where the service is", () => {
  let file: string;
  beforeAll(async () => {
    file = join(await mkdtemp(join(tmpdir(), "sluice-told-")), "local.json");
  });
  afterAll(() => rm(join(file, ".."), { recursive: true }));
  const told = (pid: number) => tellWhere(file, { pid, region: "us-west-2", outputs: {}, endpoints, config });
  const pidTold = () => JSON.parse(readFileSync(file, "utf8")).pid;

  test("goes with its service", () => {
    const end = told(process.pid);
    end();
    expect(existsSync(file)).toBe(false);
  });

  test("says again where a service is that still runs, once a second beside it has ended", () => {
    const end = told(process.ppid);
    const endSecond = told(process.pid);
    expect(pidTold()).toBe(process.pid);
    endSecond();
    expect(pidTold()).toBe(process.ppid);
    end();
    expect(existsSync(file)).toBe(false);
  });

  test("says again where another user's service is, which nobody else may send a signal", ({ onTestFinished }) => {
    const end = told(process.ppid);
    const endSecond = told(process.pid);
    const refused = Object.assign(new Error("kill EPERM"), { code: "EPERM" });
    const kill = vi.spyOn(process, "kill").mockImplementation(() => {
      throw refused;
    });
    onTestFinished(() => kill.mockRestore());
    endSecond();
    expect(pidTold()).toBe(process.ppid);
    end();
  });

  test("says nothing more of a service that has died, and is left to the one that wrote it last", () => {
    const endDead = told(2 ** 30);
    const end = told(process.pid);
    endDead();
    expect(pidTold()).toBe(process.pid);
    end();
    expect(existsSync(file)).toBe(false);
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { dynoxideBinary, startDynoxide } from "../../infra/local/engines.ts";
import { temporaryFolder } from "../temporary.ts";

test.skipIf(dynoxideBinary() === undefined)(
  "tables that are none are told at once, with what the engine says of them",
  async () => {
    const file = join(temporaryFolder("engines"), "tables.sqlite");
    writeFileSync(file, "nothing that a database would hold\n".repeat(100));
    await expect(startDynoxide(file)).rejects.toMatchObject({
      name: "Fault",
      message: expect.stringMatching(
        /^the tables in \/.*\/tables\.sqlite cannot be opened: .*not a valid SQLite database; give --data another directory$/,
      ),
    });
  },
);

test.skipIf(dynoxideBinary() === undefined)(
  "an engine that was started in memory ends when it is told to",
  async () => {
    const engine = await startDynoxide();
    expect(engine.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await engine.stop();
    await engine.ended;
  },
);

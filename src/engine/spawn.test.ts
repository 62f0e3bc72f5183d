import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawnEngineHost } from "./spawn.ts";

test("files that cannot be used are told without a path of this machine", async () => {
  const home = mkdtempSync(join(tmpdir(), "millrace-spawn-"));
  const dataDir = join(home, "data");
  writeFileSync(dataDir, "");
  try {
    await expect(spawnEngineHost({ dataDir } as never)).rejects.toThrow(
      /^the files of the service cannot be used: ENOTDIR: not a directory, \w+ '<data>\/[\w-]+\.\w+'$/,
    );
  } finally {
    rmSync(home, { recursive: true });
  }
});

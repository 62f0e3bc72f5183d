/** Every command of the walk-through in `docs/cli.md`, in order, by a shell. */
import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startTestStore } from "../../../harness/objects/object-store.ts";
import { serve } from "../../../harness/serve.ts";
import { mainFile, packageRoot } from "../../../src/lib/program.ts";

const guide = readFileSync(join(packageRoot, "docs/cli.md"), "utf8");
const commands = [...guide.matchAll(/^```console\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) =>
  [...block.matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => command),
);

test("the walk-through works as it is written", async () => {
  expect(commands.length).toBeGreaterThan(30);
  await using served = await serve();
  await using store = await startTestStore();
  const folder = mkdtempSync(join(tmpdir(), "millrace-walk-"));
  try {
    await store.put("in/1.json", '{"user":"ann","n":1}\n{"user":"bob","n":2}\n');
    mkdirSync(join(folder, "data"));
    cpSync(join(served.dataDir, "credentials.json"), join(folder, "data", "credentials.json"));
    writeFileSync(join(folder, "secret-key"), store.accessKey.secretKey);
    const program = join(folder, "millrace");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${mainFile}" "$@"\n`);
    chmodSync(program, 0o700);
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      HOME: folder,
      BUCKET_URL: `${store.endpoint}/${store.bucket}`,
      KEY_ID: store.accessKey.accessKeyId,
    };
    for (const command of commands) {
      const run = promisify(execFile)("bash", ["-c", `set -o pipefail; ${command}`], { cwd: folder, env });
      await expect(run, command).resolves.toBeDefined();
    }
    expect(readFileSync(join(folder, "clicks.csv"), "utf8")).toBe('"ann",1\n"bob",2\n2\n');
    expect(readFileSync(join(folder, "bundle.json"), "utf8")).not.toContain(served.credentials.keySecret);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

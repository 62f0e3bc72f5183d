/** A start that cannot succeed says which file or setting is to blame, and what to do. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mainFile } from "../../src/lib/program.ts";

let folder: string;
let taken: { port: number; close(): void };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-start-errors-"));
  writeFileSync(join(folder, "file"), "");
  for (const name of ["damaged", "key"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "damaged", "millrace.db"), "x".repeat(5_000));
  writeFileSync(join(folder, "key", "secret.key"), "short");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  taken = { port: (server.address() as { port: number }).port, close: () => void server.close() };
});
afterAll(() => {
  taken.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(args: readonly string[], env: Record<string, string> = {}) {
  const given = [
    mainFile,
    "serve",
    ...args.map((arg) => arg.replace("DIR", folder).replace("TAKEN", String(taken.port))),
  ];
  const options = { encoding: "utf8", timeout: 60_000, env: { ...process.env, MILLRACE_LOG_LEVEL: "silent", ...env } };
  const { status, stderr } = spawnSync(process.execPath, given, options as { encoding: "utf8" });
  return { status, stderr };
}

test.each([
  [["--data-dir", "DIR/file", "--port", "0"], 1, "--data-dir DIR/file cannot be used"],
  [
    ["--data-dir", "DIR/damaged", "--port", "0"],
    1,
    "DIR/damaged/millrace.db is not a database of Millrace, or is damaged",
  ],
  [["--data-dir", "DIR/key", "--port", "0"], 1, "DIR/key/secret.key does not hold a key of 32 bytes"],
  [["--data-dir", "DIR/port", "--port", "TAKEN"], 1, "is in use by another program: stop it, or choose another port"],
  [["--data-dir", "DIR/host", "--port", "0", "--host", "256.1.1.1"], 1, "256.1.1.1 is not an address of this machine"],
  [["--prot", "1"], 2, "millrace: unknown option '--prot'\nhint: Did you mean --port?\n"],
  [["extra"], 2, "millrace: too many arguments for 'serve'"],
  [["--service-ports", "none"], 2, "--service-ports none requires --gateway-port"],
  [["--min-free-disk-gb", "-1"], 2, "--min-free-disk-gb (MILLRACE_MIN_FREE_DISK_GB): "],
])("serve %j", (args, code, sentence) => {
  const { status, stderr } = start(args);
  expect(stderr).toContain(sentence.replaceAll("DIR", folder));
  expect(status).toBe(code);
});

test("a variable that is probably a setting is named", () => {
  const ofCommandLine = { MILLRACE_URL: "http://127.0.0.1", MILLRACE_KEY: "id:secret" };
  const { stderr } = start(["--rate-limit", "x"], { MILLRACE_PORTT: "1", ...ofCommandLine });
  expect(stderr).toContain("MILLRACE_PORTT is not a setting and is ignored; did you mean MILLRACE_PORT?");
  for (const name of Object.keys(ofCommandLine)) expect(stderr).not.toContain(`${name} is not`);
});

test("a metadata database that cannot be used is named with its reason, once", () => {
  const env = { MILLRACE_SECRET_KEY: Buffer.alloc(32).toString("base64") };
  const { stderr, status } = start(["--data-dir", "DIR/pg", "--database", "postgres://u:p@127.0.0.1:1/x"], env);
  expect(stderr).toMatch(/postgres:\/\/127\.0\.0\.1:1\/x cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1\n$/);
  expect(stderr.match(/ECONNREFUSED/g)).toHaveLength(1);
  expect(status).toBe(1);
});

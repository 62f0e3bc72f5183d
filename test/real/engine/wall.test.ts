/**
 * The confined engine itself, without a guard in front of it: statements reach the files, programs and servers of the
 * machine only as far as the kernel allows.
 */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { attempt } from "../../../harness/probe.ts";
import { engineRules } from "../../../src/confinement/process-rules.ts";
import { confinementState } from "../../../src/confinement/state.ts";
import { spawnEngineHost } from "../../../src/engine/spawn.ts";

const { confined, sentence } = confinementState();
if (!confined) console.log(`skipped: ${sentence}`);

const house = mkdtempSync(join(tmpdir(), "millrace-wall-"));
const own = join(house, "own");
const data = join(house, "data");
const server = createServer((socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nCANARY\n"));
let connections = 0;
server.on("connection", () => {
  connections += 1;
});

beforeAll(async () => {
  for (const path of [own, data]) mkdirSync(path);
  writeFileSync(join(house, "secret.key"), "CANARY");
  writeFileSync(join(own, "mine"), "mine");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(() => {
  server.close();
  rmSync(house, { recursive: true, force: true });
});

const quoted = (...names: string[]) => `'${join(house, ...names)}'`;

function statements(): Record<string, string> {
  const port = (server.address() as AddressInfo).port;
  const dictionary = (command: string) =>
    `CREATE OR REPLACE DICTIONARY d (k UInt64, v String) PRIMARY KEY k LAYOUT(FLAT()) LIFETIME(0)
     SOURCE(EXECUTABLE(command '${command}' format 'CSV'))`;
  return {
    "own file": `SELECT file(${quoted("own", "mine")})`,
    "a function": `SELECT file(${quoted("secret.key")})`,
    "a function on many threads": `SELECT max(file(materialize(${quoted("secret.key")}))) FROM numbers_mt(1000000)
      SETTINGS max_block_size = 1000, max_threads = 8`,
    "a table function": `SELECT * FROM file(${quoted("secret.key")}, 'LineAsString')`,
    "a written file": `INSERT INTO FUNCTION file(${quoted("planted")}, 'LineAsString', 'l String') SELECT 'x'`,
    "a result's file": `SELECT 1 INTO OUTFILE ${quoted("outfile")}`,
    "a program": `${dictionary("echo 1,CANARY")}; SELECT dictGet('d', 'v', 1)`,
    "a server": `SELECT * FROM url('http://127.0.0.1:${port}/', 'LineAsString') SETTINGS http_max_tries = 1`,
    "a store": `SELECT * FROM s3('http://127.0.0.1:${port}/bucket/o', NOSIGN, 'LineAsString', 'l String')
      SETTINGS s3_max_single_read_retries = 1, s3_retry_attempts = 0`,
  };
}

/** The engine's messages where it does not pass on the kernel's. */
const refusals: Record<string, RegExp> = {
  "a program": /Cannot vfork.*Operation not permitted/,
  "a server": /I\/O error/,
  "a store": /I\/O error/,
};

async function outcomes(confinedBy: ReturnType<typeof engineRules> | undefined, path: string) {
  const attempts = Object.entries(statements()).map(([name, sql]) => [
    name,
    `{ const { Session } = require("chdb");
       globalThis.session ??= new Session(${JSON.stringify(path)});
       try { for (const one of ${JSON.stringify(sql.split("; "))}) session.query(one, "TSV"); }
       catch (error) { throw new Error(error.message); } }`,
  ]);
  return await attempt(Object.fromEntries(attempts), confinedBy);
}

test.skipIf(!confined)("statements without any guard stay in the service's folders", async () => {
  const access = { dataDir: data, folders: [own], connectPorts: [], bindPorts: [] };
  const { "own file": allowed, ...refused } = await outcomes(engineRules(access), data);
  expect(allowed).toBe("done");
  for (const [name, outcome] of Object.entries(refused)) {
    expect(outcome, name).toMatch(refusals[name] ?? /Permission denied/);
  }
  expect(connections).toBe(0);
  expect(readdirSync(house).sort()).toEqual(["data", "own", "secret.key"]);
});

test.skipIf(!confined)("the same statements reach everything without the wall", async () => {
  const { "a store": _, ...rest } = await outcomes(undefined, join(house, "free"));
  expect(Object.entries(rest).filter(([, outcome]) => outcome !== "done")).toEqual([]);
  expect(connections).toBeGreaterThan(0);
});

test("no file of a running engine holds its key, nor what its users log in with", async () => {
  const folder = join(house, "keyless");
  const host = await spawnEngineHost({
    dataDir: join(folder, "data"),
    runDir: join(folder, "run"),
    maxMemoryBytes: 1e9,
  });
  try {
    const key = host.address.password ?? "";
    expect(key).toHaveLength(64);
    const hash = createHash("sha256").update(key).digest("hex");
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
    if (process.platform === "linux") {
      for (const name of ["environ", "cmdline"]) texts.push(readFileSync(`/proc/${host.pid}/${name}`, "latin1"));
    }
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.filter((text) => text.includes(key) || text.includes(hash))).toEqual([]);
  } finally {
    await host.stop(1_000);
  }
});

test.skipIf(!confined)("every thread of an engine host is behind the wall, without capabilities", async () => {
  const host = await spawnEngineHost({
    dataDir: join(house, "host", "data"),
    runDir: join(house, "host", "run"),
    maxMemoryBytes: 1e9,
  });
  try {
    const threads = readdirSync(`/proc/${host.pid}/task`);
    expect(threads.length).toBeGreaterThan(10);
    for (const thread of threads) {
      const status = readFileSync(`/proc/${host.pid}/task/${thread}/status`, "utf8");
      expect(status).toMatch(/^NoNewPrivs:\s1$/m);
      expect(status).toMatch(/^Seccomp:\s2$/m);
      expect(status).toMatch(/^CapEff:\s0+$/m);
      expect(status).toMatch(/^CapPrm:\s0+$/m);
    }
  } finally {
    await host.stop(1_000);
  }
});

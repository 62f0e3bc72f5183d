/** The program `clickhouse-client` itself, where it is in PATH: Debian has one of 2018, and ClickHouse newer ones. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NativeStage, nativeStage } from "./stage.ts";

const version = spawnSync("clickhouse-client", ["--version"], { encoding: "utf8" });
const missing = version.error === undefined ? undefined : "no clickhouse-client in PATH";
console.log(missing === undefined ? version.stdout.trim() : `skipped: ${missing}`);

describe.skipIf(missing !== undefined)("clickhouse-client", () => {
  let stage: NativeStage;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-client-"));
    stage = await nativeStage();
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Resolves with what it prints, and rejects with its error. The password is in a file that only it reads. */
  async function run(sql: string, { input = "", args = [] as readonly string[] } = {}): Promise<string> {
    const file = join(folder, "config.xml");
    writeFileSync(file, `<config><password>${stage.service.password}</password></config>`, { mode: 0o600 });
    const given = ["--config-file", file, "--host", "127.0.0.1", "--port", String(stage.port), ...args, "--query", sql];
    return await new Promise((resolve, reject) => {
      const child = execFile("clickhouse-client", given, { cwd: folder }, (error, stdout, stderr) =>
        error === null ? resolve(stdout.trim()) : reject(new Error(stderr)),
      );
      child.stdin?.end(input);
    });
  }

  test("queries in several formats, with settings, and their errors", async () => {
    expect(await run("SELECT number, toString(number) FROM numbers(3) FORMAT CSV")).toBe('0,"0"\n1,"1"\n2,"2"');
    expect(await run("SELECT sum(number) FROM numbers(1000000) SETTINGS max_threads = 1")).toBe("499999500000");
    await expect(run("SELECT * FROM nowhere")).rejects.toThrow(/Code: 60/);
    await expect(run("SELECT * FROM url('http://127.0.0.1/', CSV)")).rejects.toThrow(/Code: 497/);
  });

  test("inserts of inline data, of its input and of a SELECT", async () => {
    await run(
      "CREATE TABLE t (a UInt32, s LowCardinality(String), d String DEFAULT upper(s)) ENGINE = MergeTree ORDER BY a",
    );
    await run("INSERT INTO t (a, s) VALUES (1, 'x'), (2, 'y')");
    await run("INSERT INTO t (a, s) FORMAT CSV", { input: '3,"z"\n4,"w"\n' });
    await run("INSERT INTO t (a, s) SELECT 5, 'v'");
    expect(await run("SELECT a, s, d FROM t ORDER BY a FORMAT CSV")).toBe(
      '1,"x","X"\n2,"y","Y"\n3,"z","Z"\n4,"w","W"\n5,"v","V"',
    );
  });

  test("several statements of one session", async () => {
    const select = "SELECT a, getSetting('max_threads') FROM x SETTINGS max_threads = 3";
    const sql = `CREATE TEMPORARY TABLE x (a UInt8); INSERT INTO x SELECT 7; ${select}`;
    expect(await run(sql, { args: ["--multiquery"] })).toBe("7\t3");
  });
});

/** Tables that the engine took and cannot load again: each would end every start of its service. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reload } from "../../harness/engine/reloaded.ts";
import { ClickHouseClient } from "../clickhouse/client.ts";
import { type EngineHostProcess, spawnEngineHost } from "./spawn.ts";

const dir = mkdtempSync(join(tmpdir(), "millrace-unloadable-"));
const options = { dataDir: join(dir, "data"), runDir: join(dir, "run"), maxMemoryBytes: 1e9 };
let host: EngineHostProcess;
let client: ClickHouseClient;

async function start(): Promise<void> {
  host = await spawnEngineHost(options);
  client = new ClickHouseClient(host.address);
}

beforeAll(start);
afterAll(async () => {
  await host.stop(1_000);
  rmSync(dir, { recursive: true, force: true });
});

const ttl = "ENGINE = MergeTree ORDER BY a TTL d + INTERVAL 1 DAY DELETE WHERE a IN (SELECT 'x')";

test("two tables that cannot be loaded are out of use with their data, and the service starts", async () => {
  await client.command("CREATE DATABASE `other.data`");
  for (const name of ["default.bad", "`other.data`.`it's 'bad'`"]) {
    await client.command(`CREATE TABLE ${name} (a String, d DateTime) ${ttl}`);
    await client.command(`INSERT INTO ${name} SELECT 'row', now()`);
  }
  await client.command("CREATE TABLE default.good (a String) ENGINE = MergeTree ORDER BY a");
  await client.command("INSERT INTO default.good VALUES ('row')");
  for (const _ of ["first", "second"]) {
    await host.stop(1_000);
    await start();
    expect(await client.text("SELECT a FROM default.good")).toBe("row\n");
    expect(await client.text("SHOW TABLES")).toBe("good\n");
    expect(host.outOfUse).toMatch(/default\.bad \(Code: 81.*Database system does not exist/);
    expect(host.outOfUse).toContain("other.data.it's 'bad' (Code: 81");
    expect(host.outOfUse).not.toContain(dir);
  }
  // Now the database `system` is there, so that the engine can do what it could not do at its start.
  await client.command("ATTACH TABLE default.bad");
  expect(await client.text("SELECT a FROM default.bad")).toBe("row\n");
});

test("hostile definitions of two seeds end no start", async () => {
  const all = [await reload(4, 8), await reload(5, 8)];
  expect(all.reduce((sum, { stored }) => sum + stored, 0)).toBeGreaterThan(8);
}, 180_000);

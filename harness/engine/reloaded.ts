/** Stores hostile definitions in an engine host, restarts it, and says what became of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClickHouseAddress, ClickHouseClient } from "../../src/clickhouse/client.ts";
import { spawnEngineHost } from "../../src/engine/spawn.ts";
import { hostileDefinitions } from "../sql/hostile-definitions.ts";

export type Reloaded = {
  /** Definitions that the engine took. */
  readonly stored: number;
  /** Definitions that it did not load again. */
  readonly unloaded: number;
};

const rows = 1_000;

/** Throws when the engine does not start again, or when it has lost rows or a definition. */
export async function reload(seed: number, count: number): Promise<Reloaded> {
  const dir = mkdtempSync(join(tmpdir(), "millrace-reload-"));
  const options = { dataDir: join(dir, "data"), runDir: join(dir, "run"), maxMemoryBytes: 1e9, logLevel: "silent" };
  const during = async <T>(work: (address: ClickHouseAddress, note: string | undefined) => Promise<T>): Promise<T> => {
    const host = await spawnEngineHost(options);
    try {
      return await work(host.address, host.outOfUse);
    } finally {
      await host.stop(1_000);
    }
  };
  try {
    const before = await during((address) => store(address, seed, count));
    let unloaded = 0;
    // The second time, what is out of use stays so.
    for (const _ of ["first", "second"]) {
      unloaded = await during(async (address, note) => {
        const client = new ClickHouseClient(address);
        const kept = (await client.text("SELECT count() FROM default.kept")).trim();
        if (kept !== String(rows)) throw new Error(`seed ${seed}: ${kept} of ${rows} rows are left`);
        const loaded = new Set(await namesOf(client));
        const missing = before.filter((name) => !loaded.has(name));
        if (missing.length > 0 && note === undefined) throw new Error(`seed ${seed}: ${missing} went silently`);
        client.close();
        return missing.length;
      });
    }
    return { stored: before.length, unloaded };
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Resolves with the names of the tables. */
async function store(address: ClickHouseAddress, seed: number, count: number): Promise<string[]> {
  const client = new ClickHouseClient(address);
  const settings = {
    check_table_dependencies: 0,
    check_referential_table_dependencies: 0,
    allow_suspicious_ttl_expressions: 1,
  };
  const attempt = async (statement: string) => await client.command(statement, { settings }).catch(() => {});
  await client.command("CREATE TABLE default.kept (n UInt64) ENGINE = MergeTree ORDER BY n");
  await client.command(`INSERT INTO default.kept SELECT number FROM numbers(${rows})`);
  const { statements, drops } = hostileDefinitions(seed, count);
  for (const statement of [...statements, ...drops]) await attempt(statement);
  const names = await namesOf(client);
  client.close();
  return names;
}

/** Not from `system.tables`, which fails with a table that the engine cannot describe. */
async function namesOf(client: ClickHouseClient): Promise<string[]> {
  const databases = ["default", "odd.data base"];
  const found = databases.map(async (name) => {
    const tables = await client.rows<{ name: string }>(`SHOW TABLES FROM \`${name}\``);
    return tables.map((table) => `${name}.${table.name}`);
  });
  return (await Promise.all(found)).flat().filter((name) => !name.includes(".inner"));
}

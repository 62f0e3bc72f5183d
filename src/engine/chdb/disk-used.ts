/** Measures how much disk the tables of a service use. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ClickHouseClient } from "../../clickhouse/client.ts";

const everyMs = 2_000;
/** Interval of the disk scan, which finds what the engine does not count but costs more than a query. */
const lookEveryMs = 30_000;
const timeoutMs = 30_000;

/**
 * Parts of all states, including detached parts and those of dropped tables until they are deleted. The engine's own
 * tables do not count, because no user can make room there.
 */
const partsQuery = `SELECT
    (SELECT sum(bytes_on_disk) FROM system.parts WHERE database != 'system')
  + (SELECT sum(bytes_on_disk) FROM system.detached_parts WHERE database != 'system')
  + (SELECT sum(bytes_on_disk) FROM system.dropped_tables_parts WHERE database != 'system')
  FORMAT TSV`;

/** Folders of tables whose data are parts. Tables of the database `default` show no uuid; their path contains it. */
const countedQuery = `SELECT extract(arrayJoin(data_paths), '([^/]+)/?$') AS uuid
  FROM system.tables WHERE engine LIKE '%MergeTree'
  UNION ALL SELECT toString(uuid) AS uuid FROM system.dropped_tables WHERE engine LIKE '%MergeTree'`;

/** Bytes of all parts; `client` asks as the internal user. Rejects when the engine does not answer. */
export async function bytesOfParts(client: ClickHouseClient): Promise<number> {
  return Number(await client.text(partsQuery, quiet()));
}

/** Bytes of detached tables, and of tables that keep no parts (Log, Set, Join ...). Rejects as above. */
export async function bytesBesideParts(client: ClickHouseClient, dataDir: string): Promise<number> {
  const store = join(dataDir, "store");
  const folders: [uuid: string, path: string][] = [];
  for (const prefix of await namesIn(store)) {
    for (const uuid of await namesIn(join(store, prefix))) folders.push([uuid, join(store, prefix, uuid)]);
  }
  // Queried after the scan: a table created meanwhile is not in the list, and one dropped meanwhile is still known.
  const counted = new Set((await client.rows<{ uuid: string }>(countedQuery, quiet())).map(({ uuid }) => uuid));
  let bytes = 0;
  for (const [uuid, path] of folders) if (!counted.has(uuid)) bytes += await bytesBelow(path);
  return bytes;
}

/**
 * Reports the bytes on disk immediately and then every two seconds, without end. The queries do not count as activity
 * of the service; a failed measurement is skipped.
 */
export async function watchDisk(
  client: ClickHouseClient,
  dataDir: string,
  tell: (usedBytes: number) => void,
): Promise<never> {
  let beside = 0;
  let lookAt = 0;
  for (;;) {
    try {
      if (performance.now() >= lookAt) {
        beside = await bytesBesideParts(client, dataDir);
        lookAt = performance.now() + lookEveryMs;
      }
      tell((await bytesOfParts(client)) + beside);
    } catch {
      // The engine is busy or a folder was deleted meanwhile: the next round measures again.
    }
    await delay(everyMs, undefined, { ref: false });
  }
}

/** Names in a folder; empty when the folder does not exist. */
async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => []);
}

async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await lstat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}

function quiet() {
  return { settings: { log_queries: 0 }, signal: AbortSignal.timeout(timeoutMs) };
}

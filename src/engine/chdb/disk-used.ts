/** How much disk the tables of a service take. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ClickHouseClient } from "../../clickhouse/client.ts";

const everyMs = 2_000;
/** What the engine does not count is looked for on the disk, which costs more. */
const lookEveryMs = 30_000;
const timeoutMs = 30_000;

/**
 * Parts of all states, also of dropped tables until they are gone, and detached ones. The engine's own tables do not count:
 * nobody could make room there.
 */
const partsQuery = `SELECT
    (SELECT sum(bytes_on_disk) FROM system.parts WHERE database != 'system')
  + (SELECT sum(bytes_on_disk) FROM system.detached_parts WHERE database != 'system')
  + (SELECT sum(bytes_on_disk) FROM system.dropped_tables_parts WHERE database != 'system')
  FORMAT TSV`;

/** Folders of tables whose data are parts. Tables of the database `default` show no uuid; their path has it. */
const countedQuery = `SELECT extract(arrayJoin(data_paths), '([^/]+)/?$') AS uuid
  FROM system.tables WHERE engine LIKE '%MergeTree'
  UNION ALL SELECT toString(uuid) AS uuid FROM system.dropped_tables WHERE engine LIKE '%MergeTree'`;

/** Bytes of all parts; `client` asks as the internal user. Rejects when the engine does not answer. */
export async function bytesOfParts(client: ClickHouseClient): Promise<number> {
  return Number(await client.text(partsQuery, quiet()));
}

/** Bytes of tables that are detached, and of those that keep no parts (Log, Set, Join ...). Rejects as above. */
export async function bytesBesideParts(client: ClickHouseClient, dataDir: string): Promise<number> {
  const store = join(dataDir, "store");
  const folders: [uuid: string, path: string][] = [];
  for (const prefix of await namesIn(store)) {
    for (const uuid of await namesIn(join(store, prefix))) folders.push([uuid, join(store, prefix, uuid)]);
  }
  // Asked after the look: what is created meanwhile is not in the list, and what is dropped is known still.
  const counted = new Set((await client.rows<{ uuid: string }>(countedQuery, quiet())).map(({ uuid }) => uuid));
  let bytes = 0;
  for (const [uuid, path] of folders) if (!counted.has(uuid)) bytes += await bytesBelow(path);
  return bytes;
}

/**
 * Tells the bytes on disk at once and then every two seconds, for ever. The questions are no activity of the service; one
 * that fails is left out.
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
      if (Date.now() >= lookAt) {
        beside = await bytesBesideParts(client, dataDir);
        lookAt = Date.now() + lookEveryMs;
      }
      tell((await bytesOfParts(client)) + beside);
    } catch {
      // The engine is busy, or a folder has gone meanwhile: the next round finds out.
    }
    await delay(everyMs, undefined, { ref: false });
  }
}

/** Names in a folder; none when it is not there (yet, or any more). */
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

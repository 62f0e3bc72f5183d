/** Restores a whole backup into an empty engine, and counts its rows before anything can merge or refresh them. */
import type { ClickHouseClient } from "../clickhouse/client.ts";
import { ownDatabaseList } from "../clickhouse/sql.ts";
import { sleep } from "../lib/abort.ts";
import { createFunctions, localFolder, operationProgress, restoreFrom } from "./engine-backup.ts";
import type { Manifest } from "./files/manifest.ts";

const lookMs = 200;

export type EmptyEngineRestoreOptions = {
  /** Resumes merges and refreshable views afterwards. */
  readonly resume: boolean;
  readonly onProgress: (doneBytes: number) => void;
};

/**
 * Restores all databases and returns one sentence for each table whose row count differs from the manifest. Tables are
 * first restored empty, so that merges and views can be stopped before there is data: a merge may remove rows (by key,
 * by TTL), and a refresh may write to external tables.
 */
export async function restoreIntoEmptyEngine(
  client: ClickHouseClient,
  path: string,
  manifest: Manifest,
  options: EmptyEngineRestoreOptions,
  signal: AbortSignal,
): Promise<string[]> {
  await createFunctions(client, manifest.functions, signal);
  if (manifest.tables.length === 0) return [];
  const id = `${manifest.id}-${Date.now()}`;
  await restoreFrom(
    client,
    localFolder(path),
    { kind: "all" },
    { operationId: `${id}-tables`, structureOnly: true },
    signal,
  );
  await client.command("SYSTEM STOP MERGES", { signal });
  await client.command("SYSTEM STOP VIEWS", { signal });
  await withProgress(client, `${id}-data`, options.onProgress, () =>
    restoreFrom(client, localFolder(path), { kind: "all" }, { operationId: `${id}-data`, intoExisting: true }, signal),
  );
  const problems = await wrongCounts(client, manifest);
  if (options.resume) {
    await client.command("SYSTEM START VIEWS", { signal });
    await client.command("SYSTEM START MERGES", { signal });
  }
  return problems;
}

/** Runs a BACKUP or RESTORE and reports its progress. */
export async function withProgress(
  client: ClickHouseClient,
  operationId: string,
  onProgress: (doneBytes: number) => void,
  run: () => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const running = run().finally(() => over.abort());
  const watch = async () => {
    while (!over.signal.aborted) {
      const progress = await operationProgress(client, operationId).catch(() => undefined);
      if (progress !== undefined) onProgress(progress[0]);
      await sleep(lookMs, over.signal);
    }
  };
  await Promise.all([running, watch()]);
}

async function wrongCounts(client: ClickHouseClient, manifest: Manifest): Promise<string[]> {
  const rows = await client.rows<{ database: string; name: string; total_rows: string | null }>(
    `SELECT database, name, total_rows FROM system.tables
     WHERE database NOT IN ${ownDatabaseList}`,
  );
  const found = new Map(rows.map((row) => [`${row.database}\0${row.name}`, row]));
  return manifest.tables.flatMap(({ database, table, rows: wanted }) => {
    const row = found.get(`${database}\0${table}`);
    if (row === undefined) return [`table ${database}.${table} was not restored`];
    if (wanted === null || row.total_rows === null || Number(row.total_rows) === wanted) return [];
    return [`table ${database}.${table} has ${row.total_rows} rows instead of ${wanted}`];
  });
}

/**
 * HyperDX as a peer: its published planner generates one SQL text per series, the same engine runs them, and the rows
 * are merged as its API documents. The package is installed into a cache folder outside of the repository.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ClickHouseClient } from "../src/clickhouse/client.ts";

const packageName = "@hyperdx/common-utils";
const version = "0.1.0";

export type PeerSeries = { aggFn: string; where: string; field?: string; level?: number; groupBy?: string };
export type PeerRequest = { startMs: number; endMs: number; granularity: string; series: readonly PeerSeries[] };
export type PeerRow = { ts_bucket: number; group: unknown[]; [series: string]: unknown };

type Render = (config: object, metadata: object) => Promise<{ sql: string; params: Record<string, unknown> }>;

export type Peer = {
  /** All series, sequentially or concurrently. */
  run(request: PeerRequest, concurrent: boolean): Promise<PeerRow[]>;
};

/** Installs the planner on first use. Throws when it is not available. */
export async function loadPeer(
  client: ClickHouseClient,
  table: { database: string; table: string; timestamp: string; body: string; sortingKey: string },
): Promise<Peer> {
  const render = loadRenderer();
  const columns = (
    await client.rows<{ name: string; type: string }>(
      `SELECT name, type FROM system.columns WHERE database = '${table.database}' AND table = '${table.table}'`,
    )
  ).map((column) => ({ ...column, default_type: "", default_expression: "" }));
  const metadata = {
    getColumn: async ({ column }: { column: string }) => columns.find(({ name }) => name === column),
    getColumns: async () => columns,
    getMaterializedColumnsLookupTable: async () => new Map(),
    getTableMetadata: async () => ({ primary_key: table.sortingKey, sorting_key: table.sortingKey, partition_key: "" }),
  };
  const query = async (request: PeerRequest, series: PeerSeries) => {
    const { sql, params } = await render(configOf(request, series, table), metadata);
    const text = await client.text(`${sql} FORMAT JSON`, {
      params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)])),
      settings: { output_format_json_quote_64bit_integers: 1, date_time_output_format: "iso" },
    });
    return JSON.parse(text) as { meta: { name: string }[]; data: Record<string, unknown>[] };
  };
  return {
    run: async (request, concurrent) => {
      const results = [];
      if (concurrent) results.push(...(await Promise.all(request.series.map((one) => query(request, one)))));
      else for (const one of request.series) results.push(await query(request, one));
      return merge(results);
    },
  };
}

function loadRenderer(): Render {
  const cache = process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace");
  const folder = join(cache, `hyperdx-common-utils-${version}`);
  if (!existsSync(join(folder, "node_modules", packageName))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
    const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", `${packageName}@${version}`];
    execFileSync("npm", args, { cwd: folder, stdio: "ignore" });
  }
  const require = createRequire(join(folder, "package.json"));
  const { renderChartConfig } = require(`${packageName}/dist/renderChartConfig`) as { renderChartConfig: Render };
  return renderChartConfig;
}

function configOf(
  request: PeerRequest,
  { aggFn, where, field, level, groupBy }: PeerSeries,
  table: { database: string; table: string; timestamp: string; body: string },
): object {
  return {
    displayType: "line",
    connection: "",
    from: { databaseName: table.database, tableName: table.table },
    where: "",
    timestampValueExpression: table.timestamp,
    implicitColumnExpression: table.body,
    granularity: request.granularity,
    dateRange: [new Date(request.startMs), new Date(request.endMs)],
    select: [{ aggFn, aggCondition: where, aggConditionLanguage: "lucene", valueExpression: field ?? "", level }],
    ...(groupBy === undefined ? {} : { groupBy: [{ valueExpression: groupBy }] }),
  };
}

/** One row per bucket and group, matched by the text of both; values of series by their position. */
function merge(results: readonly { meta: { name: string }[]; data: Record<string, unknown>[] }[]): PeerRow[] {
  const rows = new Map<string, PeerRow>();
  for (const [index, { meta, data }] of results.entries()) {
    const names = meta.map(({ name }) => name);
    const bucketName = names.at(-1) as string;
    const groupNames = names.slice(1, -1);
    for (const record of data) {
      const bucket = Date.parse(String(record[bucketName]));
      const group = groupNames.map((name) => record[name]);
      const key = `${bucket}|${group.join("|")}`;
      let row = rows.get(key);
      if (row === undefined) {
        row = { ts_bucket: bucket, group };
        rows.set(key, row);
      }
      row[`series_${index}.data`] = record[names[0] as string];
    }
  }
  return [...rows.values()];
}

/** Its planner prints what it cannot parse; that output would slow it down and hide our table. */
export function quietly<T>(body: () => Promise<T>): Promise<T> {
  const { log, warn, error, debug, info } = console;
  const nothing = () => {};
  Object.assign(console, { log: nothing, warn: nothing, error: nothing, debug: nothing, info: nothing });
  return body().finally(() => Object.assign(console, { log, warn, error, debug, info }));
}

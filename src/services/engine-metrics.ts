/**
 * Metrics of services' engines for Prometheus. Running engines are queried every few seconds, as the internal user:
 * that wakes no service and does not count as activity. A service that does not run keeps the numbers of its last run.
 */

import { ClickHouseClient } from "../clickhouse/client.ts";
import { type InsertNumbers, noInserts } from "../endpoint/handoff/messages.ts";
import type { MetricSample } from "../lib/metric-sample.ts";
import { type EngineValues, historyValuesOf } from "./recorder.ts";
import type { RunningEngine } from "./runtime.ts";

/** Maximum number of tables per service with samples of their own, largest first. */
const maxTables = 100;
const timeoutMs = 5_000;
/** Older readings say nothing of now. */
const maxAgeMs = 15_000;

type Metric = {
  readonly name: string;
  readonly help: string;
  /** Expression over `system.events`, `system.metrics` and the parts of tables. */
  readonly sql: string;
};

const event = (name: string) => `sumIf(value, source = 'event' AND name = '${name}')`;
const gauge = (name: string) => `sumIf(value, source = 'metric' AND name = '${name}')`;

/**
 * Totals restart at 0 with each start of the engine. Statements of Millrace itself count too: pipes, charts, backups.
 */
export const engineMetrics: readonly Metric[] = [
  { name: "Service_Memory_Bytes", help: "Memory tracked by the engine.", sql: gauge("MemoryTracking") },
  { name: "Service_RunningQueries", help: "Queries that are currently running.", sql: gauge("Query") },
  { name: "Service_Connections", help: "Open connections to the engine.", sql: gauge("HTTPConnection") },
  { name: "Service_RunningMerges", help: "Merges that are currently running.", sql: gauge("Merge") },
  { name: "Service_Queries_Total", help: "Queries since the engine started.", sql: event("Query") },
  { name: "Service_SelectQueries_Total", help: "SELECT queries since the engine started.", sql: event("SelectQuery") },
  { name: "Service_InsertQueries_Total", help: "INSERT queries since the engine started.", sql: event("InsertQuery") },
  { name: "Service_FailedQueries_Total", help: "Queries that ended with an error.", sql: event("FailedQuery") },
  {
    name: "Service_FailedSelectQueries_Total",
    help: "SELECT queries that ended with an error.",
    sql: event("FailedSelectQuery"),
  },
  {
    name: "Service_FailedInsertQueries_Total",
    help: "INSERT queries that ended with an error.",
    sql: event("FailedInsertQuery"),
  },
  {
    name: "Service_QueryTime_Seconds_Total",
    help: "Total time of all queries; divided by Service_Queries_Total it gives the mean latency.",
    sql: `${event("QueryTimeMicroseconds")} / 1e6`,
  },
  {
    name: "Service_CpuTime_Seconds_Total",
    help: "Processor time of queries, merges and inserts.",
    sql: `${event("OSCPUVirtualTimeMicroseconds")} / 1e6`,
  },
  { name: "Service_SelectedRows_Total", help: "Rows read from tables.", sql: event("SelectedRows") },
  { name: "Service_SelectedBytes_Total", help: "Bytes read from tables, uncompressed.", sql: event("SelectedBytes") },
  { name: "Service_InsertedRows_Total", help: "Rows inserted into tables.", sql: event("InsertedRows") },
  {
    name: "Service_InsertedBytes_Total",
    help: "Bytes inserted into tables, uncompressed.",
    sql: event("InsertedBytes"),
  },
  { name: "Service_MergedRows_Total", help: "Rows read by merges.", sql: event("MergedRows") },
];

/** Asynchronous inserts, which the engine does not know. */
export const insertMetrics: Readonly<Record<keyof InsertNumbers, { readonly name: string; readonly help: string }>> = {
  waiting: { name: "Service_AsyncInserts_Waiting", help: "Asynchronous inserts that wait for others or are inserted." },
  waitingBytes: { name: "Service_AsyncInserts_Waiting_Bytes", help: "Bytes of their data." },
  inserts: { name: "Service_AsyncInserts_Total", help: "Asynchronous inserts that were joined with others." },
  flushes: { name: "Service_AsyncInserts_Flushes_Total", help: "Inserts into tables that were made of them." },
  failed: { name: "Service_AsyncInserts_Failed_Total", help: "Asynchronous inserts that ended with an error." },
};

export const tableMetrics = {
  bytes: {
    name: "Service_Table_Bytes",
    help: "Bytes of a table's active parts on disk; reported for the 100 largest tables.",
  },
  rows: { name: "Service_Table_Rows", help: "Rows of a table's active parts." },
  parts: { name: "Service_Table_Parts", help: "Active parts of a table." },
} as const;

export const ageMetric = {
  name: "Service_Metrics_Timestamp",
  help: "Time when the values of the service were read, in seconds since 1970; old if the service does not run.",
};

type Table = { database: string; table: string; bytes: string; rows: string; parts: string };
/** A table with the sums of all tables. */
type TableRow = Table & { readonly allBytes: string; readonly allRows: string };
type Reading = {
  readonly at: number;
  readonly values: readonly number[];
  readonly inserts: InsertNumbers;
  readonly tables: readonly Table[];
  /** The rows of all tables. */
  readonly rows: number;
  readonly bytes: number;
  readonly before: EngineValues | undefined;
};

const valuesQuery = `SELECT ${engineMetrics.map(({ sql }, i) => `toFloat64(${sql}) AS v${i}`).join(", ")} FROM (
  SELECT 'event' AS source, event AS name, toFloat64(value) AS value FROM system.events
  UNION ALL SELECT 'metric', metric, toFloat64(value) FROM system.metrics)`;

const tablesQuery = `SELECT *, sum(bytes) OVER () AS allBytes, sum(rows) OVER () AS allRows FROM (
    SELECT database, table, sum(bytes_on_disk) AS bytes, sum(rows) AS rows, count() AS parts
    FROM system.parts WHERE active AND database != 'system' GROUP BY database, table)
  ORDER BY bytes DESC, database, table LIMIT ${maxTables}`;

/** The last numbers of the engines. */
export class EngineMetrics {
  readonly #engines: () => ReadonlyMap<string, RunningEngine>;
  readonly #now: () => number;
  readonly #readings = new Map<string, Reading>();
  /** Their connections stay open: opening one takes more than a query. */
  readonly #clients = new Map<RunningEngine, ClickHouseClient>();

  constructor(engines: () => ReadonlyMap<string, RunningEngine>, now = Date.now) {
    this.#engines = engines;
    this.#now = now;
  }

  /** Queries every running engine. One that does not answer keeps its last numbers. */
  async pass(): Promise<void> {
    const engines = this.#engines();
    const running = new Set(engines.values());
    for (const [engine, client] of this.#clients) {
      if (running.has(engine)) continue;
      client.close();
      this.#clients.delete(engine);
    }
    await Promise.all([...engines].map(([id, engine]) => this.#read(id, engine)));
  }

  #clientOf(engine: RunningEngine): ClickHouseClient {
    const client = this.#clients.get(engine) ?? new ClickHouseClient(engine.address);
    this.#clients.set(engine, client);
    return client;
  }

  /** Samples of one service; empty while nothing is known. */
  samples(organizationId: string, serviceId: string): MetricSample[] {
    const reading = this.#readings.get(serviceId);
    if (reading === undefined) return [];
    const labels = { organization: organizationId, service: serviceId };
    const tables = reading.tables.flatMap((row) => {
      const of = { ...labels, database: row.database, table: row.table };
      return (["bytes", "rows", "parts"] as const).map((kind) => ({
        ...tableMetrics[kind],
        labels: of,
        value: Number(row[kind]),
      }));
    });
    return [
      { ...ageMetric, labels, value: reading.at / 1_000 },
      ...engineMetrics.map(({ name, help }, i) => ({ name, help, labels, value: reading.values[i] ?? 0 })),
      ...Object.entries(insertMetrics).map(([key, metric]) => {
        return { ...metric, labels, value: reading.inserts[key as keyof InsertNumbers] };
      }),
      ...tables,
    ];
  }

  /** Rows of the service's tables; undefined while nothing is known. */
  rows(serviceId: string): number | undefined {
    return this.#readings.get(serviceId)?.rows;
  }

  /** Bytes of the service's tables on disk; undefined while nothing is known. */
  bytes(serviceId: string): number | undefined {
    return this.#readings.get(serviceId)?.bytes;
  }

  /** The last two readings of a running engine, the older one first. */
  readings(serviceId: string): EngineValues[] {
    if (!this.#engines().has(serviceId)) return [];
    const readings = [this.#readings.get(serviceId)?.before, this.#newest(serviceId)];
    return readings.filter((reading) => reading !== undefined && this.#now() - reading.at < maxAgeMs) as EngineValues[];
  }

  /** Processor time of a running engine between its last two readings, in seconds per second; undefined: unknown. */
  cpuCores(serviceId: string): number | undefined {
    const [before, now] = this.readings(serviceId);
    return before === undefined || now === undefined ? undefined : historyValuesOf(before, now).cpuCores;
  }

  #newest(serviceId: string): EngineValues | undefined {
    const reading = this.#readings.get(serviceId);
    if (reading === undefined) return undefined;
    const values = engineMetrics.map(({ name }, i) => [name, reading.values[i] ?? 0] as const);
    return { at: reading.at, values: Object.fromEntries(values) };
  }

  /** Forgets every other service. */
  keepOnly(serviceIds: ReadonlySet<string>): void {
    for (const id of this.#readings.keys()) if (!serviceIds.has(id)) this.#readings.delete(id);
  }

  async #read(serviceId: string, engine: RunningEngine): Promise<void> {
    const client = this.#clientOf(engine);
    const options = { settings: { log_queries: 0 }, signal: AbortSignal.timeout(timeoutMs) };
    try {
      const [row] = await client.rows<Record<string, number>>(valuesQuery, options);
      const rows = await client.rows<TableRow>(tablesQuery, options);
      const values = engineMetrics.map((_, i) => Number(row?.[`v${i}`] ?? 0));
      this.#readings.set(serviceId, {
        at: this.#now(),
        values,
        inserts: engine.handoff?.inserts ?? noInserts,
        tables: rows.map(({ allBytes: _, allRows: __, ...table }) => table),
        rows: Number(rows[0]?.allRows ?? 0),
        bytes: Number(rows[0]?.allBytes ?? 0),
        before: this.#newest(serviceId),
      });
    } catch {
      // The engine is ending or too busy: its state and the age of its numbers show that.
    }
  }
}

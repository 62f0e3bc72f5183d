/** Postgres pipes in tests: a pipe over tables of a source, and comparing both sides. */
import { createHash } from "node:crypto";
import { createPipe, type PipeBody } from "../pipes.ts";
import { type BenchService, query, type Served, until } from "../serve.ts";
import type { TestPostgres } from "./postgres.ts";

export type CdcOptions = {
  readonly settings?: object;
  readonly mappings?: readonly object[];
  readonly source?: object;
};

export function cdcBody(server: TestPostgres, tables: readonly string[], options: CdcOptions = {}): PipeBody {
  const mappings = tables.map((table) => ({ sourceSchemaName: "public", sourceTable: table, targetTable: table }));
  return {
    name: `cdc of ${tables.join(", ")}`,
    source: {
      relationalDb: {
        host: server.host,
        port: server.port,
        database: server.database,
        disableTls: true,
        credentials: { username: server.user, password: server.password },
        settings: { replicationMode: "cdc", syncIntervalSeconds: 1, allowNullableColumns: true, ...options.settings },
        tableMappings: options.mappings ?? mappings,
        ...options.source,
      },
    },
    destination: {},
  } as PipeBody;
}

export async function cdcPipe(
  served: Served,
  service: BenchService,
  server: TestPostgres,
  tables: readonly string[],
  options: CdcOptions = {},
): Promise<string> {
  return await createPipe(served, service, cdcBody(server, tables, options));
}

/** Rows of the source as text, and one checksum of all of them; columns must print alike on both sides. */
export async function sourceSum(server: TestPostgres, table: string, columns: string): Promise<string> {
  const rows = await server.sql(
    `SELECT concat_ws('|', ${columns}) AS row FROM ${table} ORDER BY convert_to(concat_ws('|', ${columns}), 'UTF8')`,
  );
  return sum(rows.map(({ row }) => String(row)));
}

/** The same of the readers' view; `ask` answers a statement without a line break at the end. */
export async function destinationSum(
  ask: (sql: string) => Promise<string>,
  table: string,
  columns: string,
): Promise<string> {
  const sql = `SELECT concatWithSeparator('|', ${columns}) AS row FROM ${table}_current ORDER BY row FORMAT TSVRaw`;
  const text = await ask(sql);
  return sum(text === "" ? [] : text.split("\n"));
}

function sum(rows: readonly string[]): string {
  return `${rows.length} rows ${createHash("md5").update(rows.join("\n")).digest("hex")}`;
}

/** Polls until both sides are equal. */
export async function untilEqual(
  server: TestPostgres,
  service: BenchService,
  table: string,
  columns: { readonly source: string; readonly destination: string },
  limitMs = 60_000,
): Promise<void> {
  let seen = "";
  const ask = (sql: string) => query(service, sql);
  await until(
    `${table} equals its source`,
    async () => {
      const wanted = await sourceSum(server, table, columns.source);
      const found = await destinationSum(ask, table, columns.destination).catch((error: Error) => error.message);
      seen = `source ${wanted}, destination ${found}`;
      return wanted === found;
    },
    limitMs,
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${seen}`);
  });
}

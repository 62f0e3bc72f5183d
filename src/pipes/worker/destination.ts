/**
 * The destination of a pipe: its table, prepared for exactly-once inserts, and its error table. Every operation here
 * may be repeated after a crash.
 */
import { createHash } from "node:crypto";
import type { ClickHouseClient, Summary } from "../../clickhouse/client.ts";
import { identifier, parameterText, tableName } from "../../clickhouse/sql.ts";
import { AppError } from "../../lib/errors.ts";
import { errorTableOf } from "../../sources/destination.ts";
import type { Insert, RejectedRecord, Destination as Target, TargetTable } from "../../sources/source.ts";
import type { PipeDestination } from "../../store/pipes.ts";
import { columnNamesSql, createErrorTableSql, errorTableSql, upgradeErrorTableSql } from "../error-table.ts";
import { columnSql, createManagedTableSql, dedupWindow } from "../managed-table.ts";
import { columnTypesOf, type DestinationTableFacts, findTable, sinksOf } from "../tables.ts";
import { rowsOf } from "./counts.ts";
import type { ServiceLink } from "./service-link.ts";
import type { EngineSettings } from "./settings.ts";

export class DestinationWriter {
  readonly #link: ServiceLink;
  readonly #pipeId: string;
  readonly #target: Target;
  readonly #definition: PipeDestination;
  #errorTableReady: Promise<void> | undefined;

  constructor(link: ServiceLink, pipeId: string, target: Target, definition: PipeDestination) {
    this.#link = link;
    this.#pipeId = pipeId;
    this.#target = target;
    this.#definition = definition;
  }

  /**
   * Creates a managed table or adds its new columns, and makes the table and all targets of its views remember tokens.
   * With `empty` a managed table is emptied first, for a pipe that starts over. `isMadeAgain`: the managed table did
   * not exist.
   */
  async prepare(options: { empty: boolean }): Promise<{ isMadeAgain: boolean }> {
    const target = this.#target;
    const { database } = target;
    if (target.kind === "owned") {
      await this.#ensureDatabase(database);
      await this.createErrorTable();
      return { isMadeAgain: false };
    }
    let isMadeAgain = false;
    if (this.#definition.managedTable === true) {
      await this.#ensureDatabase(database);
      isMadeAgain = (await this.#link.use((client) => findTable(client, database, target.table))) === undefined;
      await this.#command(createManagedTableSql(target, this.#definition));
      await this.#addColumns(target);
      if (options.empty) await this.#command(`TRUNCATE TABLE ${tableName(database, target.table)}`);
    }
    await this.rememberTokens();
    await this.createErrorTable();
    return { isMadeAgain };
  }

  /** A user of an external server may lack the right to create databases, and does not need it for one that exists. */
  async #ensureDatabase(database: string): Promise<void> {
    await this.#link.use(async (client) => {
      const found = await client.rows("SELECT 1 FROM system.databases WHERE name = {database:String}", {
        params: bound({ database }),
      });
      if (found.length === 0) await client.command(`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`);
    });
  }

  /** Columns that the definition has got since the table was created. */
  async #addColumns({ database, table }: TargetTable): Promise<void> {
    await this.#link.use(async (client) => {
      const present = await columnTypesOf(client, database, table);
      const missing = (this.#definition.columns ?? []).filter(({ name }) => !present.has(name));
      if (missing.length === 0) return;
      const additions = missing.map((column) => `ADD COLUMN IF NOT EXISTS ${columnSql(column)}`).join(",\n");
      await client.command(`ALTER TABLE ${tableName(database, table)}\n${additions}`);
    });
  }

  /** Also for views created after the pipe's start. */
  async rememberTokens(): Promise<void> {
    const target = this.#target;
    const { database } = target;
    for (const name of target.kind === "owned" ? target.tables : [target.table]) {
      await this.#link.use(async (client) => {
        const found = await findTable(client, database, name);
        if (found !== undefined) await this.#remember(client, found);
        else if (target.kind === "table") throw missingTable(database, name);
      });
    }
  }

  /** True when the table has materialized views. Asks the engine each time: views may be created at any moment. */
  async #hasViews(): Promise<boolean> {
    const target = this.#target;
    if (target.kind === "owned") return false;
    const found = await this.#link.use((client) => findTable(client, target.database, target.table));
    return found !== undefined && found.views.length > 0;
  }

  async #remember(client: ClickHouseClient, target: DestinationTableFacts): Promise<void> {
    for (const sink of [target, ...(await sinksOf(client, target))]) {
      if (!needsWindow(sink)) continue;
      const name = tableName(sink.database, sink.name);
      await client.command(`ALTER TABLE ${name} MODIFY SETTING non_replicated_deduplication_window = ${dedupWindow}`);
    }
  }

  /** The summary counts only rows of the table itself. */
  async insert(insert: Insert, settings: EngineSettings, signal: AbortSignal): Promise<Summary> {
    // Before the insert: what is missing afterwards would look as if it had not been loaded.
    const counted = insert.count !== undefined && (await this.#hasViews()) ? await insert.count(signal) : undefined;
    const summary = await this.#link.use((client) =>
      client.command(insert.sql, {
        settings,
        signal,
        ...(insert.params === undefined ? {} : { params: insert.params }),
        ...(insert.body === undefined ? {} : { body: insert.body() }),
      }),
    );
    return { ...summary, writtenRows: counted ?? summary.writtenRows };
  }

  /** Writes to the error table; repeats with the same token write once. */
  async reject(records: readonly RejectedRecord[], token: string): Promise<void> {
    await this.createErrorTable();
    const lines = records.map((record, index) => JSON.stringify(this.#errorRow(record, `${token}:${index}`)));
    const settings = { async_insert: 0, insert_deduplicate: 1, insert_deduplication_token: token };
    const body = Buffer.from(`${lines.join("\n")}\n`);
    const table = errorTableSql(this.#target);
    await this.#link.use((client) =>
      client.command(`INSERT INTO ${table} (${writtenColumns}) FORMAT JSONEachRow`, { settings, body }),
    );
  }

  /** Also before there are errors, so that queries on it work from the start. */
  async createErrorTable(): Promise<void> {
    this.#errorTableReady ??= this.#createErrorTable();
    try {
      await this.#errorTableReady;
    } catch (error) {
      this.#errorTableReady = undefined;
      throw error;
    }
  }

  #errorRow(record: RejectedRecord, key: string) {
    const { origin, position, message, raw, format, size, facts } = record;
    return {
      row_id: createHash("sha256").update(key).digest("hex").slice(0, 32),
      pipe_id: this.#pipeId,
      origin,
      position: position ?? "",
      message,
      raw: raw ?? "",
      rows: rowsOf(record),
      raw_format: raw === undefined ? "" : (format ?? "text"),
      raw_size: size ?? Buffer.byteLength(raw ?? ""),
      facts: facts === undefined ? "" : JSON.stringify(facts),
    };
  }

  async #createErrorTable(): Promise<void> {
    await this.#command(createErrorTableSql(this.#target, dedupWindow));
    await this.upgradeErrorTable();
  }

  /** Adds what an error table of an earlier version lacks. */
  async upgradeErrorTable(): Promise<void> {
    const params = { database: this.#target.database, table: errorTableOf(this.#target) };
    await this.#link.use(async (client) => {
      const columns = await client.rows<{ name: string }>(columnNamesSql, { params: bound(params) });
      const sql = upgradeErrorTableSql(this.#target, new Set(columns.map(({ name }) => name)));
      if (sql !== undefined) await client.command(sql);
    });
  }

  async #command(sql: string): Promise<void> {
    await this.#link.use((client) => client.command(sql));
  }
}

const writtenColumns = "row_id, pipe_id, origin, position, message, raw, rows, raw_format, raw_size, facts";

function bound(params: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, parameterText(value)]));
}

function needsWindow(table: DestinationTableFacts): boolean {
  if (!table.engine.endsWith("MergeTree") || /^(Replicated|Shared)/.test(table.engine)) return false;
  return table.dedupWindow < dedupWindow;
}

export function missingTable(database: string, table: string): AppError {
  return new AppError("DESTINATION_INVALID", `The destination table ${database}.${table} does not exist.`);
}

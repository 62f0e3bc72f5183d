/**
 * The destination of a pipe: its table, prepared for exactly-once inserts, and its error table. Every operation here
 * may be repeated after a crash.
 */
import type { ClickHouseClient, Summary } from "../../clickhouse/client.ts";
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import { AppError } from "../../lib/errors.ts";
import { errorTableOf } from "../../sources/destination.ts";
import type { Insert, RejectedRecord, Destination as Target, TargetTable } from "../../sources/source.ts";
import type { PipeDestination } from "../../store/pipes.ts";
import { type DestinationTableFacts, findTable, sinksOf } from "../tables.ts";
import type { ServiceLink } from "./service-link.ts";
import type { EngineSettings } from "./settings.ts";

/** Number of blocks whose tokens the engine remembers: more than any batch in progress can have. */
export const dedupWindow = 100_000;
const errorTableDays = 7;

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
   * Creates a managed table, and makes the table and all targets of its views remember tokens. With `empty` a managed
   * table is emptied first, for a pipe that starts over.
   */
  async prepare(options: { empty: boolean }): Promise<void> {
    const target = this.#target;
    const { database } = target;
    if (target.kind === "owned") return await this.#command(`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`);
    if (this.#definition.managedTable === true) {
      await this.#command(`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`);
      await this.#command(createManagedTableSql(target, this.#definition));
      if (options.empty) await this.#command(`TRUNCATE TABLE ${tableName(database, target.table)}`);
    }
    await this.rememberTokens();
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

  async #remember(client: ClickHouseClient, target: DestinationTableFacts): Promise<void> {
    for (const sink of [target, ...(await sinksOf(client, target))]) {
      if (!needsWindow(sink)) continue;
      const name = tableName(sink.database, sink.name);
      await client.command(`ALTER TABLE ${name} MODIFY SETTING non_replicated_deduplication_window = ${dedupWindow}`);
    }
  }

  async insert(insert: Insert, settings: EngineSettings, signal: AbortSignal): Promise<Summary> {
    return await this.#link.use((client) =>
      client.command(insert.sql, {
        settings,
        signal,
        ...(insert.params === undefined ? {} : { params: insert.params }),
        ...(insert.body === undefined ? {} : { body: insert.body() }),
      }),
    );
  }

  /** Writes to the error table; repeats with the same token write once. */
  async reject(records: readonly RejectedRecord[], token: string): Promise<void> {
    this.#errorTableReady ??= this.#createErrorTable();
    try {
      await this.#errorTableReady;
    } catch (error) {
      this.#errorTableReady = undefined;
      throw error;
    }
    const lines = records.map(({ origin, position, message, raw }) =>
      JSON.stringify({ pipe_id: this.#pipeId, origin, position: position ?? "", message, raw: raw ?? "" }),
    );
    const settings = { async_insert: 0, insert_deduplicate: 1, insert_deduplication_token: token };
    const columns = "(pipe_id, origin, position, message, raw)";
    const body = Buffer.from(`${lines.join("\n")}\n`);
    await this.#link.use((client) =>
      client.command(`INSERT INTO ${this.#errorTable()} ${columns} FORMAT JSONEachRow`, { settings, body }),
    );
  }

  async #createErrorTable(): Promise<void> {
    await this.#command(
      `CREATE TABLE IF NOT EXISTS ${this.#errorTable()} (time DateTime64(3) DEFAULT now64(3), pipe_id String, ` +
        "origin String, position String, message String, raw String) ENGINE = MergeTree ORDER BY time " +
        `TTL toDateTime(time) + INTERVAL ${errorTableDays} DAY ` +
        `SETTINGS non_replicated_deduplication_window = ${dedupWindow}`,
    );
  }

  #errorTable(): string {
    return tableName(this.#target.database, errorTableOf(this.#target));
  }

  async #command(sql: string): Promise<void> {
    await this.#link.use((client) => client.command(sql));
  }
}

function needsWindow(table: DestinationTableFacts): boolean {
  if (!table.engine.endsWith("MergeTree") || /^(Replicated|Shared)/.test(table.engine)) return false;
  return table.dedupWindow < dedupWindow;
}

export function missingTable(database: string, table: string): AppError {
  return new AppError("DESTINATION_INVALID", `The destination table ${database}.${table} does not exist.`);
}

/** The statement that creates a managed table. The guard accepted types and expressions when the pipe was created. */
export function createManagedTableSql(table: TargetTable, definition: PipeDestination): string {
  const { engine, sortingKey, partitionBy, primaryKey } = definition.tableDefinition ?? {};
  const columns = (definition.columns ?? []).map(({ name, type }) => `${identifier(name)} ${type}`).join(",\n");
  const type = engine?.type ?? "MergeTree";
  const head = `CREATE TABLE IF NOT EXISTS ${tableName(table.database, table.table)} (\n${columns}\n)`;
  const comment = `COMMENT ${literal("Made by a Millrace pipe")}`;
  if (type === "Null") return `${head} ENGINE = Null ${comment}`;
  const order = (sortingKey ?? []).map(identifier).join(", ");
  return [
    `${head} ENGINE = ${type}(${engineArguments(engine)})`,
    partitionBy === undefined ? "" : `PARTITION BY ${partitionBy}`,
    primaryKey === undefined ? "" : `PRIMARY KEY (${primaryKey}\n)`,
    `ORDER BY (${order})`,
    `SETTINGS non_replicated_deduplication_window = ${dedupWindow}`,
    comment,
    // On separate lines: a text that ends in a comment hides nothing after it.
  ].join("\n");
}

function engineArguments(engine: NonNullable<PipeDestination["tableDefinition"]>["engine"]): string {
  if (engine?.type === "ReplacingMergeTree" && engine.versionColumnId !== undefined) {
    return identifier(engine.versionColumnId);
  }
  const columns = engine?.type === "SummingMergeTree" ? (engine.columnIds ?? []) : [];
  return columns.length === 0 ? "" : `(${columns.map(identifier).join(", ")})`;
}

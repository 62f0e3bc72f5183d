/**
 * The destination of a pipe: its table, prepared for exactly-once inserts, and its error table. Every operation here
 * may be repeated after a crash.
 */
import { createHash, randomUUID } from "node:crypto";
import { type ClickHouseClient, ClickHouseError, type Summary } from "../../clickhouse/client.ts";
import { identifier, literal, parameterText, tableName } from "../../clickhouse/sql.ts";
import { definitionSettings, onCluster, type TableForm } from "../../clickhouse/table-form.ts";
import { replicasOf } from "../../clickhouse/topology.ts";
import { AppError } from "../../lib/errors.ts";
import { errorTableOf } from "../../sources/contract/destination.ts";
import type { Insert, RejectedRecord, Destination as Target, TargetTable } from "../../sources/contract/source.ts";
import type { PipeDestination } from "../../store/pipes/pipes.ts";
import { columnNamesSql, createErrorTableSql, errorTableSql, upgradeErrorTableSql } from "../error-table.ts";
import { type Layout, layoutOf } from "../layout.ts";
import { columnSql, managedTableStatements, storedTable } from "../managed-table.ts";
import { tablesOnReplicas } from "../replicas.ts";
import { columnTypesOf, findTable } from "../tables.ts";
import { rowsOf } from "./counts.ts";
import type { ServiceLink } from "./service-link.ts";
import type { EngineSettings } from "./settings.ts";
import { rememberTokens, replicaWarnings } from "./token-memory.ts";

export type DestinationParts = {
  readonly link: ServiceLink;
  readonly pipeId: string;
  readonly target: Target;
  readonly definition: PipeDestination;
  /** Whether inserts wait for most replicas. Undefined: where one of them may be dead meanwhile. */
  readonly waitsForReplicas: boolean | undefined;
  /** Batches are spread over the servers of the service. */
  readonly spreads: boolean;
  /** Sets what the pipe shows while it goes on; without a message it shows nothing. */
  readonly warn: (key: string, message: string | undefined) => void;
};

export class DestinationWriter {
  readonly #parts: DestinationParts;
  readonly #link: ServiceLink;
  readonly #target: Target;
  readonly #definition: PipeDestination;
  #layout: Layout | undefined;
  #errorTableReady: Promise<void> | undefined;
  #refusal: string | undefined;

  constructor(parts: DestinationParts) {
    this.#parts = parts;
    this.#link = parts.link;
    this.#target = parts.target;
    this.#definition = parts.definition;
  }

  /** How the tables lie on the server, as it was when this worker first asked. */
  async layout(): Promise<Layout> {
    this.#layout ??= await this.#link.use((client) => layoutOf(client, this.#target.database));
    return this.#layout;
  }

  /**
   * Creates a managed table or adds its new columns, and makes the table and all targets of its views remember tokens.
   * With `empty` a managed table is emptied first, and the pipe's refused rows are deleted, for a pipe that starts
   * over: its source gives them again. `isMadeAgain`: the managed table did not exist.
   */
  async prepare(options: { empty: boolean }): Promise<{ isMadeAgain: boolean }> {
    const target = this.#target;
    const managed = target.kind === "table" && this.#definition.managedTable === true ? target : undefined;
    if (managed !== undefined || target.kind === "owned") await this.#ensureDatabase();
    const isMadeAgain = managed !== undefined && (await this.#makeTable(managed, options));
    await this.createErrorTable();
    if (managed !== undefined && options.empty) await this.#deleteRefusedRows();
    if (target.kind === "table") await this.rememberTokens();
    return { isMadeAgain };
  }

  /** Returns whether the table did not exist. */
  async #makeTable(target: TargetTable, { empty }: { readonly empty: boolean }): Promise<boolean> {
    const { database, table } = target;
    const { form } = await this.layout();
    const isMade = (await this.#link.use((client) => findTable(client, database, table))) === undefined;
    const stored = storedTable(table, this.#definition, form);
    if (!(await this.#isOnEveryServer([...new Set([table, stored])]))) {
      for (const sql of managedTableStatements(target, this.#definition, form)) await this.define(sql);
    }
    for (const name of new Set([stored, table])) await this.#addColumns(database, name);
    if (empty) {
      await this.#endInserts(this.#queryPrefix);
      await this.define(`TRUNCATE TABLE ${tableName(database, stored)}${onCluster(form)}`);
    }
    return isMade;
  }

  async #deleteRefusedRows(): Promise<void> {
    const sql = `ALTER TABLE ${errorTableSql(this.#target)} DELETE WHERE pipe_id = ${literal(this.#parts.pipeId)}`;
    await this.#link.use((client) => client.command(sql, { settings: { mutations_sync: 1 } }));
  }

  /** A user of an external server may lack the right to create databases, and does not need it for one that exists. */
  async #ensureDatabase(): Promise<void> {
    const { topology, form } = await this.layout();
    if (topology.databaseEngine !== undefined) return;
    await this.define(`CREATE DATABASE IF NOT EXISTS ${identifier(this.#target.database)}${onCluster(form)}`);
  }

  /** Then nothing has to be created, which the user may not be allowed to. False without a cluster. */
  async #isOnEveryServer(tables: readonly string[]): Promise<boolean> {
    const { topology, form } = await this.layout();
    if (form.kind !== "cluster") return false;
    const found = await this.#link.use((client) => tablesOnReplicas(client, topology, this.#target.database, tables));
    return found !== undefined && found.missing.length === 0;
  }

  /** Columns that the definition has got since the table was created. */
  async #addColumns(database: string, table: string): Promise<void> {
    const present = await this.#link.use((client) => columnTypesOf(client, database, table));
    const missing = (this.#definition.columns ?? []).filter(({ name }) => !present.has(name));
    if (missing.length === 0) return;
    const additions = missing.map((column) => `ADD COLUMN IF NOT EXISTS ${columnSql(column)}`).join(",\n");
    await this.define(`ALTER TABLE ${tableName(database, table)}${onCluster(await this.#form())}\n${additions}`);
  }

  /** Also for views created after the pipe's start. Sets a warning where a table cannot. */
  async rememberTokens(): Promise<void> {
    const target = this.#target;
    const { database } = target;
    const layout = await this.layout();
    const tables = target.kind === "owned" ? target.tables : [target.table];
    const warnings: string[] = [];
    for (const name of [...tables, errorTableOf(target)]) {
      await this.#link.use(async (client) => {
        const found = await findTable(client, database, name);
        if (found !== undefined) warnings.push(...(await rememberTokens(client, found, layout)));
        else if (target.kind === "table" && name === target.table) throw missingTable(database, name);
      });
    }
    const checked = [...tables, errorTableOf(target)];
    const onServers = await this.#link.use((client) => replicaWarnings(client, layout, database, checked));
    const told = [...warnings, ...onServers].join(" ");
    this.#parts.warn("tokens", told === "" ? undefined : told);
  }

  /** True when the table has materialized views. Asks the engine each time: views may be created at any moment. */
  async #hasViews(): Promise<boolean> {
    const target = this.#target;
    if (target.kind === "owned") return false;
    const found = await this.#link.use((client) => findTable(client, target.database, target.table));
    return found !== undefined && found.views.length > 0;
  }

  /** Grows when an engine of the service has ended by an error of its own. */
  async crashes(): Promise<number> {
    return await this.#link.use(async (client) => client.crashes);
  }

  /** Begins the ids of the queries of this pipe's inserts. */
  get #queryPrefix(): string {
    return `pipe-${this.#parts.pipeId}-`;
  }

  /**
   * The engine goes on with an insert whose connection is closed. What nobody waits for any more must not write after
   * the table was emptied, or when the pipe is said to be stopped. A user who may not do this leaves it to the engine.
   */
  async #endInserts(prefix: string): Promise<void> {
    const cluster = onCluster(await this.#form());
    const sql = `KILL QUERY${cluster} WHERE startsWith(initial_query_id, ${literal(prefix)}) SYNC`;
    await this.define(sql).catch((error: unknown) => {
      if (!(error instanceof ClickHouseError)) throw error;
    });
  }

  /** The summary counts only rows of the table itself. An insert that the signal ends writes nothing afterwards. */
  async insert(insert: Insert, settings: EngineSettings, signal: AbortSignal): Promise<Summary> {
    // Before the insert: what is missing afterwards would look as if it had not been loaded.
    const counted = insert.count !== undefined && (await this.#hasViews()) ? await insert.count(signal) : undefined;
    const queryId = `${this.#queryPrefix}${randomUUID()}`;
    const written = this.#write((client, across) =>
      client.command(insert.sql, {
        queryId,
        settings: { ...settings, ...across },
        signal,
        ...(this.#parts.spreads ? { spread: spreadOf(settings) } : {}),
        ...(insert.params === undefined ? {} : { params: insert.params }),
        ...(insert.body === undefined ? {} : { body: insert.body() }),
        ...(insert.bodyTable === undefined ? {} : { bodyTable: insert.bodyTable }),
      }),
    );
    const summary = await written.catch(async (error: unknown) => {
      if (signal.aborted) await this.#endInserts(queryId).catch(() => {});
      throw error;
    });
    return { ...summary, writtenRows: counted ?? summary.writtenRows };
  }

  /** Why the first record that was refused here was refused. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Writes to the error table; repeats with the same token write once. */
  async reject(records: readonly RejectedRecord[], token: string): Promise<void> {
    await this.createErrorTable();
    this.#refusal ??= records[0]?.message;
    const lines = records.map((record, index) => JSON.stringify(this.#errorRow(record, `${token}:${index}`)));
    const settings = { async_insert: 0, insert_deduplicate: 1, insert_deduplication_token: token };
    const body = Buffer.from(`${lines.join("\n")}\n`);
    const table = errorTableSql(this.#target);
    const sql = `INSERT INTO ${table} (${writtenColumns}) FORMAT JSONEachRow`;
    await this.#write((client, across) => client.command(sql, { settings: { ...settings, ...across }, body }));
  }

  /** An insert with the settings that make it durable on a cluster. They are not saved with a batch: any will do. */
  async #write<T>(work: (client: ClickHouseClient, across: EngineSettings) => Promise<T>): Promise<T> {
    const quorum = (await this.#hasQuorum()) ? quorumSettings : {};
    return await this.#link.use((client) => work(client, { ...wholeStatement, ...quorum }));
  }

  /**
   * Never given up for a batch that has had it: the engine may drop a part that did not reach its quorum, after a
   * repetition without one was told that the part is there.
   */
  async #hasQuorum(): Promise<boolean> {
    const { topology, form } = await this.layout();
    if (form.kind === "cloud") return false;
    return this.#parts.waitsForReplicas ?? replicasOf(topology) >= leastForQuorum;
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
      pipe_id: this.#parts.pipeId,
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
    if (!(await this.#isOnEveryServer([errorTableOf(this.#target)]))) {
      await this.define(createErrorTableSql(this.#target, await this.#form()));
    }
    await this.upgradeErrorTable();
  }

  /** Adds what an error table of an earlier version lacks. */
  async upgradeErrorTable(): Promise<void> {
    const params = { database: this.#target.database, table: errorTableOf(this.#target) };
    const columns = await this.#link.use((client) =>
      client.rows<{ name: string }>(columnNamesSql, { params: bound(params) }),
    );
    const sql = upgradeErrorTableSql(this.#target, new Set(columns.map(({ name }) => name)), await this.#form());
    if (sql !== undefined) await this.define(sql);
  }

  async #form(): Promise<TableForm> {
    return (await this.layout()).form;
  }

  /** Runs a statement that defines tables. */
  async define(sql: string): Promise<void> {
    const settings = definitionSettings(await this.#form());
    await this.#link.use((client) => client.command(sql, { settings }));
  }
}

/**
 * One server reads a batch and sends its rows to the shards before it answers. A server that keeps rows for later
 * forgets their token, and servers that share a batch cut it into other blocks at each attempt.
 */
const wholeStatement = { distributed_foreground_insert: 1, parallel_distributed_insert_select: 0 } as const;

/** Most of two replicas are both: the death of one would hold up every batch. */
const leastForQuorum = 3;
const quorumSettings = { insert_quorum: "auto", insert_quorum_timeout: 60_000 } as const;

const writtenColumns = "row_id, pipe_id, origin, position, message, raw, rows, raw_format, raw_size, facts";

function bound(params: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, parameterText(value)]));
}

/** A batch is always spread the same way, so that its repetition finds it at once. */
function spreadOf(settings: EngineSettings): number {
  const token = String(settings.insert_deduplication_token ?? "");
  return createHash("sha256").update(token).digest().readUInt32BE(0);
}

export function missingTable(database: string, table: string): AppError {
  return new AppError("DESTINATION_INVALID", `The destination table ${database}.${table} does not exist.`);
}

/** A pipe's source: copies the tables, then follows their changes. */
import type pg from "pg";
import { tableName } from "../../clickhouse/sql.ts";
import { AppError } from "../../lib/errors.ts";
import type { Batch, Json, JsonObject, Source, SourceContext } from "../source.ts";
import { type Barrier, streamBatch, streamLane, truncateBatch } from "./batches.ts";
import { readTables, type SourceTable } from "./catalog.ts";
import { connect, sourceError } from "./connection.ts";
import { DestinationTables } from "./destination.ts";
import { Following } from "./following.ts";
import type { RelationalDbConfig, TableMapping } from "./kind.ts";
import { parseLsn, placeText } from "./lsn.ts";
import type { Relation } from "./pgoutput.ts";
import { createSlot, ensurePublication, exportSnapshot, findSlot, type Names, namesOf, type Snapshot } from "./slot.ts";
import { type Copied, SnapshotCopy } from "./snapshot.ts";
import { planTable, type TablePlan } from "./tables.ts";

/** Bytes of a batch that is gathered: as many again are inserted meanwhile. */
const maxBatchBytes = 64 * 2 ** 20;

export class RelationalSource implements Source {
  readonly #config: RelationalDbConfig;
  readonly #context: SourceContext;
  readonly #names: Names;
  readonly #destination: DestinationTables;
  readonly #tables = new Map<string, Copied>();
  #copy: SnapshotCopy | undefined;
  #following: Following | undefined;

  private constructor(config: RelationalDbConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#names = namesOf(config, context.pipeId);
    this.#destination = new DestinationTables(context);
  }

  /** Looks at the source and makes what is missing at both sides. */
  static async open(config: RelationalDbConfig, context: SourceContext): Promise<RelationalSource> {
    const source = new RelationalSource(config, context);
    const client = await connect(config);
    try {
      await source.#prepare(client);
      return source;
    } catch (error) {
      throw isOfSource(error) ? sourceError(error) : error;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async *read(checkpoints: ReadonlyMap<string, Json>, signal: AbortSignal): AsyncGenerator<Batch> {
    const mode = this.#config.settings?.replicationMode ?? "cdc";
    if (mode !== "cdc_only") yield* this.#copyTables(mode, signal);
    if (mode === "snapshot" || signal.aborted) return;
    yield* this.#follow(checkpoints.get(streamLane) as string | undefined, signal);
  }

  async replay(replay: JsonObject, signal: AbortSignal): Promise<Batch> {
    const { kind, lane, id, from, to } = replay as Record<string, string>;
    if (kind === "truncate") {
      const sql = replay.sql as readonly string[];
      const inserts = sql.map((statement) => ({ sql: statement }));
      return { lane: streamLane, id: `${from}-${to}:truncate`, replay, checkpoint: to as string, inserts };
    }
    // What was copied is gone with its snapshot: the range is handed out again.
    if (kind !== "changes") return { lane: lane as string, id: id as string, replay, inserts: [] };
    const following = this.#follower(from as string, { until: to as string });
    try {
      await following.open(await this.#slotPosition(), signal);
      const gathered = await following.exactly(signal);
      if (gathered === undefined) throw new Error("the stream ended before the batch was complete");
      return { ...streamBatch(gathered), replay };
    } finally {
      await following.close();
    }
  }

  async refused(): Promise<readonly Batch[]> {
    return [];
  }

  async acknowledge(batch: Batch): Promise<void> {
    this.#context.answered();
    this.#copy?.acknowledge(batch);
    this.#following?.acknowledge(batch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#following?.close();
  }

  async #prepare(client: pg.Client): Promise<void> {
    const { tableMappings, settings } = this.#config;
    const sources = await this.#sourceTables(client, tableMappings);
    if (settings?.replicationMode !== "snapshot") await ensurePublication(client, this.#names, tableMappings);
    for (const [index, mapping] of tableMappings.entries()) {
      const plan = this.#plan(sources[index] as SourceTable, mapping);
      const into = await this.#destination.prepare(plan);
      this.#tables.set(tableKey(plan.source.schema, plan.source.name), { plan, into });
    }
  }

  /** As they were when the pipe first saw them, with what has been changed since: the stream may be behind the source. */
  async #sourceTables(client: pg.Client, mappings: readonly TableMapping[]): Promise<SourceTable[]> {
    const saved = await this.#context.marks(mappings.map(tableMark));
    const unknown = mappings.filter((mapping) => !saved.has(tableMark(mapping)));
    const wanted = unknown.map(({ sourceSchemaName: schema, sourceTable: name }) => ({ schema, name }));
    const found = new Map(
      (await readTables(client, wanted)).map((table) => [tableKey(table.schema, table.name), table]),
    );
    const marks: Record<string, Json> = {};
    const tables = mappings.map((mapping) => {
      const known = saved.get(tableMark(mapping));
      if (known !== undefined) return known as unknown as SourceTable;
      const table = found.get(tableKey(mapping.sourceSchemaName, mapping.sourceTable));
      if (table === undefined) {
        const name = `${mapping.sourceSchemaName}.${mapping.sourceTable}`;
        throw new AppError("SOURCE_INVALID", `The table ${name} does not exist at the source.`);
      }
      marks[tableMark(mapping)] = table as unknown as JsonObject;
      return table;
    });
    await this.#context.note(marks, {});
    return tables;
  }

  #plan(source: SourceTable, mapping: TableMapping): TablePlan {
    const { allowNullableColumns: nullable = false, deleteOnMerge: hardDelete = false } = this.#config.settings ?? {};
    return planTable(source, mapping, this.#context.destination.database, { nullable, hardDelete });
  }

  async *#copyTables(mode: string, signal: AbortSignal): AsyncGenerator<Batch> {
    const marks = await this.#context.marks([copiedMark, slotMark]);
    if (marks.has(copiedMark)) return;
    const tables = [...this.#tables.values()];
    this.#copy = new SnapshotCopy(this.#config, this.#context, tables);
    const client = await connect(this.#config);
    let snapshot: Snapshot | undefined;
    try {
      snapshot = await this.#snapshot(mode, marks.has(slotMark));
      const work = await this.#copy.remaining(client);
      if (work.length > 0) yield* this.#copy.read(work, snapshot, signal);
      if (signal.aborted) return;
      for (const { plan } of tables) {
        await this.#destination.publish(plan);
        this.#tables.set(tableKey(plan.source.schema, plan.source.name), { plan, into: plan.target });
      }
      await this.#context.note({ [copiedMark]: snapshot.lsn }, {});
    } finally {
      await snapshot?.close();
      await client.end().catch(() => {});
    }
  }

  /** The slot's own, the first time; then one of now, while the slot keeps everything since. */
  async #snapshot(mode: string, hasSlot: boolean): Promise<Snapshot> {
    if (mode === "snapshot") return await exportSnapshot(this.#config);
    if (hasSlot) {
      await this.#slotPosition();
      return await exportSnapshot(this.#config);
    }
    const snapshot = await createSlot(
      this.#config,
      this.#names.slot,
      this.#config.settings?.enableFailoverSlots === true,
    );
    await this.#context.note({ [slotMark]: snapshot.lsn }, {});
    return snapshot;
  }

  async *#follow(checkpoint: string | undefined, signal: AbortSignal): AsyncGenerator<Batch> {
    const position = await this.#slotPosition();
    const first = (await this.#context.marks([slotMark])).get(slotMark) as string | undefined;
    const begin = first === undefined ? position : parseLsn(first);
    const from = checkpoint ?? placeText({ lsn: begin - 1n, change: "whole" });
    const { pullBatchSize = 100_000, syncIntervalSeconds = 60 } = this.#config.settings ?? {};
    const following = this.#follower(from, {
      limits: { rows: pullBatchSize, bytes: maxBatchBytes },
      syncMs: syncIntervalSeconds * 1000,
    });
    this.#following = following;
    try {
      await following.open(position, signal);
      this.#context.answered();
      for await (const step of following.steps(signal)) {
        if (step.kind === "batch") yield step.batch;
        else yield* this.#pass(step.barrier, step.from);
      }
    } finally {
      await following.close();
    }
  }

  async *#pass(barrier: Barrier, from: string): AsyncGenerator<Batch> {
    if (barrier.kind === "truncate") {
      const sql = barrier.tables.map((plan) => `TRUNCATE TABLE ${tableName(plan.database, plan.target)}`);
      yield truncateBatch(from, barrier, sql);
      return;
    }
    const id = `${from}:relation:${barrier.relation.oid}`;
    yield { lane: streamLane, id, replay: { kind: "nothing", lane: streamLane, id }, inserts: [] };
  }

  #follower(from: string, options: ConstructorParameters<typeof Following>[2]): Following {
    const planOf = (relation: Relation) => this.#tables.get(tableKey(relation.schema, relation.name))?.plan;
    const parts = { config: this.#config, names: this.#names, planOf, fits: () => true };
    return new Following(parts, from, options);
  }

  /** Where the source would go on; throws when the slot is gone or its log is. */
  async #slotPosition(): Promise<bigint> {
    const client = await connect(this.#config);
    try {
      const slot = await findSlot(client, this.#names.slot);
      if (slot === undefined) throw lost(`The replication slot "${this.#names.slot}" does not exist any more`);
      if (slot.walStatus === "lost") throw lost(`The replication slot "${this.#names.slot}" has lost its log`);
      return parseLsn(slot.confirmed);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

const copiedMark = "copied";
const slotMark = "slot";

function tableMark(mapping: TableMapping): string {
  return `table:${mapping.targetTable}`;
}

function tableKey(schema: string, name: string): string {
  return JSON.stringify([schema, name]);
}

function lost(what: string): AppError {
  return new AppError("SOURCE_INVALID", `${what}: changes may be missing. Send the command resync to copy anew.`);
}

/** Errors of `pg` carry a code of five characters, those of its sockets an errno. */
function isOfSource(error: unknown): boolean {
  return !(error instanceof AppError) && typeof (error as { code?: unknown }).code === "string";
}

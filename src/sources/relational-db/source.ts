/** A pipe's source: copies the tables, then follows their changes. */
import type pg from "pg";
import { tableName } from "../../clickhouse/sql.ts";
import { AppError } from "../../lib/errors.ts";
import type { Insert, InsertFailure, Source, Batch as SourceBatch, SourceContext } from "../source.ts";
import type { PostgresDurable, PostgresReplay } from "./durable.ts";
import type { SourceServer } from "./kind.ts";
import { formatPosition, parseLsn, parsePosition } from "./protocol/lsn.ts";
import type { Relation } from "./protocol/pgoutput.ts";
import { readTables } from "./server/catalog.ts";
import { connect } from "./server/connection.ts";
import { postgresSourceError } from "./server/errors.ts";
import { ResumeCheck } from "./server/resume-check.ts";
import {
  createSlot,
  type ExportedSnapshot,
  ensurePublication,
  exportSnapshot,
  type ReplicationNames,
  replicationNamesOf,
  temporarySnapshot,
} from "./server/slot.ts";
import { SlotMonitor } from "./server/slot-monitor.ts";
import { type Copied, SnapshotCopy } from "./snapshot/snapshot.ts";
import {
  emptyingBatch,
  type StreamBarrier,
  streamBatch,
  streamLane,
  type TableInsert,
  truncateBatch,
} from "./stream/batch-builder.ts";
import { ChangeReader } from "./stream/change-reader.ts";
import { DestinationTables } from "./tables/destination.ts";
import { evolve, fits } from "./tables/evolve.ts";
import { type TableState, TableStates } from "./tables/table-states.ts";

type Batch = SourceBatch<PostgresDurable>;
type Context = SourceContext<PostgresDurable>;

/** Bytes of a batch that is gathered, of a worker with a GB of memory or more: as many again are inserted meanwhile. */
const maxBatchBytes = 64 * 2 ** 20;

export class RelationalSource implements Source<PostgresDurable> {
  readonly #server: SourceServer;
  readonly #context: Context;
  readonly #names: ReplicationNames;
  readonly #destination: DestinationTables;
  readonly #resumeCheck: ResumeCheck;
  #states: TableStates;
  /** Nothing has been done since the states were loaded. */
  #isFresh = true;
  #copy: SnapshotCopy | undefined;
  #changeReader: ChangeReader | undefined;
  /** Commit of the last transaction that is durable, in part or whole. */
  #reached = 0n;

  private constructor(server: SourceServer, context: Context, states: TableStates) {
    this.#server = server;
    this.#context = context;
    this.#states = states;
    this.#names = replicationNamesOf(server.config, context.pipeId);
    this.#destination = new DestinationTables(context);
    this.#resumeCheck = new ResumeCheck(context, this.#names.slot);
  }

  /** Looks at the source and makes what is missing at both sides. */
  static async open(server: SourceServer, context: Context): Promise<RelationalSource> {
    const client = await connect(server);
    try {
      const names = replicationNamesOf(server.config, context.pipeId);
      const isFollowed = server.config.settings?.replicationMode !== "snapshot";
      if (isFollowed) await ensurePublication(client, names, server.config.tableMappings);
      const states = await TableStates.load(client, server.config, context);
      // Without a copy, the pipe is not shown as running before its slot sees every change.
      const isCopied =
        server.config.settings?.replicationMode === "cdc_only"
          ? !names.ownSlot || (await isSlotMade(context))
          : states.all().every((state) => state.isCopied);
      context.progress.copying(!isCopied);
      return new RelationalSource(server, context, states);
    } catch (error) {
      throw isOfSource(error) ? postgresSourceError(error) : error;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async *read(checkpoints: ReadonlyMap<string, string>, signal: AbortSignal): AsyncGenerator<Batch> {
    const mode = this.#server.config.settings?.replicationMode ?? "cdc";
    if (this.#isFresh) this.#isFresh = false;
    else this.#states = await this.#load();
    const checkpoint = checkpoints.get(streamLane);
    this.#reached = checkpoint === undefined ? 0n : parsePosition(checkpoint).lsn;
    if (mode === "cdc_only") await this.#makeTables();
    else yield* this.#copyTables(mode, signal);
    if (mode === "snapshot" || signal.aborted) return;
    yield* this.#follow(checkpoint, signal);
  }

  async replay(replay: PostgresReplay, signal: AbortSignal): Promise<Batch> {
    if (replay.kind === "truncate") return emptyingBatch(replay);
    // What was copied is gone with its snapshot: the range is handed out again.
    if (replay.kind !== "changes") return { lane: replay.lane, id: replay.id, replay, inserts: [] };
    const { from, to } = replay;
    this.#isFresh = false;
    this.#states = await this.#load();
    const changeReader = this.#follower(from, { until: to });
    try {
      const reached = parsePosition(to).lsn;
      await changeReader.open((client) => this.#resumeCheck.check(client, reached), signal);
      const built = await changeReader.exactly(signal);
      if (built === undefined) throw new Error("the stream ended before the batch was complete");
      return { ...streamBatch(built), replay };
    } finally {
      await changeReader.close();
    }
  }

  /** A table that the engine does not take rows for is stopped, as a missing row would make it wrong; others go on. */
  async refused(batch: Batch, failure: InsertFailure): Promise<readonly Batch[]> {
    const state = this.#stateOf(batch, failure.insert);
    if (state === undefined) return [];
    const whose = failure.kind === "destination" ? "its table or a view on it refuses inserts" : "a row does not fit";
    await state.stop(`${whose} (${failure.message})`);
    const { target } = state.plan;
    const isOther = (insert: Insert) => batch.lane === streamLane && (insert as Partial<TableInsert>).target !== target;
    return [withoutInserts(batch, isOther)];
  }

  /** Rows of a table that was stopped while they were gathered. */
  #withoutStopped(batch: Batch): Batch {
    const stopped = this.#states.all().filter(({ isStopped }) => isStopped);
    const targets = stopped.map(({ plan }) => plan.target);
    if (targets.length === 0) return batch;
    return withoutInserts(batch, (insert) => !targets.includes((insert as TableInsert).target));
  }

  #stateOf(batch: Batch, insert: number): TableState | undefined {
    if (batch.lane === streamLane) {
      return this.#states.ofTarget((batch.inserts[insert] as Partial<TableInsert>).target ?? "");
    }
    return this.#states.all().find((state) => isLaneOf(batch.lane, state));
  }

  async acknowledge(batch: Batch): Promise<void> {
    this.#context.progress.answered();
    this.#copy?.acknowledge(batch);
    this.#changeReader?.acknowledge(batch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changeReader?.close();
  }

  /** Anew before every run: a copy that broke off, and changes of the source, are seen here. */
  async #load(): Promise<TableStates> {
    const client = await connect(this.#server);
    try {
      return await TableStates.load(client, this.#server.config, this.#context);
    } catch (error) {
      throw isOfSource(error) ? postgresSourceError(error) : error;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async *#copyTables(mode: string, signal: AbortSignal): AsyncGenerator<Batch> {
    const states = this.#states.all().filter((state) => !state.isCopied);
    if (states.length === 0) return;
    this.#context.progress.copying(true);
    const connecting = connect(this.#server);
    // It is awaited when the tables are there.
    connecting.catch(() => {});
    let snapshot: ExportedSnapshot | undefined;
    try {
      snapshot = await this.#snapshot(mode);
      const tables: Copied[] = [];
      for (const state of states) {
        // Rows without a version must not come twice: from the copy, and from the stream.
        if (state.plan.engine !== "ReplacingMergeTree") await state.skipChangesBefore(snapshot.lsn);
        const { plan, copyId } = state;
        tables.push({ plan, copyId, ...(await this.#destination.prepare(plan, copyId)) });
      }
      this.#copy = new SnapshotCopy(this.#server, this.#context, tables);
      yield* this.#copyRows(this.#copy, await connecting, snapshot, signal);
      if (signal.aborted) return;
      for (const state of states.filter(({ isStopped }) => !isStopped)) {
        await this.#destination.publish(state.plan, state.copyId);
        await state.completed(snapshot.lsn);
      }
      this.#context.progress.copying(false);
    } finally {
      await Promise.allSettled([snapshot?.close(), connecting.then((client) => client.end())]);
    }
  }

  async *#copyRows(copy: SnapshotCopy, client: pg.Client, snapshot: ExportedSnapshot, signal: AbortSignal) {
    try {
      const work = await copy.work(client);
      if (work.length === 0) return;
      for await (const batch of copy.read(work, snapshot, signal)) {
        const isStopped = this.#states.all().some((state) => state.isStopped && isLaneOf(batch.lane, state));
        yield isStopped ? withoutInserts(batch, () => false) : batch;
      }
    } catch (error) {
      throw isOfSource(error) ? postgresSourceError(error) : error;
    }
  }

  /** The slot's own, the first time; then a later one, while the slot keeps everything since. */
  async #snapshot(mode: string): Promise<ExportedSnapshot> {
    if (mode === "snapshot") return await exportSnapshot(this.#server);
    if (await isSlotMade(this.#context)) {
      const check = (client: pg.Client) => this.#resumeCheck.check(client, this.#reached);
      const snapshot = await temporarySnapshot(this.#server, check, this.#tellWaiting);
      await this.#resumeCheck.copies(snapshot.lsn);
      return snapshot;
    }
    return await this.#createSlot();
  }

  async #createSlot(): Promise<ExportedSnapshot> {
    const failover = this.#server.config.settings?.enableFailoverSlots === true;
    const snapshot = await createSlot(this.#server, this.#names.slot, failover, this.#tellWaiting);
    await this.#resumeCheck.begins(snapshot.lineage, snapshot.lsn);
    await this.#context.ledger.note({ [slotMark]: snapshot.lsn }, {});
    return snapshot;
  }

  readonly #tellWaiting = (message?: string) => this.#context.progress.warn("transactions", message);

  /** Tables that are followed without having been copied. The pipe's own slot begins now. */
  async #makeTables(): Promise<void> {
    if (this.#names.ownSlot && !(await isSlotMade(this.#context))) await (await this.#createSlot()).close();
    for (const state of this.#states.all()) {
      if (state.isCopied) continue;
      await this.#destination.prepare(state.plan, state.copyId);
      await this.#destination.publish(state.plan, state.copyId);
      await state.completed("0/0");
    }
    this.#context.progress.copying(false);
  }

  async *#follow(checkpoint: string | undefined, signal: AbortSignal): AsyncGenerator<Batch> {
    const check = (client: pg.Client) => this.#resumeCheck.check(client, this.#reached);
    const from = checkpoint ?? formatPosition({ lsn: (await this.#firstPosition(check)) - 1n, change: "whole" });
    const { pullBatchSize = 100_000, syncIntervalSeconds = 60 } = this.#server.config.settings ?? {};
    const changeReader = this.#follower(from, {
      limits: { rows: pullBatchSize, bytes: maxBatchBytes * Math.min(1, this.#context.memoryGb) },
      syncMs: syncIntervalSeconds * 1000,
    });
    this.#changeReader = changeReader;
    const watch = new SlotMonitor(this.#server, this.#context, this.#names.slot);
    try {
      await changeReader.open(check, signal);
      this.#context.progress.answered();
      watch.start(() => changeReader.gauges());
      for await (const step of changeReader.steps(signal)) {
        if (step.kind === "batch") yield this.#withoutStopped(step.batch);
        else yield* this.#pass(changeReader, step.barrier, step.from);
      }
    } finally {
      await watch.stop();
      await changeReader.close();
    }
  }

  async *#pass(changeReader: ChangeReader, barrier: StreamBarrier, from: string): AsyncGenerator<Batch> {
    if (barrier.kind === "truncate") {
      const sql = barrier.tables.map((plan) => `TRUNCATE TABLE ${tableName(plan.database, plan.target)}`);
      yield changeReader.awaits(truncateBatch(from, barrier, sql));
      return;
    }
    const { relation } = barrier;
    const id = `${from}:relation:${relation.oid}`;
    yield { lane: streamLane, id, replay: { kind: "nothing", lane: streamLane, id }, inserts: [] };
    // The lane has taken this one, so everything before it is durable.
    await this.#evolve(relation);
  }

  async #evolve(relation: Relation): Promise<void> {
    const state = this.#states.of(relation);
    if (state === undefined || state.isStopped) return;
    const client = await connect(this.#server);
    try {
      const [now] = await readTables(client, [relation]);
      const nullable = this.#server.config.settings?.allowNullableColumns === true;
      const evolution = evolve(state, relation, now, nullable);
      if (typeof evolution === "string") return await state.stop(evolution);
      for (const statement of evolution.statements) await this.#context.destination.command(statement);
      if (evolution.statements.length > 0) await this.#destination.refreshView(state.planned(evolution.source));
      // Last: what was not done until here is done again.
      await state.changed(evolution.source);
    } catch (error) {
      // Else one table that somebody has changed would hold all.
      const refusal = this.#context.destination.refusal(error);
      if (refusal === undefined) throw isOfSource(error) ? postgresSourceError(error) : error;
      await state.stop(`the engine does not change its table (${refusal})`);
    } finally {
      await client.end().catch(() => {});
    }
  }

  #follower(from: string, options: ConstructorParameters<typeof ChangeReader>[2]): ChangeReader {
    const parts = {
      server: this.#server,
      names: this.#names,
      planOf: (relation: Relation, lsn: bigint) => {
        const state = this.#states.of(relation);
        return state === undefined || state.isStopped || lsn < state.skipTo ? undefined : state.plan;
      },
      remember: (lsn: bigint, skippedRows: number) => this.#resumeCheck.confirms(lsn, skippedRows),
      isOurs: (relation: Relation) => this.#states.of(relation)?.isStopped === false,
      fits: (relation: Relation) => {
        const state = this.#states.of(relation);
        return state === undefined || state.isStopped || fits(state, relation);
      },
    };
    return new ChangeReader(parts, from, options);
  }

  /** The slot's first position: what is before it was copied, or is not wanted. */
  async #firstPosition(check: (client: pg.Client) => Promise<bigint>): Promise<bigint> {
    const first = (await this.#context.ledger.marks([slotMark])).get(slotMark);
    if (first !== undefined) return parseLsn(first);
    const client = await connect(this.#server, { replication: true });
    try {
      return await check(client);
    } catch (error) {
      throw postgresSourceError(error);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

const slotMark = "slot";

/** The same batch with these inserts only. The rows of the others are left out. */
function withoutInserts(batch: Batch, isKept: (insert: Insert) => boolean): Batch {
  const left = batch.inserts.filter((insert) => !isKept(insert)).reduce((sum, { rows = 0 }) => sum + rows, 0);
  return { ...batch, inserts: batch.inserts.filter(isKept), skippedRows: (batch.skippedRows ?? 0) + left };
}

async function isSlotMade(context: Context): Promise<boolean> {
  return (await context.ledger.marks([slotMark])).has(slotMark);
}

/** Lanes of a copy are named after the table and the copy. */
function isLaneOf(lane: string, { plan, copyId }: TableState): boolean {
  return lane.startsWith(`snapshot:${plan.target}:${copyId}:`);
}

/** Errors of `pg` carry a code of five characters, those of its sockets an errno. */
function isOfSource(error: unknown): boolean {
  return !(error instanceof AppError) && typeof (error as { code?: unknown }).code === "string";
}

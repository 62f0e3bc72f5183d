/** A pipe's source: copies the tables, then follows their changes. */
import type pg from "pg";
import { tableName } from "../../clickhouse/sql.ts";
import { childOf } from "../../lib/abort.ts";
import { merged } from "../../lib/merged.ts";
import type { Insert, InsertFailure, Source, Batch as SourceBatch, SourceContext } from "../contract/source.ts";
import type { PostgresDurable, PostgresReplay } from "./declaration/durable.ts";
import type { SourceServer } from "./declaration/kind.ts";
import { formatPosition, parseLsn, parsePosition } from "./protocol/lsn.ts";
import type { Relation } from "./protocol/pgoutput.ts";
import { readTables } from "./server/catalog.ts";
import { connect } from "./server/connection.ts";
import { ofSource, postgresSourceError } from "./server/errors.ts";
import { publishTables, unpublishOthers } from "./server/publication.ts";
import { ResumeCheck } from "./server/resume-check.ts";
import { type ReplicationNames, replicationNamesOf } from "./server/slot.ts";
import { SlotMonitor } from "./server/slot-monitor.ts";
import { isLaneOf, isSlotMade, slotMark, TableCopier, withoutInserts } from "./snapshot/table-copier.ts";
import {
  catchUpLane,
  emptyBatch,
  emptyingBatch,
  type StreamBarrier,
  type StreamLane,
  streamBatch,
  streamLane,
  type TableInsert,
  truncateBatch,
} from "./stream/batch-builder.ts";
import { ChangeReader, type ChangeReaderOptions } from "./stream/change-reader.ts";
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
  readonly #copier: TableCopier;
  #states: TableStates;
  /** Nothing has been done since the states were loaded. */
  #isFresh = true;
  #changeReader: ChangeReader | undefined;
  /** Place in the stream up to which everything is durable. */
  #place: string | undefined;
  /** The pipe's own publication has tables that the pipe does not have any more. */
  #publishesOthers: boolean;

  private constructor(server: SourceServer, context: Context, states: TableStates, publishesOthers: boolean) {
    this.#server = server;
    this.#context = context;
    this.#states = states;
    this.#publishesOthers = publishesOthers;
    this.#names = replicationNamesOf(server.config, context.pipeId);
    this.#destination = new DestinationTables(context);
    this.#resumeCheck = new ResumeCheck(context, this.#names.slot);
    const { slot } = this.#names;
    const [destination, resumeCheck] = [this.#destination, this.#resumeCheck];
    this.#copier = new TableCopier({ server, context, slot, destination, resumeCheck });
  }

  /** Looks at the source and makes what is missing at both sides. */
  static async open(server: SourceServer, context: Context): Promise<RelationalSource> {
    await using client = await connect(server);
    try {
      const names = replicationNamesOf(server.config, context.pipeId);
      const isFollowed = server.config.settings?.replicationMode !== "snapshot";
      const { added, hasOthers } = isFollowed
        ? await publishTables(client, names, server.config.tableMappings)
        : { added: [], hasOthers: false };
      const states = await TableStates.load(client, server.config, context);
      await states.stopSilent(added);
      // Without a copy, the pipe is not shown as running before its slot sees every change.
      const isCopied =
        server.config.settings?.replicationMode === "cdc_only"
          ? !names.ownSlot || (await isSlotMade(context))
          : states.all().some(({ isFollowed }) => isFollowed) || states.all().every(({ isCopied }) => isCopied);
      context.progress.copying(!isCopied);
      return new RelationalSource(server, context, states, hasOthers);
    } catch (error) {
      throw ofSource(error);
    }
  }

  async *read(checkpoints: ReadonlyMap<string, string>, signal: AbortSignal): AsyncGenerator<Batch> {
    const mode = this.#server.config.settings?.replicationMode ?? "cdc";
    if (this.#isFresh) this.#isFresh = false;
    else this.#states = await this.#load();
    await this.#letGo();
    this.#place = checkpoints.get(streamLane);
    const begun = this.#states.all().filter((state) => !state.isCopied);
    if (mode === "cdc_only") await this.#copier.makeEmpty(begun, this.#names.ownSlot);
    else if (begun.length > 0) yield* this.#begin(begun, checkpoints.get(catchUpLane), signal);
    if (signal.aborted) return;
    this.#context.progress.copying(false);
    if (mode !== "snapshot") yield* this.#follow(signal);
  }

  /** Batches that began with tables which were taken out since are durable: now the tables are left as they are. */
  async #letGo(): Promise<void> {
    const unfinished = this.#states.leaving().filter((state) => !state.isFollowed);
    for (const { plan } of unfinished) await this.#destination.discard(plan);
    await this.#states.forgetLeaving();
    if (!this.#publishesOthers) return;
    const { tableMappings } = this.#server.config;
    await this.#withClient((client) => unpublishOthers(client, this.#names, tableMappings));
    this.#publishesOthers = false;
  }

  async replay(replay: PostgresReplay, signal: AbortSignal): Promise<Batch> {
    if (replay.kind === "truncate") return emptyingBatch(replay);
    // What was copied is gone with its snapshot: the range is handed out again.
    if (replay.kind !== "changes") return { lane: replay.lane, id: replay.id, replay, inserts: [] };
    const { from, to, lane = streamLane } = replay;
    this.#isFresh = false;
    this.#states = await this.#load();
    const changeReader = this.#reader(from, { lane, upTo: to, isReplay: true });
    try {
      const reached = parsePosition(to).lsn;
      await changeReader.open((client) => this.#resumeCheck.check(client, reached), signal);
      const built = await changeReader.exactly(signal);
      if (built === undefined) throw new Error("the stream ended before the batch was complete");
      return { ...streamBatch({ ...built, to }, lane), replay };
    } finally {
      await changeReader.close();
    }
  }

  /** A table that the engine does not take rows for is stopped, as a missing row would make it wrong; others go on. */
  async refused(batch: Batch, failure: InsertFailure): Promise<readonly Batch[]> {
    const state = this.#stateOf(batch, failure.insert);
    if (state === undefined) return [];
    const { target } = state.plan;
    const isOther = (insert: Insert) => isStreamed(batch) && (insert as Partial<TableInsert>).target !== target;
    if (this.#states.leaving().includes(state)) return [withoutInserts(batch, isOther)];
    if (failure.kind === "destination") {
      const remedy = `Make ${target} and the views on it take inserts again.`;
      await state.stop(`its table or a view on it refuses inserts (${failure.message})`, remedy);
    } else {
      const remedy = `Make the column of ${target} hold the value, or change the row at the source.`;
      await state.stop(`a row does not fit (${failure.message})`, remedy);
    }
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
    if (isStreamed(batch)) {
      return this.#states.ofTarget((batch.inserts[insert] as Partial<TableInsert>).target ?? "");
    }
    return this.#states.all().find((state) => isLaneOf(batch.lane, state));
  }

  async acknowledge(batch: Batch): Promise<void> {
    this.#context.progress.answered();
    if (batch.lane === streamLane && batch.checkpoint !== undefined) this.#place = batch.checkpoint;
    this.#copier.acknowledge(batch);
    this.#changeReader?.acknowledge(batch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changeReader?.close();
  }

  /** Anew before every run: a copy that broke off, and changes of the source, are seen here. */
  async #load(): Promise<TableStates> {
    return await this.#withClient((client) => TableStates.load(client, this.#server.config, this.#context));
  }

  async #withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    await using client = await connect(this.#server);
    try {
      return await work(client);
    } catch (error) {
      throw ofSource(error);
    }
  }

  /**
   * Copies tables while the others are followed, and then brings them to where the stream is. Until then nothing is
   * confirmed to the source, which has to send the changes since the copy once more.
   */
  async *#begin(states: readonly TableState[], caughtUp: string | undefined, signal: AbortSignal) {
    const copied = states.filter((state) => !state.isCatchingUp);
    const isAlone = !this.#states.all().some((state) => state.isFollowed);
    this.#context.progress.copying(isAlone);
    if (copied.length > 0) {
      const copy = this.#copier.copy(copied, this.#reached, signal);
      if (isAlone) yield* copy;
      else yield* this.#besideStream(copied, signal);
    }
    if (signal.aborted) return;
    yield* this.#catchUp(states, caughtUp, signal);
    if (signal.aborted) return;
    for (const state of states.filter(({ isStopped }) => !isStopped)) await state.completed(state.loaded);
    await this.#context.ledger.forget([catchUpLane], []);
  }

  async *#besideStream(states: readonly TableState[], signal: AbortSignal): AsyncGenerator<Batch> {
    using copying = childOf(signal);
    using following = childOf(copying.signal);
    const copy = this.#copier.copy(states, this.#reached, copying.signal);
    const thenStop = async function* () {
      yield* copy;
      following.abort();
    };
    const stream = this.#follow(following.signal, { holds: true });
    yield* merged([thenStop(), stream], () => copying.abort());
    // The lane takes this one when everything before it is durable, and then the place is known.
    if (!signal.aborted) yield emptyBatch(streamLane, `${this.#place ?? ""}:copied`);
  }

  /** The changes of these tables that the stream has passed while they were copied. */
  async *#catchUp(states: readonly TableState[], caughtUp: string | undefined, signal: AbortSignal) {
    const upTo = this.#place;
    const passed = states.map(({ skipTo }) => skipTo).filter((lsn) => lsn <= this.#reached);
    const [first] = passed.toSorted((a, b) => Number(a - b));
    if (upTo === undefined || first === undefined) return;
    const from = caughtUp ?? formatPosition({ lsn: first > 0n ? first - 1n : 0n, change: "whole" });
    if (from === upTo) return;
    yield* this.#steps(
      this.#reader(from, { ...this.#pace, lane: catchUpLane, holds: true, upTo }),
      catchUpLane,
      signal,
    );
    // As above: the tables are complete when the lane has taken this one.
    if (!signal.aborted) yield emptyBatch(catchUpLane, `${catchUpLane}:${upTo}:end`);
  }

  async *#follow(signal: AbortSignal, options: ChangeReaderOptions = {}): AsyncGenerator<Batch> {
    const check = (client: pg.Client) => this.#resumeCheck.check(client, this.#reached);
    const from = this.#place ?? formatPosition({ lsn: (await this.#firstPosition(check)) - 1n, change: "whole" });
    const changeReader = this.#reader(from, { ...this.#pace, ...options });
    const followed = () => this.#states.all().filter(({ isFollowed }) => isFollowed);
    const watch = new SlotMonitor(this.#server, this.#context, this.#names, followed);
    try {
      yield* this.#steps(changeReader, streamLane, signal, () => watch.start(() => changeReader.gauges()));
    } finally {
      await watch.stop();
    }
  }

  get #pace(): ChangeReaderOptions {
    const { pullBatchSize = 100_000, syncIntervalSeconds = 60 } = this.#server.config.settings ?? {};
    const bytes = maxBatchBytes * Math.min(1, this.#context.memoryGb);
    return { limits: { rows: pullBatchSize, bytes }, syncMs: syncIntervalSeconds * 1000 };
  }

  /** Commit of the last transaction that is durable, in part or whole. */
  get #reached(): bigint {
    return this.#place === undefined ? 0n : parsePosition(this.#place).lsn;
  }

  async *#steps(changeReader: ChangeReader, lane: StreamLane, signal: AbortSignal, opened = () => {}) {
    this.#changeReader = changeReader;
    try {
      await changeReader.open((client) => this.#resumeCheck.check(client, this.#reached), signal);
      this.#context.progress.answered();
      opened();
      for await (const step of changeReader.steps(signal)) {
        if (step.kind === "batch") yield this.#withoutStopped(step.batch);
        else yield* this.#pass(changeReader, step.barrier, step.from, lane);
      }
    } finally {
      await changeReader.close();
    }
  }

  async *#pass(changeReader: ChangeReader, barrier: StreamBarrier, from: string, lane: StreamLane) {
    if (barrier.kind === "truncate") {
      const sql = barrier.tables.map((plan) => `TRUNCATE TABLE ${tableName(plan.database, plan.target)}`);
      yield changeReader.awaits(truncateBatch(from, barrier, sql, lane));
      return;
    }
    const { relation } = barrier;
    yield emptyBatch(lane, `${lane}:${from}:relation:${relation.oid}`);
    // The lane has taken this one, so everything before it is durable.
    await this.#evolve(relation);
  }

  async #evolve(relation: Relation): Promise<void> {
    const state = this.#states.of(relation);
    if (state === undefined || state.isStopped) return;
    await using client = await connect(this.#server);
    try {
      const [now] = await readTables(client, [relation]);
      const nullable = this.#server.config.settings?.allowNullableColumns === true;
      const evolution = evolve(state, relation, now, nullable);
      if (typeof evolution === "string") return await state.stop(evolution);
      for (const statement of evolution.statements) await this.#context.destination.define(statement);
      if (evolution.statements.length > 0) await this.#destination.refreshView(state.planned(evolution.source));
      // Last: what was not done until here is done again.
      await state.changed(evolution.source);
    } catch (error) {
      // Otherwise one changed table would stop all others.
      const refusal = this.#context.destination.refusal(error);
      if (refusal === undefined) throw ofSource(error);
      const remedy = `Let the pipe change ${state.plan.target}, or drop it.`;
      await state.stop(`the engine does not change its table (${refusal})`, remedy);
    }
  }

  #reader(from: string, options: ChangeReaderOptions): ChangeReader {
    const isHere = (state: TableState) => (options.lane === catchUpLane ? state.isCatchingUp : state.isFollowed);
    const parts = {
      server: this.#server,
      names: this.#names,
      planOf: (relation: Relation, lsn: bigint) => {
        const leaving = this.#states.leavingOf(relation);
        if (leaving !== undefined && isHere(leaving)) return lsn < leaving.skipTo ? undefined : leaving.plan;
        const state = this.#states.of(relation);
        // A change that is left out is counted once: in the lane of the stream.
        if (state === undefined || state.isStopped) return options.lane === catchUpLane ? "elsewhere" : undefined;
        if (!isHere(state)) return "elsewhere";
        return lsn < state.skipTo ? undefined : state.plan;
      },
      remember: (lsn: bigint, skippedRows: number) => this.#resumeCheck.confirms(lsn, skippedRows),
      isOurs: (relation: Relation) => {
        const state = this.#states.of(relation);
        return state !== undefined && isHere(state);
      },
      fits: (relation: Relation) => {
        const state = this.#states.of(relation);
        return state === undefined || !isHere(state) || fits(state, relation);
      },
    } as const;
    return new ChangeReader(parts, from, options);
  }

  /** The slot's first position: what is before it was copied, or is not wanted. */
  async #firstPosition(check: (client: pg.Client) => Promise<bigint>): Promise<bigint> {
    const first = (await this.#context.ledger.marks([slotMark])).get(slotMark);
    if (first !== undefined) return parseLsn(first);
    await using client = await connect(this.#server, { replication: true });
    try {
      return await check(client);
    } catch (error) {
      throw postgresSourceError(error);
    }
  }
}

/** Part of the stream, and not of a copy. */
function isStreamed({ lane }: Batch): boolean {
  return lane === streamLane || lane === catchUpLane;
}

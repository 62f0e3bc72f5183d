/**
 * The copy of the tables that the stream then continues. Each table is divided into ranges of pages with a mark each;
 * consecutive ranges are one batch with a lane of its own. Ranges that were not durable when a worker ended are copied
 * in a newer snapshot, and the durable ones are searched for rows that moved into them since. Such rows have the
 * version of their snapshot's position: the stream, which begins earlier, cannot replace them by older values. A
 * table that was rewritten since it was cut is cut and copied anew: its rows have moved without a newer transaction.
 */
import type pg from "pg";
import { AppError } from "../../../lib/errors.ts";
import { marks } from "../../contract/marks.ts";
import type { Batch as SourceBatch, SourceContext } from "../../contract/source.ts";
import type { PostgresDurable, RangePlan } from "../declaration/durable.ts";
import type { SourceServer } from "../declaration/kind.ts";
import { CopyFrames } from "../protocol/copy-frames.ts";
import { connect } from "../server/connection.ts";
import { copySelect, quoteName } from "../server/session.ts";
import type { ExportedSnapshot } from "../server/slot.ts";
import type { TablePlan } from "../tables/tables.ts";
import { BatchQueue } from "./batch-queue.ts";
import { BufferPool, ChunkBuilder, chunkBytes } from "./chunks.ts";
import { copiedRows } from "./copied-rows.ts";
import { groupRanges, isInPlace, type PageRange, planRanges, rangeCondition, rangesOf } from "./page-ranges.ts";

type Batch = SourceBatch<PostgresDurable>;
type Context = SourceContext<PostgresDurable>;

export type Copied = {
  readonly plan: TablePlan;
  readonly copyId: string;
  /** The table that is filled. */
  readonly into: string;
  /** It has the columns of the plan, exactly. */
  readonly isExact: boolean;
};

type Work = Copied & {
  /** At least one. */
  readonly parts: readonly PageRange[];
  /** The ranges are durable from an earlier snapshot: only rows that came into them since are wanted. */
  readonly isDone: boolean;
};

export class SnapshotCopy {
  readonly #server: SourceServer;
  readonly #context: Context;
  readonly #tables: readonly Copied[];
  /** Batches that were handed out and are not durable yet. */
  readonly #pending = new Map<string, Batch>();
  readonly #batchQueue: BatchQueue;
  readonly #buffers: BufferPool;
  readonly #startedAt = performance.now();
  #estimatedRows = 0;
  #partsAll = 0;
  #partsDone = 0;
  #partsNow = 0;

  constructor(server: SourceServer, context: Context, tables: readonly Copied[]) {
    this.#server = server;
    this.#context = context;
    this.#tables = tables;
    // One is ready while others are inserted.
    const places = context.concurrency + 1;
    this.#batchQueue = new BatchQueue(places);
    const most = places + this.#width;
    this.#buffers = new BufferPool(most, chunkBytes(context.memoryGb, most));
  }

  /** All ranges of the tables, with what has been done of them. */
  async work(client: pg.Client): Promise<Work[]> {
    const byTable: Work[][] = [];
    // One after the other: a connection takes one query at a time.
    for (const table of this.#tables) byTable.push(await this.#workOf(client, table));
    this.#report();
    return interleave(byTable, this.#server.config.settings?.snapshotNumberOfParallelTables ?? 1);
  }

  /** Batches of these ranges. When it returns, all of them are durable: their lanes have been waited for. */
  async *read(work: readonly Work[], snapshot: ExportedSnapshot, signal: AbortSignal): AsyncGenerator<Batch> {
    const readers = await this.#openReaders(Math.min(this.#width, work.length), snapshot);
    const batchQueue = this.#batchQueue;
    const close = () => batchQueue.close();
    signal.addEventListener("abort", close);
    let copying: Promise<void> | undefined;
    try {
      const since = await this.#since(readers[0] as Reader);
      copying = copyAll(readers, work, batchQueue, (item) => ({
        snapshot,
        since: since.get(item.plan.target) as string,
      }));
      for (
        let batch = await batchQueue.next();
        batch !== undefined && !signal.aborted;
        batch = await batchQueue.next()
      ) {
        this.#pending.set(batch.id, batch);
        yield batch;
      }
      // A lane takes its next batch when the one before it is durable.
      for (const lane of new Set([...this.#pending.values()].map((batch) => batch.lane))) {
        if (signal.aborted) return;
        const id = `${lane}@${snapshot.lsn}:${snapshot.name}:end`;
        yield { lane, id, replay: { kind: "nothing", lane, id }, inserts: [] };
      }
    } finally {
      signal.removeEventListener("abort", close);
      batchQueue.close();
      await Promise.allSettled(readers.map((reader) => reader.close()));
      await copying;
      this.#buffers.close();
    }
  }

  /** Connections that copy. */
  get #width(): number {
    return Math.min(this.#readersOfTable * (this.#server.config.settings?.snapshotNumberOfParallelTables ?? 1), 32);
  }

  get #readersOfTable(): number {
    return this.#server.config.settings?.initialLoadParallelism ?? 4;
  }

  acknowledge({ id }: Batch): void {
    const batch = this.#pending.get(id);
    if (batch === undefined) return;
    this.#pending.delete(id);
    this.#batchQueue.release();
    for (const { body } of batch.inserts) this.#buffers.release(body?.() as Buffer);
    if (batch.marks === undefined) return;
    const parts = Object.keys(batch.marks).length;
    this.#partsDone += parts;
    this.#partsNow += parts;
    this.#report();
  }

  /** The oldest transaction that each table's first snapshot could not see: rows of later ones are new since. */
  async #since(reader: Reader): Promise<ReadonlyMap<string, string>> {
    const keys = new Map(
      this.#tables.map(({ plan, copyId }) => [plan.target, `since:${plan.target}:${copyId}`] as const),
    );
    const saved = await this.#context.ledger.marks([...keys.values()]);
    const now = await reader.oldestTransaction();
    const since = new Map([...keys].map(([target, key]) => [target, saved.get(key) ?? now]));
    await this.#context.ledger.note(
      marks(...[...keys].map(([target, key]) => [key, since.get(target) as string] as const)),
      {},
    );
    return since;
  }

  async #openReaders(count: number, snapshot: ExportedSnapshot): Promise<Reader[]> {
    const opening = Array.from({ length: count }, () => Reader.open(this.#server, snapshot, this.#buffers));
    const opened = await Promise.allSettled(opening);
    const readers = opened.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failed = opened.find((result) => result.status === "rejected");
    if (failed === undefined) return readers;
    await Promise.allSettled(readers.map((reader) => reader.close()));
    throw failed.reason;
  }

  async #workOf(client: pg.Client, table: Copied): Promise<Work[]> {
    const cut = await this.#cutOf(client, table);
    const parts = rangesOf(cut);
    const keys = parts.map((part) => markOf(table, part));
    const done = await this.#context.ledger.marks(keys);
    this.#estimatedRows += cut.rows;
    this.#partsAll += parts.length;
    this.#partsDone += done.size;
    const isDone = (part: PageRange) => done.has(markOf(table, part));
    const groups = groupRanges(parts, this.#readersOfTable, (a, b) => isDone(a) === isDone(b));
    return groups.map((group) => ({ ...table, parts: group, isDone: isDone(group[0] as PageRange) }));
  }

  async #cutOf(client: pg.Client, table: Copied): Promise<RangePlan> {
    const key = `cut:${table.plan.target}:${table.copyId}` as const;
    const { ledger } = this.#context;
    const saved = (await ledger.marks([key])).get(key);
    const rowsPerPart = this.#server.config.settings?.snapshotNumRowsPerPartition ?? 100_000;
    const cut = await planRanges(client, table.plan.source.oid, rowsPerPart);
    if (saved !== undefined && isInPlace(saved, cut)) return saved;
    if (saved !== undefined)
      await ledger.forget(
        [],
        rangesOf(saved).map((part) => markOf(table, part)),
      );
    await ledger.note(marks([key, cut]), {});
    return cut;
  }

  #report(): void {
    const left = this.#partsAll - this.#partsDone;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    this.#context.progress.report({
      snapshotRowsEstimated: this.#estimatedRows,
      snapshotParts: this.#partsAll,
      snapshotPartsDone: this.#partsDone,
      ...(this.#partsNow > 0 ? { snapshotSecondsLeft: Math.round((seconds / this.#partsNow) * left) } : {}),
    });
  }
}

/** One connection within the snapshot. */
class Reader {
  readonly #client: pg.Client;
  readonly #frames: CopyFrames;
  readonly #buffers: BufferPool;

  private constructor(client: pg.Client, frames: CopyFrames, buffers: BufferPool) {
    this.#client = client;
    this.#frames = frames;
    this.#buffers = buffers;
  }

  static async open(server: SourceServer, snapshot: ExportedSnapshot, buffers: BufferPool): Promise<Reader> {
    const frames = new CopyFrames();
    const client = await connect(server, { frames });
    try {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      // A name that the server gave.
      await client.query(`SET TRANSACTION SNAPSHOT '${snapshot.name}'`);
      return new Reader(client, frames, buffers);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
  }

  async oldestTransaction(): Promise<string> {
    const sql = "SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text AS xmin";
    const { rows } = await this.#client.query<{ xmin: string }>(sql);
    return (rows[0] as { xmin: string }).xmin;
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  /** A rewrite may have come between the cut and the lock that the copy has on the table from then on. */
  async #requireFile({ schema, name, file }: PageRange["leaf"]): Promise<void> {
    const sql = "SELECT pg_catalog.pg_relation_filenode($1::regclass)::int8::float8 AS file";
    const { rows } = await this.#client.query<{ file: number }>(sql, [`${quoteName(schema)}.${quoteName(name)}`]);
    if (file === undefined || rows[0]?.file === file) return;
    const message = `The table ${schema}.${name} was rewritten while it was copied, and is copied again.`;
    throw new AppError("SOURCE_UNREACHABLE", message);
  }

  /**
   * Gives the rows of the ranges to the queue in chunks, in one lane. The last one has the marks: when it is durable,
   * all before it are. Copies of one reader must follow one another.
   */
  async copy(work: Work, { snapshot, since }: Shown, batchQueue: BatchQueue): Promise<void> {
    const { plan, into, isExact, parts, isDone } = work;
    const isNew = `pg_catalog.age(xmin) <= pg_catalog.age('${since}'::pg_catalog.xid8::pg_catalog.xid)`;
    const place = rangeCondition(parts);
    const where = isDone ? `${place} AND ${isNew}` : place;
    const rows = copiedRows(plan, into, snapshot.version, isExact);
    const [first] = parts as [PageRange];
    const lane = isDone ? `${markOf(work, first)}:moved` : markOf(work, first);
    let given = 0;
    const give = async (bodies: readonly Buffer[], done: Pick<Batch, "marks"> = {}) => {
      // The snapshot's name makes the token another one when the ranges are copied again.
      const id = `${lane}@${snapshot.lsn}:${snapshot.name}:${given}`;
      given += 1;
      const fetchedBytes = bodies.reduce((sum, { length }) => sum + length, 0);
      const inserts = bodies.map((body) => rows.insert(body, chunks.rowsOf(body)));
      await batchQueue.push({
        lane,
        id,
        replay: { kind: "copy", lane, id },
        inserts,
        ...done,
        counts: { fetchedBytes },
      });
    };
    const chunks: ChunkBuilder = new ChunkBuilder(this.#buffers, give);
    await this.#frames.copy(this.#client, copySelect(first.leaf, rows.select, { where, only: true }), chunks);
    await this.#requireFile(first.leaf);
    const rest = chunks.take();
    if (isDone && rest.length === 0) return;
    await give(rest, isDone ? {} : { marks: marks(...parts.map((part) => [markOf(work, part), true] as const)) });
  }
}

/** What is copied of a table: a snapshot, or only what is newer than a transaction. */
type Shown = { readonly snapshot: ExportedSnapshot; readonly since: string };

/** Each reader takes the next ranges when it is done with some. Resolves when all are given or the queue is closed. */
async function copyAll(
  readers: readonly Reader[],
  work: readonly Work[],
  batchQueue: BatchQueue,
  shown: (item: Work) => Shown,
): Promise<void> {
  const queue = work.values();
  const read = async (reader: Reader) => {
    for (const item of queue) await reader.copy(item, shown(item), batchQueue);
    // Its transaction holds up the source's vacuum.
    void reader.close().catch(() => {});
  };
  try {
    await Promise.all(readers.map(read));
    batchQueue.close();
  } catch (error) {
    batchQueue.fail(error);
  }
}

function markOf({ plan, copyId }: Copied, part: PageRange): `snapshot:${string}` {
  return `snapshot:${plan.target}:${copyId}:${part.index}`;
}

/** Tables one after the other, `width` of them side by side. */
function interleave<T>(lists: readonly (readonly T[])[], width: number): T[] {
  const out: T[] = [];
  for (let at = 0; at < lists.length; at += width) {
    const group = lists.slice(at, at + width);
    const longest = Math.max(0, ...group.map((list) => list.length));
    for (let row = 0; row < longest; row += 1) {
      for (const list of group) if (row < list.length) out.push(list[row] as T);
    }
  }
  return out;
}

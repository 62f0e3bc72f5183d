/**
 * Gathers the messages of the stream into batches. A batch ends with a transaction; only one that does not fit into
 * memory is cut, and then what is acknowledged stays in front of it.
 */
import type { Insert, Batch as SourceBatch } from "../../contract/source.ts";
import type { PostgresDurable, PostgresReplay } from "../declaration/durable.ts";
import { covers, formatLsn, formatPosition, type StreamPosition, versionText } from "../protocol/lsn.ts";
import type {
  DeleteMessage,
  InsertMessage as Inserted,
  Relation,
  ReplicationMessage,
  TruncateMessage,
  UpdateMessage,
} from "../protocol/pgoutput.ts";
import { confirmedMark } from "../server/resume-check.ts";
import type { TablePlan } from "../tables/tables.ts";
import { TableChanges } from "./table-changes.ts";

type Batch = SourceBatch<PostgresDurable>;

export const streamLane = "stream";
/** Changes of tables that were copied while the stream went on, up to where it stands. */
export const catchUpLane = "catchup";
export type StreamLane = typeof streamLane | typeof catchUpLane;

export type BatchBuilderLimits = {
  readonly rows: number;
  readonly bytes: number;
};

/** The stream cannot go on into the same batch: what was gathered must be durable first. */
export type StreamBarrier =
  | { readonly kind: "relation"; readonly relation: Relation }
  | { readonly kind: "truncate"; readonly place: StreamPosition; readonly tables: readonly TablePlan[] };

/**
 * The plan of a table of the pipe for a transaction that committed here; undefined for changes that are left out.
 * `elsewhere`: another lane has loaded the change, or will.
 */
export type PlanOf = (relation: Relation, lsn: bigint) => TablePlan | "elsewhere" | undefined;

/** An insert that keeps its name when the batch is built again without a table that was stopped meanwhile. */
export type TableInsert = Insert & { readonly target: string };

/** A finished part of the stream. */
export type BuiltBatch = {
  readonly from: string;
  readonly to: string;
  readonly inserts: readonly TableInsert[];
  /** End of the last whole transaction: what is acknowledged when the batch is durable. */
  readonly end: string | undefined;
  readonly rows: number;
  /** Changes that are left out: of tables that are stopped or not of the pipe, and those that the copy has already. */
  readonly skippedRows: number;
  /** Changes by kind and table, in the form of gauges: `insertedRows:table`. */
  readonly changes: Readonly<Record<string, number>>;
};

export class BatchBuilder {
  readonly #planOf: PlanOf;
  readonly #limits: BatchBuilderLimits;
  /** By the relation's oid: the source sends each before its first change. */
  readonly #relations = new Map<number, Relation>();
  readonly #tables = new Map<number, TableChanges>();
  /** Everything up to here is in earlier batches. */
  #from: StreamPosition;
  #at: StreamPosition;
  #transaction: { readonly lsn: bigint; changes: number } | undefined;
  #end: bigint | undefined;
  #openedAt = 0;
  #skippedRows = 0;

  constructor(from: StreamPosition, limits: BatchBuilderLimits, planOf: PlanOf) {
    this.#from = from;
    this.#at = from;
    this.#limits = limits;
    this.#planOf = planOf;
  }

  /** Takes a message in; the answer says what stands in the way of it. Then `take` first, and `pass` it afterwards. */
  push(message: ReplicationMessage): StreamBarrier | undefined {
    switch (message.kind) {
      case "begin":
        this.#transaction = { lsn: message.finalLsn, changes: 0 };
        return undefined;
      case "commit":
        return this.#commit(message.commitLsn, message.endLsn);
      case "relation":
        return { kind: "relation", relation: message };
      case "insert":
      case "update":
      case "delete":
        this.#change(message);
        return undefined;
      case "truncate":
        return this.#truncate(message);
      default:
        return undefined;
    }
  }

  /** Continues after a barrier: the relation is valid from now on, or the truncate is done. */
  pass(barrier: StreamBarrier): void {
    if (barrier.kind === "relation") this.#relations.set(barrier.relation.oid, barrier.relation);
    else {
      this.#from = barrier.place;
      this.#at = barrier.place;
    }
  }

  /** This position is confirmed without a batch: from now on no batch may record one that is not later. */
  settle(lsn: bigint): void {
    if (this.#end !== undefined && this.#end <= lsn) this.#end = undefined;
  }

  /** True when the source has sent the relation on this connection. */
  knows(oid: number): boolean {
    return this.#relations.has(oid);
  }

  /** True while the stream stands within a transaction. */
  get within(): boolean {
    return this.#transaction !== undefined;
  }

  get rows(): number {
    let rows = 0;
    for (const table of this.#tables.values()) rows += table.rows;
    return rows;
  }

  get bytes(): number {
    let bytes = 0;
    for (const table of this.#tables.values()) bytes += table.bytes;
    return bytes;
  }

  /** When the first row was taken in; undefined while there is none. */
  get openedAt(): number | undefined {
    return this.#tables.size > 0 ? this.#openedAt : undefined;
  }

  /** Large enough to go. A transaction is waited for unless it is larger than memory. */
  get full(): boolean {
    if (this.bytes >= this.#limits.bytes) return true;
    return !this.within && this.rows >= this.#limits.rows;
  }

  get at(): StreamPosition {
    return this.#at;
  }

  /** What has been gathered; undefined when there are no rows. Changes that are left out wait for the next batch. */
  take(): BuiltBatch | undefined {
    return this.#tables.size === 0 ? undefined : this.takeAll();
  }

  /** The same, also when there are no rows. */
  takeAll(): BuiltBatch {
    const rows = this.rows;
    const tables = [...this.#tables.values()];
    const inserts = tables.flatMap(tableInserts);
    const changes = Object.fromEntries(tables.flatMap(changeCounts));
    this.#tables.clear();
    const from = formatPosition(this.#from);
    const end = this.#end === undefined ? undefined : formatLsn(this.#end);
    return { from, to: formatPosition(this.#at), inserts, end, rows, skippedRows: this.takeSkipped(), changes };
  }

  /** Changes that were left out since the last batch. */
  get skippedRows(): number {
    return this.#skippedRows;
  }

  /** The same; the next batch begins after them. */
  takeSkipped(): number {
    const skipped = this.#skippedRows;
    this.#skippedRows = 0;
    this.#from = this.#at;
    return skipped;
  }

  /** Changes that were left out and could not be recorded. */
  addSkipped(rows: number): void {
    this.#skippedRows += rows;
  }

  #commit(lsn: bigint, end: bigint): undefined {
    this.#transaction = undefined;
    this.#end = end;
    if (!covers(this.#at, lsn, Number.MAX_SAFE_INTEGER)) this.#at = { lsn, change: "whole" };
  }

  /** Counts every change of the transaction, also those of tables that are not ours: so numbers never shift. */
  #count(): { readonly lsn: bigint; readonly change: number } | undefined {
    const transaction = this.#transaction;
    if (transaction === undefined) throw new Error("a change came outside of a transaction");
    transaction.changes += 1;
    const { lsn, changes: change } = transaction;
    return covers(this.#at, lsn, change) ? undefined : { lsn, change };
  }

  #change(message: Inserted | UpdateMessage | DeleteMessage): void {
    const place = this.#count();
    if (place === undefined) return;
    this.#at = place;
    const table = this.#tableOf(message.relation, place.lsn);
    if (table === "elsewhere") return;
    if (table === undefined) {
      this.#skippedRows += 1;
      return;
    }
    const versions = {
      tombstone: versionText(place.lsn, place.change, false),
      row: versionText(place.lsn, place.change, true),
    };
    if (message.kind === "insert") table.insert(message, versions);
    else if (message.kind === "update") table.update(message, versions);
    else table.delete(message, versions);
  }

  #truncate(message: TruncateMessage): StreamBarrier | undefined {
    const place = this.#count();
    if (place === undefined) return undefined;
    const tables = message.relations.flatMap((oid) => {
      const relation = this.#relations.get(oid);
      const plan = relation && this.#planOf(relation, place.lsn);
      return plan === undefined || plan === "elsewhere" ? [] : plan;
    });
    if (tables.length > 0) return { kind: "truncate", place, tables };
    this.#at = place;
    return undefined;
  }

  #tableOf(oid: number, lsn: bigint): TableChanges | "elsewhere" | undefined {
    const open = this.#tables.get(oid);
    if (open !== undefined) return open;
    const relation = this.#relations.get(oid);
    const plan = relation && this.#planOf(relation, lsn);
    if (plan === "elsewhere") return plan;
    if (relation === undefined || plan === undefined) return undefined;
    if (this.#tables.size === 0) this.#openedAt = performance.now();
    const table = new TableChanges(plan, relation);
    this.#tables.set(oid, table);
    return table;
  }
}

function tableInserts(table: TableChanges): TableInsert[] {
  const { target } = table.plan;
  return table.take().map((insert, index) => ({ ...insert, target, table: target, key: `${target}:${index}` }));
}

function changeCounts({ plan, changes }: TableChanges): [string, number][] {
  return Object.entries(changes).map(([kind, count]) => [`${kind}Rows:${plan.target}`, count]);
}

/** A part of the stream as a batch of the pipe. What another lane has passed already is not confirmed again. */
export function streamBatch(built: BuiltBatch, lane: StreamLane): Batch {
  const { from, to, inserts, end, skippedRows } = built;
  const id = `${prefixOf(lane)}${from}-${to}`;
  const part = { kind: "changes", from, to } as const;
  if (lane === catchUpLane) return { lane, id, replay: { ...part, lane }, checkpoint: to, inserts, skippedRows };
  const replay = { ...part, ...(end === undefined ? {} : { end }) };
  const marks = end === undefined ? {} : { marks: { [confirmedMark]: end } };
  return { lane, id, replay, checkpoint: to, inserts, skippedRows, ...marks };
}

/** Empties tables: stands alone, so that nothing later is in them when it is repeated. */
export function truncateBatch(
  from: string,
  barrier: Extract<StreamBarrier, { kind: "truncate" }>,
  sql: readonly string[],
  lane: StreamLane,
): Batch {
  const targets = barrier.tables.map(({ target }) => target);
  const replay = { kind: "truncate", from, to: formatPosition(barrier.place), sql: [...sql], targets } as const;
  return emptyingBatch(lane === catchUpLane ? { ...replay, lane } : replay);
}

/** The same from what was saved of it. */
export function emptyingBatch(replay: Extract<PostgresReplay, { kind: "truncate" }>): Batch {
  const { from, to, sql, targets, lane = streamLane } = replay;
  const inserts = sql.map((statement, index) => ({ sql: statement, target: targets[index], rows: 0 }));
  return { lane, id: `${prefixOf(lane)}${from}-${to}:truncate`, replay, checkpoint: to, inserts };
}

/** Batches without rows wait for those before them in their lane. */
export function emptyBatch(lane: string, id: string): Batch {
  return { lane, id, replay: { kind: "nothing", lane, id }, inserts: [] };
}

/** The same place may end a batch of both lanes. */
function prefixOf(lane: StreamLane): string {
  return lane === streamLane ? "" : `${lane}:`;
}

/** Changes of one table, encoded as rows for its inserts, in the order of the stream. */
import type { Insert } from "../../contract/source.ts";
import type { DeleteMessage, InsertMessage as Inserted, Relation, UpdateMessage } from "../protocol/pgoutput.ts";
import { type Tuple, unchanged } from "../protocol/tuple.ts";
import { streamInsert, type TablePlan } from "../tables/tables.ts";
import { PartialRows } from "./partial-rows.ts";
import { columnIndexes, TsvRowWriter } from "./tsv-rows.ts";

const maxInsertBytes = 48 * 2 ** 20;

export type Versions = { readonly tombstone: string; readonly row: string };

export class TableChanges {
  readonly plan: TablePlan;
  readonly #keyPlaces: readonly number[];
  readonly #writer: TsvRowWriter;
  readonly #partial: PartialRows;
  /** Rows of keys that a partial row looks up: they go in after it. */
  readonly #later: TsvRowWriter;
  readonly #laterKeys = new Set<string>();
  readonly #done: Insert[] = [];
  readonly changes = { inserted: 0, updated: 0, deleted: 0 };
  #bytes = 0;
  #rows = 0;
  /** Changes that are not in an insert yet. */
  #uncut = 0;

  constructor(plan: TablePlan, relation: Relation) {
    this.plan = plan;
    const names = plan.sourceColumns.map((column) => column.name);
    const places = columnIndexes(relation.columns, names);
    this.#writer = new TsvRowWriter(places, relation.columns.length);
    this.#later = new TsvRowWriter(places, relation.columns.length, 1024);
    this.#keyPlaces = columnIndexes(relation.columns, plan.key);
    this.#partial = new PartialRows(plan, places, this.#keyPlaces);
  }

  /** The bytes of all rows that are held. */
  get bytes(): number {
    return this.#bytes + this.#held((part) => part.bytes);
  }
  get rows(): number {
    return this.#rows + this.#held((part) => part.rows);
  }

  insert({ row }: Inserted, versions: Versions): void {
    this.changes.inserted += 1;
    this.#uncut += 1;
    this.#add(row, `\t${versions.row}\t0`);
  }

  /** A row whose key is another one leaves a tombstone under the old key. */
  update({ row, key, old }: UpdateMessage, versions: Versions): void {
    this.changes.updated += 1;
    this.#uncut += 1;
    const before = key ?? old;
    const moved = before !== undefined && this.#keyChanged(before, row);
    if (old === undefined && row.hasUnchanged()) this.#addPartial(row, key, versions);
    else this.#add(row, `\t${versions.row}\t0`, old);
    if (moved) this.#add(before, `\t${versions.tombstone}\t1`);
  }

  delete({ key, old }: DeleteMessage, versions: Versions): void {
    this.changes.deleted += 1;
    this.#uncut += 1;
    this.#add((old ?? key) as Tuple, `\t${versions.row}\t1`);
  }

  /** The inserts so far, in their order. */
  take(): readonly Insert[] {
    this.#cut();
    return this.#done;
  }

  #add(row: Tuple, tail: string, old?: Tuple): void {
    const writer = this.#writerFor(row, old);
    if (!writer.append(row, tail, old)) throw new Error("a row lacks values that its old row lacks too");
    if (writer.bytes >= maxInsertBytes) this.#cut();
  }

  #writerFor(row: Tuple, old: Tuple | undefined): TsvRowWriter {
    if (this.#partial.rows === 0) return this.#writer;
    const key = keyText(row, this.#keyPlaces, old);
    if (!this.#partial.has(key)) return this.#writer;
    this.#laterKeys.add(key);
    return this.#later;
  }

  #addPartial(row: Tuple, key: Tuple | undefined, versions: Versions): void {
    const before = keyText(key ?? row, this.#keyPlaces);
    const after = keyText(row, this.#keyPlaces, key);
    const isLater = this.#laterKeys.has(before) || this.#laterKeys.has(after);
    if (isLater || !this.#partial.takes(row, before, after, versions.row)) this.#cut();
    this.#partial.add(row, key, before, after, versions.row);
  }

  /** What is looked up must be what was there before: whole rows first, and last those of keys that were looked up. */
  #cut(): void {
    this.#rows += this.#held((part) => part.rows);
    this.#bytes += this.#held((part) => part.bytes);
    if (this.#writer.rows > 0) this.#push(streamInsert(this.plan, this.#writer.take()));
    if (this.#partial.rows > 0) this.#push(this.#partial.take());
    if (this.#later.rows > 0) this.#push(streamInsert(this.plan, this.#later.take()));
    this.#laterKeys.clear();
  }

  /** A change may need two rows, in two inserts: the first one counts it. */
  #push(insert: Insert): void {
    this.#done.push({ ...insert, rows: this.#uncut });
    this.#uncut = 0;
  }

  #held(count: (part: { readonly rows: number; readonly bytes: number }) => number): number {
    return count(this.#writer) + count(this.#partial) + count(this.#later);
  }

  #keyChanged(before: Tuple, row: Tuple): boolean {
    return this.#keyPlaces.some((place) => !same(before.bytes(place), row.bytes(place)));
  }
}

type Value = ReturnType<Tuple["bytes"]>;

function same(before: Value, now: Value): boolean {
  if (now === unchanged || before === unchanged) return true;
  if (before === null || now === null) return before === now;
  return before.equals(now);
}

/** A text that only rows of the same key have. Values that were not sent are those of `old`. */
function keyText(row: Tuple, places: readonly number[], old?: Tuple): string {
  return places
    .map((place) => {
      const value = row.bytes(place);
      const known = value === unchanged ? (old?.bytes(place) ?? null) : value;
      return known === null || known === unchanged ? "-" : `${known.length}:${known.toString("latin1")}`;
    })
    .join(",");
}

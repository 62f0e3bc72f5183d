/** Changes of one table, encoded as rows for its inserts, in the order of the stream. */
import type { Insert } from "../source.ts";
import type { Delete, Insert as Inserted, Relation, Update } from "./pgoutput.ts";
import { columnPlaces, RowWriter } from "./rows.ts";
import { streamInsert, type TablePlan } from "./tables.ts";
import { type Tuple, tupleOf, unchanged } from "./tuple.ts";

const maxInsertBytes = 48 * 2 ** 20;

export type Versions = { readonly tombstone: string; readonly row: string };

export class TableChanges {
  readonly plan: TablePlan;
  readonly #relation: Relation;
  readonly #keyPlaces: readonly number[];
  readonly #writer: RowWriter;
  readonly #done: Insert[] = [];
  #bytes = 0;
  #rows = 0;

  constructor(plan: TablePlan, relation: Relation) {
    this.plan = plan;
    this.#relation = relation;
    const names = plan.sourceColumns.map((column) => column.name);
    this.#writer = new RowWriter(columnPlaces(relation.columns, names), relation.columns.length);
    this.#keyPlaces = columnPlaces(relation.columns, plan.key);
  }

  get relation(): Relation {
    return this.#relation;
  }

  /** Of all rows that are held. */
  get bytes(): number {
    return this.#bytes + this.#writer.bytes;
  }
  get rows(): number {
    return this.#rows + this.#writer.rows;
  }

  insert({ row }: Inserted, versions: Versions): void {
    this.#add(row, `\t${versions.row}\t0`);
  }

  /** A row whose key is another one leaves a tombstone under the old key. */
  update({ row, key, old }: Update, versions: Versions): void {
    const before = key ?? old;
    if (before !== undefined && this.#keyChanged(before, row)) this.#add(before, `\t${versions.tombstone}\t1`);
    this.#add(row, `\t${versions.row}\t0`, old);
  }

  delete({ key, old }: Delete, versions: Versions): void {
    this.#add((old ?? key) as Tuple, `\t${versions.row}\t1`);
  }

  /** The inserts so far. Order does not matter to the result, because versions decide. */
  take(): readonly Insert[] {
    if (this.#writer.rows > 0) this.#cut();
    return this.#done;
  }

  #add(row: Tuple, tail: string, old?: Tuple): void {
    if (!this.#writer.append(row, tail, old)) this.#writer.append(row, tail, withoutUnchanged(row));
    if (this.#writer.bytes >= maxInsertBytes) this.#cut();
  }

  #cut(): void {
    this.#rows += this.#writer.rows;
    this.#bytes += this.#writer.bytes;
    this.#done.push(streamInsert(this.plan, this.#writer.take()));
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

/** NULL for every value. */
function withoutUnchanged(row: Tuple): Tuple {
  return tupleOf(Array.from({ length: row.size }, () => null));
}

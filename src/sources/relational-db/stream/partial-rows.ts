/**
 * Updated rows with values that the source did not send, because they are stored out of line and did not change. The
 * values are those of the row's version before, which is in the table by then: batches follow one another, and within a
 * batch a row that is needed is in an earlier insert. So the insert itself fetches them.
 *
 * A row may be missing when the change is older than the last snapshot of the copy: it was deleted, or got another key,
 * before that snapshot. It is written as a deleted row: its missing values exist nowhere, and no reader needs them.
 */
import { identifier, literal, tableName } from "../../../clickhouse/sql.ts";
import type { Insert } from "../../contract/source.ts";
import { type Tuple, tupleOf, unchanged } from "../protocol/tuple.ts";
import { deletedColumn, streamSettings, structureOf, type TablePlan, versionColumn } from "../tables/tables.ts";
import { columnPlan } from "../tables/types.ts";
import { TsvRowWriter } from "./tsv-rows.ts";

/** Rows that are looked up by one statement. */
const maxRows = 5_000;
const maxBytes = 32 * 2 ** 20;

type Lookup = { readonly key: readonly (Buffer | null)[]; readonly lacking: readonly number[] };

export class PartialRows {
  readonly #plan: TablePlan;
  readonly #places: readonly number[];
  readonly #keyPlaces: readonly number[];
  readonly #writer: TsvRowWriter;
  /** By the text of a key: what its newest row here looks up. */
  readonly #lookups = new Map<string, Lookup>();
  /** Columns that some row lacks, as numbers in the plan. */
  readonly #lacking = new Set<number>();
  readonly #settledFrom: bigint;
  /** The changes of all rows here are older than the last snapshot of the copy. */
  #isEarly = false;

  /** `places` and `keyPlaces`: where the plan's columns and its key are in a tuple, -1 for one that is not. */
  constructor(plan: TablePlan, places: readonly number[], keyPlaces: readonly number[]) {
    this.#plan = plan;
    this.#places = places;
    this.#keyPlaces = keyPlaces;
    this.#settledFrom = BigInt(plan.settledFrom ?? 0);
    const width = places.length + keyPlaces.length;
    this.#writer = new TsvRowWriter(
      Array.from({ length: width }, (_, index) => index),
      width,
    );
  }

  get rows(): number {
    return this.#writer.rows;
  }
  get bytes(): number {
    return this.#writer.bytes;
  }

  has(key: string): boolean {
    return this.#lookups.has(key);
  }

  /** False when the row must wait until the rows here are in the table. */
  takes(row: Tuple, before: string, after: string, version: string): boolean {
    if (this.#writer.rows >= maxRows || this.#writer.bytes >= maxBytes) return false;
    // What the copy did not find under an old key it found under the new one.
    if (this.rows > 0 && this.#isEarly !== this.#isEarlyAt(version)) return false;
    if (before !== after && this.has(after)) return false;
    const earlier = this.#lookups.get(before);
    return earlier === undefined || this.#lackingOf(row).every((index) => earlier.lacking.includes(index));
  }

  /** `old` has the old key where it changed, or where the new row does not contain it. */
  add(row: Tuple, old: Tuple | undefined, before: string, after: string, version: string): void {
    this.#isEarly = this.#isEarlyAt(version);
    const lacking = this.#lackingOf(row, old);
    const values = this.#places.map((place, index) => {
      if (place < 0 || lacking.includes(index)) return null;
      const value = row.bytes(place);
      return value === unchanged ? known(old?.bytes(place)) : value;
    });
    // A row that was looked up here already: what it lacked is what was there before it.
    const key = this.#lookups.get(before)?.key ?? this.#keyPlaces.map((place) => copy((old ?? row).bytes(place)));
    this.#writer.append(tupleOf([...values, ...key]), `\t${version}\t0\t[${lacking.join(",")}]`);
    this.#lookups.set(before, { key, lacking });
    this.#lookups.set(after, { key, lacking });
    for (const index of lacking) this.#lacking.add(index);
  }

  take(): Insert {
    const statement = this.#statement([...this.#lacking].toSorted((a, b) => a - b));
    const body = this.#writer.take();
    this.#lookups.clear();
    this.#lacking.clear();
    return { ...statement, body: () => body, settings: streamSettings };
  }

  #isEarlyAt(version: string): boolean {
    return BigInt(version) < this.#settledFrom;
  }

  /** Columns that were not sent; those of the key may be in the old row. */
  #lackingOf(row: Tuple, old?: Tuple): number[] {
    const lacking: number[] = [];
    for (const [index, place] of this.#places.entries()) {
      if (place < 0 || row.bytes(place) !== unchanged) continue;
      if (old === undefined || !this.#keyPlaces.includes(place)) lacking.push(index);
    }
    return lacking;
  }

  #statement(lacking: readonly number[]): Pick<Insert, "sql" | "bodyTable"> {
    const { columns, key, sourceColumns, database, target } = this.#plan;
    const oldKey = key.map((name, index) => {
      const column = sourceColumns.find((each) => each.name === name) as (typeof sourceColumns)[number];
      return columnPlan({ ...column, name: `_old ${index}` }, { nullable: false, key: true });
    });
    const structure = [
      structureOf(columns),
      structureOf(oldKey),
      `${identifier(versionColumn)} UInt128, ${identifier(deletedColumn)} UInt8, ${identifier(lackingColumn)} Array(UInt16)`,
    ].join(", ");
    const value = (plan: (typeof columns)[number]) => plan.expression ?? identifier(plan.name);
    const read = [
      ...columns.map((plan, index) => `${value(plan)} AS v${index}`),
      ...oldKey.map((plan, index) => `${value(plan)} AS k${index}`),
      `${identifier(versionColumn)} AS version, ${identifier(deletedColumn)} AS deleted`,
      `${identifier(lackingColumn)} AS lacking`,
    ].join(", ");
    const names = [...columns.map(({ name }) => name), versionColumn, deletedColumn].map(identifier).join(", ");
    const filled = columns.map((_, index) =>
      lacking.includes(index) ? `if(has(i.lacking, ${index}), d.f${index}, i.v${index})` : `i.v${index}`,
    );
    const keyNames = key.map(identifier).join(", ");
    const keyNumbers = key.map((_, index) => `k${index}`);
    // A row that is deleted again further on may be there as a deleted one only, when this is repeated.
    const fetched = [
      `1 AS seen, ${identifier(deletedColumn)} = 0 AS alive`,
      ...key.map((name, index) => `${identifier(name)} AS k${index}`),
      ...lacking.map((index) => `${identifier((columns[index] as (typeof columns)[number]).name)} AS f${index}`),
    ].join(", ");
    const table = tableName(database, target);
    const isLacking = "notEmpty(i.lacking)";
    const deleted = this.#isEarly ? `if(${isLacking} AND d.alive = 0, 1, i.deleted)` : "i.deleted";
    const refused = this.#isEarly ? "0" : `throwIf(${isLacking} AND d.seen = 0, ${literal(unseen)})`;
    // The statement reads the rows twice.
    const bodyTable = { name: "sent", structure, format: "TabSeparated" };
    const sql =
      `INSERT INTO ${table} (${names}) WITH read AS (SELECT ${read} FROM ${bodyTable.name}) ` +
      `SELECT ${filled.join(", ")}, i.version, ${deleted} FROM read AS i LEFT JOIN (SELECT ${fetched} FROM ${table} ` +
      `WHERE (${keyNames}) IN (SELECT ${keyNumbers.join(", ")} FROM read) ` +
      `ORDER BY ${identifier(deletedColumn)}, ${identifier(versionColumn)} DESC LIMIT 1 BY ${keyNames}) AS d ` +
      `ON ${keyNumbers.map((name) => `i.${name} = d.${name}`).join(" AND ")} ` +
      `WHERE ${refused} = 0`;
    return { sql, bodyTable };
  }
}

const lackingColumn = "_lacking";
/** The message about a row that cannot be completed. */
const unseen =
  "an update left out large values that did not change, of a row that is not in the table: set REPLICA IDENTITY FULL at the source";

type Value = ReturnType<Tuple["bytes"]>;

function known(value: Value | undefined): Buffer | null {
  return value === undefined || value === unchanged ? null : value;
}

/** Messages are written over. */
function copy(value: Value): Buffer | null {
  const bytes = known(value);
  return bytes === null ? null : Buffer.from(bytes);
}

/** What the source's catalog says about its tables: columns, types, keys. */
import type pg from "pg";

export type TableName = { readonly schema: string; readonly name: string };

/** A type of the source, with what is needed to convert its text. */
export type SourceType = {
  readonly oid: number;
  /** `int4`; with the schema in front when it is not of `pg_catalog`: `public.mood`. */
  readonly name: string;
  readonly kind: "base" | "enum" | "domain" | "array" | "composite" | "range" | "multirange" | "pseudo";
  /** -1 for none. Of a domain's base: the domain's. */
  readonly typmod: number;
  /** Character between the elements of an array of this type. */
  readonly delimiter: string;
  /** Of an array. */
  readonly element?: SourceType;
  /** Of a domain. */
  readonly base?: SourceType;
  /** Of an enum, in order. */
  readonly labels?: readonly string[];
};

export type SourceColumn = {
  readonly name: string;
  readonly attnum: number;
  readonly typeOid: number;
  /** As SQL writes it, with its modifiers: `numeric(10,2)`. */
  readonly typeName: string;
  readonly typmod: number;
  readonly type: SourceType;
  /** Declared dimensions of an array column; 0 for others. */
  readonly dimensions: number;
  readonly notNull: boolean;
  /** Stored or virtual: never in the stream, so it is not copied either. */
  readonly generated: boolean;
  /** Text that rows written before the column was added have (`pg_attribute.attmissingval`); absent for NULL. */
  readonly missingValue?: string;
};

export type SourceTable = TableName & {
  readonly oid: number;
  /** `r` table, `p` partitioned table; others cannot be replicated. */
  readonly relkind: string;
  readonly replicaIdentity: "d" | "n" | "f" | "i";
  /** All columns that exist, by attnum. */
  readonly columns: readonly SourceColumn[];
  /** Primary key, or the index of REPLICA IDENTITY USING INDEX; empty without either. In the index' order. */
  readonly key: readonly string[];
};

/** Reads tables of the connected database, in the order of `names`; one that does not exist is left out. */
export async function readTables(client: pg.ClientBase, names: readonly TableName[]): Promise<SourceTable[]> {
  throw new Error(`not built: ${client} ${names.length}`);
}

/** The columns that a pipe replicates, by attnum: neither generated nor excluded. */
export function replicatedColumns(table: SourceTable, excluded: readonly string[] = []): SourceColumn[] {
  return table.columns.filter((column) => !column.generated && !excluded.includes(column.name));
}

/**
 * The part of Postgres that a pipe sees, in memory: tables whose rows have a page and a transaction id, a log of
 * committed transactions, and snapshots. A script changes it by `commit`. It keeps every row that exists now, so it
 * also says what the destination must show in the end.
 */

export type Value = string | null;
export type Row = Readonly<Record<string, Value>>;

export type Column = {
  readonly name: string;
  readonly type: "int4" | "text";
  readonly attnum: number;
  readonly notNull: boolean;
  /** What rows from before the column was added have. */
  readonly missingValue?: string;
};

export type Table = {
  readonly oid: number;
  readonly name: string;
  readonly identity: "d" | "f";
  readonly key: readonly string[];
  readonly columns: readonly Column[];
  /** The table itself, or its partitions. */
  readonly leaves: readonly string[];
};

export type StoredRow = { readonly leaf: string; readonly page: number; readonly xmin: number; readonly row: Row };

/** Tables as they were at the time of the change. */
export type Change =
  | { readonly kind: "insert"; readonly table: Table; readonly row: Row }
  | { readonly kind: "update"; readonly table: Table; readonly row: Row; readonly old: Row }
  | { readonly kind: "delete"; readonly table: Table; readonly old: Row }
  | { readonly kind: "truncate"; readonly tables: readonly Table[] };

export type Transaction = {
  readonly xid: number;
  readonly commitLsn: bigint;
  readonly endLsn: bigint;
  readonly changes: readonly Change[];
  /** Names of the tables that were published when it committed. */
  readonly published: ReadonlySet<string>;
};

/** What a transaction may do. */
export type Writer = {
  insert(table: string, row: Row): void;
  update(table: string, key: string, change: Row): void;
  delete(table: string, key: string): void;
  truncate(...tables: string[]): void;
  /** A statement of the same transaction, before any change of the table in it. */
  addColumn(table: string, column: Omit<Column, "attnum">): void;
};

export type View = { readonly lsn: bigint; readonly rows: ReadonlyMap<string, readonly StoredRow[]> };

const rowsPerPage = 2;
/** A row in a partition is found by the first letter of its key. */
const leafOf = ({ leaves, key }: Table, row: Row) =>
  leaves[Number(row[key[0] as string] ?? 0) % leaves.length] as string;

export class MemoryDatabase {
  readonly log: Transaction[] = [];
  published: ReadonlySet<string> | undefined;
  readonly #tables = new Map<string, Table>();
  readonly #rows = new Map<string, StoredRow[]>();
  /** Numbers the files of the tables. */
  #rewrites = 0;
  #xid = 700;
  #lsn = 0x1000n;

  /** The end of the log. */
  get lsn(): bigint {
    return this.#lsn;
  }
  get xid(): number {
    return this.#xid;
  }

  create(
    table: Pick<Table, "name" | "identity" | "key"> & {
      columns: readonly Omit<Column, "attnum">[];
      leaves?: readonly string[];
    },
  ) {
    const columns = table.columns.map((column, index) => ({ ...column, attnum: index + 1 }));
    const leaves = table.leaves ?? [table.name];
    this.#tables.set(table.name, { ...table, columns, leaves, oid: 16_400 + this.#tables.size });
    this.#rows.set(table.name, []);
  }

  table(name: string): Table {
    const table = this.#tables.get(name);
    if (table === undefined) throw new Error(`the script has no table ${name}`);
    return table;
  }

  find(name: string): Table | undefined {
    return this.#tables.get(name);
  }

  byOid(oid: number): Table {
    return [...this.#tables.values()].find((table) => table.oid === oid) as Table;
  }

  rows(name: string): readonly StoredRow[] {
    return this.#rows.get(name) as StoredRow[];
  }

  /**
   * Rows of a table by the changes of the log that `isCovered` accepts, which gets the commit and the number of a
   * change among those that are published.
   */
  rowsAt(name: string, isCovered: (commitLsn: bigint, change: number) => boolean): { readonly row: Row }[] {
    const rows = new Map<string, Row>();
    for (const { commitLsn, changes, published } of this.log) {
      let number = 0;
      for (const change of changes) {
        const tables = change.kind === "truncate" ? change.tables : [change.table];
        if (tables.some((table) => published.has(table.name))) number += 1;
        if (!tables.some((table) => table.name === name) || !isCovered(commitLsn, number)) continue;
        if (change.kind === "truncate") rows.clear();
        if ("old" in change) rows.delete(this.keyOf(name, change.old));
        if ("row" in change) rows.set(this.keyOf(name, change.row), change.row);
      }
    }
    return [...rows.values()].map((row) => ({ row }));
  }

  /** What a reader sees from now on, whatever is committed later. */
  view(): View {
    return { lsn: this.#lsn, rows: new Map([...this.#rows].map(([name, rows]) => [name, [...rows]])) };
  }

  get file(): number {
    return 20_000 + this.#rewrites;
  }

  /** `VACUUM FULL`: rows move to the first pages of new files, with the transactions that wrote them. */
  rewrite(name: string): void {
    this.#rewrites += 1;
    const rows = this.#rows.get(name) as StoredRow[];
    for (const leaf of this.table(name).leaves) {
      const own = rows.flatMap((row, at) => (row.leaf === leaf ? [at] : []));
      for (const [place, at] of own.toReversed().entries()) {
        rows[at] = { ...(rows[at] as StoredRow), page: Math.floor(place / rowsPerPage) };
      }
    }
  }

  /** Log that is of no transaction. */
  advance(): void {
    this.#lsn += 0x100n;
  }

  commit(work: (writer: Writer) => void): void {
    this.#xid += 1;
    const changes: Change[] = [];
    work(this.#writer(changes));
    const commitLsn = this.#lsn + BigInt(changes.length) * 0x40n + 0x10n;
    this.#lsn = commitLsn + 0x30n;
    const published = this.published ?? new Set<string>();
    this.log.push({ xid: this.#xid, commitLsn, endLsn: this.#lsn, changes, published });
  }

  #writer(changes: Change[]): Writer {
    return {
      insert: (name, row) => {
        this.#store(name, row);
        changes.push({ kind: "insert", table: this.table(name), row });
      },
      update: (name, key, change) => {
        const { row: old } = this.#remove(name, key);
        const row = { ...old, ...change };
        this.#store(name, row);
        changes.push({ kind: "update", table: this.table(name), row, old });
      },
      delete: (name, key) => {
        const { row: old } = this.#remove(name, key);
        changes.push({ kind: "delete", table: this.table(name), old });
      },
      truncate: (...names) => {
        for (const name of names) this.#rows.set(name, []);
        changes.push({ kind: "truncate", tables: names.map((name) => this.table(name)) });
      },
      addColumn: (name, column) => {
        const table = this.table(name);
        this.#tables.set(name, {
          ...table,
          columns: [...table.columns, { ...column, attnum: table.columns.length + 1 }],
        });
        const rows = this.rows(name).map((stored) => ({
          ...stored,
          row: { ...stored.row, [column.name]: column.missingValue ?? null },
        }));
        this.#rows.set(name, rows);
      },
    };
  }

  /** Into the first page that has room: pages that were copied already get new rows too. */
  #store(name: string, row: Row): void {
    const leaf = leafOf(this.table(name), row);
    const rows = this.#rows.get(name) as StoredRow[];
    let page = 0;
    while (rows.filter((each) => each.leaf === leaf && each.page === page).length >= rowsPerPage) page += 1;
    rows.push({ leaf, page, xmin: this.#xid, row });
  }

  #remove(name: string, key: string): StoredRow {
    const rows = this.#rows.get(name) as StoredRow[];
    const at = rows.findIndex(({ row }) => this.keyOf(name, row) === key);
    const [removed] = at < 0 ? [] : rows.splice(at, 1);
    if (removed === undefined) throw new Error(`the script has no row ${key} in ${name}`);
    return removed;
  }

  keyOf(name: string, row: Row): string {
    return this.table(name)
      .key.map((column) => row[column])
      .join("/");
  }
}

/** Pages of a leaf, and rows in them. */
export function sizeOf(rows: readonly StoredRow[], leaf: string): { pages: number; tuples: number } {
  const own = rows.filter((row) => row.leaf === leaf);
  return { pages: own.reduce((most, { page }) => Math.max(most, page + 1), 0), tuples: own.length };
}

/**
 * The destination of a pipe in memory: the tables that its statements make, and the rows of its inserts with the
 * engine's rules. A repeated token is dropped; the newest version of a key is shown. It stands for no more SQL than the
 * connector writes, and throws for anything else.
 */

type Row = Record<string, string | null>;
type Column = { readonly name: string; readonly type: string; readonly missing: string | null };
type Table = {
  readonly engine: string;
  readonly key: readonly string[];
  readonly comment: string;
  columns: Column[];
  rows: Row[];
  readonly tokens: Set<string>;
};

/** What rows of one statement are: text, or `\N`. */
export type Line = readonly (string | null)[];

const quoted = "`([^`]+)`";
const named = `${quoted}\\.${quoted}`;

export class MemoryTables {
  readonly #tables = new Map<string, Table>();
  readonly #views = new Set<string>();
  /** Versions of rows of the stream that were ever inserted, and how often it was truncated; by table name. */
  readonly #versions = new Map<string, Set<string>>();
  readonly #truncated = new Map<string, number>();

  has(name: string, version: string): boolean {
    return this.#versions.get(name)?.has(version) === true;
  }

  truncations(name: string): number {
    return this.#truncated.get(name) ?? 0;
  }

  /** Rows as readers of the view see them, each as one text. */
  shown(name: string): string[] {
    const { engine, key, rows, columns } = this.#of(name);
    const own = columns.filter((column) => !column.name.startsWith("_"));
    const text = (row: Row) => own.map(({ name: of, missing }) => `${of}=${of in row ? row[of] : missing}`).join(" ");
    if (engine !== "ReplacingMergeTree") return rows.map(text).toSorted();
    const newest = new Map<string, Row>();
    for (const row of rows) {
      const at = keyOf(row, key);
      const known = newest.get(at);
      if (known === undefined || versionOf(row) >= versionOf(known)) newest.set(at, row);
    }
    return [...newest.values()]
      .filter((row) => row._deleted !== "1")
      .map(text)
      .toSorted();
  }

  names(): string[] {
    return [...this.#tables.keys()];
  }

  query(sql: string): Record<string, unknown>[] {
    if (sql.startsWith("SELECT name, comment FROM system.tables")) {
      const wanted = [...(/ IN \((.+)\)/.exec(sql)?.[1] ?? "").matchAll(/'([^']+)'/g)].map(
        ([, name]) => name as string,
      );
      const found = wanted.filter((name) => this.#tables.has(name));
      return found.map((name) => ({ name, comment: this.#of(name).comment }));
    }
    if (sql.startsWith("SELECT 1 AS one FROM system.tables")) {
      return this.#views.has(/ name = '([^']+)'/.exec(sql)?.[1] as string) ? [{ one: 1 }] : [];
    }
    if (sql.startsWith("SELECT name, type, default_kind FROM system.columns")) {
      const { columns } = this.#of(/ table = '([^']+)'/.exec(sql)?.[1] as string);
      return columns.map(({ name, type }) => ({ name, type, default_kind: "" }));
    }
    throw unknown(sql);
  }

  command(sql: string): void {
    const [, , first = "", , second = ""] = new RegExp(`${named}(?: AND ${named})?`).exec(sql) ?? [];
    if (sql.startsWith("CREATE TABLE IF NOT EXISTS ")) this.#create(first, sql);
    else if (sql.startsWith("CREATE VIEW IF NOT EXISTS ")) this.#views.add(first);
    else if (sql.startsWith("DROP VIEW IF EXISTS ")) this.#views.delete(first);
    else if (sql.startsWith("DROP TABLE IF EXISTS ")) this.#tables.delete(first);
    else if (sql.startsWith("EXCHANGE TABLES ")) this.#exchange(first, second);
    else if (sql.includes(" ADD COLUMN IF NOT EXISTS ")) this.#addColumn(first, sql);
    else throw unknown(sql);
  }

  /** The lines of an insert's data. */
  linesOf(body: string): Line[] {
    return body
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split("\t").map((value) => (value === "\\N" ? null : value)));
  }

  /** Runs an insert, or a truncate, which engines run again however often it comes. */
  insert(sql: string, lines: readonly Line[], token: string): void {
    const [, , name = ""] = new RegExp(named).exec(sql) ?? [];
    const table = this.#of(name);
    if (sql.startsWith("TRUNCATE TABLE ")) {
      this.#truncated.set(name, this.truncations(name) + 1);
      table.rows = [];
      table.tokens.clear();
      return;
    }
    if (table.tokens.has(token)) return;
    const columns = /^INSERT INTO \S+ \(([^)]+)\)/
      .exec(sql)?.[1]
      ?.split(", ")
      .map((text) => text.slice(1, -1));
    if (columns === undefined) throw unknown(sql);
    const rows = sql.includes(" WITH read AS (")
      ? lines.map((line) => fetched(table, columns, line, !sql.includes("throwIf")))
      : lines.map((line) => rowOf(columns, line));
    table.tokens.add(token);
    table.rows.push(...rows);
    const versions = this.#versions.get(name) ?? new Set();
    for (const row of rows) versions.add(row._version ?? "0");
    this.#versions.set(name, versions);
  }

  #of(name: string): Table {
    const table = this.#tables.get(name);
    if (table === undefined) throw new Error(`the destination has no table ${name}`);
    return table;
  }

  #create(name: string, sql: string): void {
    if (this.#tables.has(name)) return;
    const [, defined, engine, key] = /^[^(]+\((.+?)\) ENGINE = (\w+).*? ORDER BY \((.*?)\)/.exec(sql) ?? [];
    const comment = /COMMENT '(.*)'$/.exec(sql)?.[1] as string;
    if (defined === undefined || engine === undefined || key === undefined) throw unknown(sql);
    const columns = [...defined.matchAll(/`([^`]+)` ([^`]+?)(?:, (?=`)|$)/g)].map(
      ([, of, type]): Column => ({ name: of as string, type: type as string, missing: null }),
    );
    const names = [...key.matchAll(/`([^`]+)`/g)].map(([, of]) => of as string);
    this.#tables.set(name, { engine, key: names, comment, columns, rows: [], tokens: new Set() });
  }

  #exchange(one: string, other: string): void {
    // Views show the same table under both names.
    if (this.#views.has(one)) return;
    const [left, right] = [this.#of(one), this.#of(other)];
    this.#tables.set(one, right).set(other, left);
  }

  #addColumn(name: string, sql: string): void {
    const [, column = "", type = "", , missing] =
      /ADD COLUMN IF NOT EXISTS `([^`]+)` (\S+)( DEFAULT CAST\('(.*)' AS .*\))?$/.exec(sql) ?? [];
    const table = this.#of(name);
    if (column === "") throw unknown(sql);
    if (table.columns.some((each) => each.name === column)) return;
    table.columns = [...table.columns, { name: column, type, missing: missing ?? null }];
  }
}

function rowOf(names: readonly string[], line: Line): Row {
  if (line.length !== names.length)
    throw new Error(`a row has ${line.length} values for the columns ${names.join(", ")}`);
  return Object.fromEntries(names.map((name, index) => [name, line[index] ?? null]));
}

/** The row of an insert that looks up values: its own columns, the key it is looked up by, and what it lacks. */
function fetched({ rows, key, columns }: Table, names: readonly string[], line: Line, isEarly: boolean): Row {
  const width = names.length - 2;
  const [version, deleted, lackingText] = line.slice(width + key.length) as string[];
  const lacking = JSON.parse(lackingText as string) as number[];
  const row = rowOf(names, [...line.slice(0, width), version as string, deleted as string]);
  if (lacking.length === 0) return row;
  const wanted = line.slice(width, width + key.length).join("\t");
  const [found] = rows
    .filter((each) => keyOf(each, key) === wanted)
    .toSorted((a, b) => order(a._deleted ?? "0", b._deleted ?? "0") || order(versionOf(b), versionOf(a)));
  if (found === undefined && !isEarly) throw new Error(`a value is looked up of a row that is not there: ${wanted}`);
  for (const index of lacking) {
    const name = names[index] as string;
    row[name] = found?.[name] ?? columns.find((column) => column.name === name)?.missing ?? null;
  }
  if (isEarly && (found === undefined || found._deleted === "1")) row._deleted = "1";
  return row;
}

function keyOf(row: Row, key: readonly string[]): string {
  return key.map((name) => row[name]).join("\t");
}

function versionOf(row: Row): bigint {
  return BigInt(row._version ?? 0);
}

function order<T>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function unknown(sql: string): Error {
  return new Error(`the destination does not know this statement: ${sql.slice(0, 200)}`);
}

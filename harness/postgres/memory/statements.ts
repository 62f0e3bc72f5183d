/** What a database in memory answers to the statements that a pipe sends, found by words that only they have. */
import { type MemoryDatabase, type StoredRow, sizeOf, type Table, type View } from "./database.ts";
import { typeOids } from "./messages.ts";
import { type Answer, type Copied, SqlError } from "./wire.ts";

type Parameters = readonly (string | null)[];

/** Statements about the catalog, which every connection may send; undefined for others. */
export function catalogAnswer(database: MemoryDatabase, sql: string, parameters: Parameters): Answer | undefined {
  if (sql.includes("set_config")) return nothing;
  if (sql.includes("pg_catalog.pg_publication_tables")) {
    const rows = [...(database.published ?? [])].map((name) => ["public", name]);
    return { columns: { schema: "text", name: "text" }, rows };
  }
  if (sql.includes("FROM pg_catalog.pg_publication ")) {
    return { columns: { one: "int4" }, rows: database.published === undefined ? [] : [["1"]] };
  }
  if (/^(CREATE|ALTER) PUBLICATION/.test(sql)) return publish(database, sql);
  if (sql.includes('"replicaIdentity"')) return tablesAnswer(database, parameters[1] as string);
  if (sql.includes("$1::regclass")) return { columns: { file: "float8" }, rows: [[String(database.file)]] };
  if (sql.includes("pg_catalog.pg_attribute a\n")) return columnsAnswer(database, parameters[0] as string);
  if (sql.includes("WITH RECURSIVE needed")) return typesAnswer();
  if (sql.includes("pg_catalog.pg_partition_tree")) return leavesAnswer(database, Number(parameters[0]));
  return undefined;
}

export const nothing: Answer = { columns: {}, rows: [] };

function publish(database: MemoryDatabase, sql: string): Answer {
  const named = [...sql.matchAll(/"public"\."([^"]+)"/g)].map(([, name]) => name as string);
  const now = [...(database.published ?? [])];
  const isDropped = sql.includes(" DROP TABLE ");
  database.published = new Set(isDropped ? now.filter((name) => !named.includes(name)) : [...now, ...named]);
  return nothing;
}

/** The elements of an array of plain words. */
function elements(text: string): string[] {
  return text
    .slice(1, -1)
    .split(",")
    .map((word) => word.replaceAll('"', ""));
}

function tablesAnswer(database: MemoryDatabase, names: string): Answer {
  const columns = {
    oid: "float8",
    schema: "text",
    name: "text",
    relkind: "text",
    replicaIdentity: "text",
    key: "textArray",
  } as const;
  const tables = elements(names).flatMap((name) => database.find(name) ?? []);
  const kind = ({ leaves, name }: Table) => (leaves[0] === name ? "r" : "p");
  const rows = tables.map((table) => {
    const { oid, name, identity, key } = table;
    return [String(oid), "public", name, kind(table), identity, `{${key.join(",")}}`];
  });
  return { columns, rows };
}

function columnsAnswer(database: MemoryDatabase, oids: string): Answer {
  const columns = {
    table: "float8",
    name: "text",
    attnum: "int4",
    typeOid: "float8",
    typeName: "text",
    typmod: "int4",
    dimensions: "int4",
    notNull: "bool",
    generated: "bool",
    missingValue: "text",
    isUntold: "bool",
  } as const;
  const rows = elements(oids).flatMap((oid) =>
    database.byOid(Number(oid)).columns.map((column) => {
      const { name, attnum, type, notNull, missingValue = null } = column;
      const described = [String(typeOids[type]), type === "int4" ? "integer" : type, "-1", "0"];
      return [oid, name, String(attnum), ...described, notNull ? "t" : "f", "f", missingValue, "f"];
    }),
  );
  return { columns, rows };
}

function typesAnswer(): Answer {
  const columns = {
    oid: "float8",
    name: "text",
    kind: "text",
    delimiter: "text",
    element: "float8",
    base: "float8",
    baseTypmod: "int4",
    baseDimensions: "int4",
    labels: "textArray",
  } as const;
  const rows = Object.entries(typeOids).map(([name, oid]) => [
    String(oid),
    name,
    "b",
    ",",
    null,
    null,
    "-1",
    "0",
    null,
  ]);
  return { columns, rows };
}

function leavesAnswer(database: MemoryDatabase, oid: number): Answer {
  const columns = {
    ...({ schema: "text", name: "text" } as const),
    ...({ pages: "float8", tuples: "float8", bytes: "float8", file: "float8" } as const),
  };
  const { name, leaves } = database.byOid(oid);
  const rows = leaves.map((leaf) => {
    const { pages, tuples } = sizeOf(database.rows(name), leaf);
    return ["public", leaf, ...[pages, tuples, pages * 8192, database.file].map(String)];
  });
  return { columns, rows };
}

const copyPattern =
  /^COPY \(SELECT (.+) FROM ONLY "public"\."([^"]+)" WHERE ctid >= '\((\d+),0\)'::tid(?: AND ctid < '\((\d+),0\)'::tid)?(?: AND pg_catalog\.age\(xmin\) <= pg_catalog\.age\('(\d+)'.*)?\) TO STDOUT$/;

/** The rows of a range of pages, as `COPY ... TO STDOUT` prints them. */
export function copyAnswer(database: MemoryDatabase, view: View, sql: string): Copied {
  const [, select, leaf, from, end, since] = copyPattern.exec(sql) ?? [];
  if (select === undefined) throw new SqlError("42601", `the script does not know this copy: ${sql}`);
  const wanted = (row: StoredRow) =>
    row.leaf === leaf &&
    row.page >= Number(from) &&
    (end === undefined || row.page < Number(end)) &&
    (since === undefined || row.xmin >= Number(since));
  const values = select.split(", ").map((value) => /^["'](.*)["']$/.exec(value)?.slice(0, 2) ?? [value, value]);
  const table = [...view.rows.keys()].find((name) => database.table(name).leaves.includes(leaf as string)) as string;
  const rows = (view.rows.get(table) as readonly StoredRow[]).filter(wanted).toSorted((a, b) => a.page - b.page);
  const copied = rows.map(({ row }) => {
    const texts = values.map(([whole, inner]) => {
      if (!(whole as string).startsWith('"')) return inner as string;
      return row[inner as string] ?? "\\N";
    });
    return `${texts.join("\t")}\n`;
  });
  return { copied };
}

/** Copies the stored rows from one database to another, of the same or another kind. */
import { createHash } from "node:crypto";
import type { Queries, SqlValue } from "./database.ts";

type Table = { readonly name: string; readonly key: readonly string[]; readonly isNumbered?: boolean };

const byId = (name: string): Table => ({ name, key: ["id"] });

/** Every table with its primary key, in an order in which foreign keys hold. */
export const storedTables: readonly Table[] = [
  ...["organizations", "api_keys", "access_tokens", "services"].map(byId),
  { name: "service_users", key: ["service_id", "name"] },
  { name: "service_roles", key: ["service_id", "name"] },
  ...["pipes", "chart_sources", "backups", "restores", "leftovers", "console_sessions", "saved_objects"].map(byId),
  ...["pipe_error_requests", "service_moves", "webhooks", "alerts", "alert_notifications"].map(byId),
  { name: "alert_evaluations", key: ["alert_id", "window_end"] },
  { name: "service_move_objects", key: ["move_id", "database", "name"] },
  { name: "service_move_parts", key: ["move_id", "database", "name", "part"] },
  { name: "cloud_members", key: ["object_id"] },
  ...["backup_configurations", "query_endpoints", "cdc_scaling"].map((name) => ({ name, key: ["service_id"] })),
  { name: "console_links", key: ["token_hash"] },
  { name: "pipe_checkpoints", key: ["pipe_id", "lane"] },
  { name: "pipe_intents", key: ["pipe_id", "batch_id"] },
  { name: "pipe_marks", key: ["pipe_id", "mark_key"] },
  { name: "pipe_counters", key: ["pipe_id", "name"] },
  { name: "pipe_outcomes", key: ["pipe_id"] },
  { name: "pipe_batches", key: ["seq"], isNumbered: true },
  { name: "activities", key: ["seq"], isNumbered: true },
  { name: "audit_events", key: ["seq"], isNumbered: true },
];

/** Rows of a table, and a hash over them in the order of their keys. */
export type TableProof = { readonly table: string; readonly rows: number; readonly sha256: string };

const pageRows = 500;
/** SQLite and Postgres allow 32,766 and 65,535. */
const mostValues = 30_000;

/** Reads all tables; equal databases have equal proofs, whatever their kind. */
export async function proofOf(from: Queries): Promise<TableProof[]> {
  const proofs: TableProof[] = [];
  for (const table of storedTables) proofs.push(await readTable(from, table, async () => {}));
  return proofs;
}

/** Copies all tables into an empty database, and returns the proof of what was read. */
export async function copyTables(
  from: Queries,
  to: Queries,
  tell: (proof: TableProof) => void = () => {},
): Promise<TableProof[]> {
  const proofs: TableProof[] = [];
  for (const table of storedTables) {
    const proof = await readTable(from, table, (rows) => insertRows(to, table, rows));
    tell(proof);
    proofs.push(proof);
  }
  return proofs;
}

type Row = Readonly<Record<string, SqlValue>>;

async function readTable(from: Queries, table: Table, take: (rows: readonly Row[]) => Promise<void>) {
  const { name, key } = table;
  const hash = createHash("sha256");
  const order = `ORDER BY ${key.join(", ")} LIMIT ${pageRows}`;
  const next = `SELECT * FROM ${name} WHERE (${key.join(", ")}) > (${key.map(() => "?").join(", ")}) ${order}`;
  let count = 0;
  let page = await from.all<Row>(`SELECT * FROM ${name} ${order}`);
  while (page.length > 0) {
    for (const row of page) hash.update(`${JSON.stringify(Object.entries(row).sort(byName))}\n`);
    await take(page);
    count += page.length;
    const last = page.at(-1) as Row;
    page = page.length < pageRows ? [] : await from.all<Row>(next, ...key.map((column) => last[column] as SqlValue));
  }
  return { table: name, rows: count, sha256: hash.digest("hex") };
}

function byName([a]: [string, SqlValue], [b]: [string, SqlValue]): number {
  return a < b ? -1 : 1;
}

async function insertRows(to: Queries, { name }: Table, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] as Row);
  const most = Math.floor(mostValues / columns.length);
  for (let at = 0; at < rows.length; at += most) {
    const part = rows.slice(at, at + most);
    const places = part.map(() => `(${columns.map(() => "?").join(", ")})`).join(", ");
    const values = part.flatMap((row) => columns.map((column) => row[column] as SqlValue));
    await to.run(`INSERT INTO ${name} (${columns.join(", ")}) VALUES ${places}`, ...values);
  }
}

/** The identity of a data directory among those that share a database, and the services whose data it contains. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../database/database.ts";

/** The same at every start on the data directory. */
export function nodeIdOf(dataDir: string): string {
  const file = join(dataDir, "node-id");
  if (!existsSync(file)) writeFileSync(file, `${randomUUID()}\n`, { mode: 0o600 });
  return readFileSync(file, "utf8").trim();
}

const elsewhere = "runtime = 'embedded' AND (node_id IS NULL OR node_id <> ?)";

/** Serves a database that is in the data directory itself: so are the engines of all its services. */
export async function adoptServices(db: Database, nodeId: string): Promise<void> {
  const one = await db.get(`SELECT 1 AS found FROM services WHERE ${elsewhere} LIMIT 1`, nodeId);
  // A disk at rest stays at rest.
  if (one !== undefined) await db.run(`UPDATE services SET node_id = ? WHERE ${elsewhere}`, nodeId, nodeId);
}

/** Throws when the engines of some services are in the data directories of other nodes. */
export async function requireNoneElsewhere(db: Database, nodeId: string): Promise<void> {
  const rows = await db.all<{ name: string }>(`SELECT name FROM services WHERE ${elsewhere} ORDER BY name`, nodeId);
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => `"${name}"`).join(", ");
  throw new Error(`the data of these services is in the data directory of another node: ${names}. Move them first`);
}

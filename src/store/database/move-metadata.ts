/** The command `move-store`: opens both databases for themselves, and moves the metadata. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireSameKey } from "../access/key-check.ts";
import { adoptServices, nodeIdOf, requireNoneElsewhere } from "../nodes/node-id.ts";
import { NodeLease } from "../nodes/nodes.ts";
import { keyOf } from "../open.ts";
import { openPostgres } from "../postgres/postgres-database.ts";
import { placeOf, problemOfUrl } from "../postgres/postgres-url.ts";
import { type Database, openDatabase } from "./database.ts";
import { moveStore, requireNotMoved } from "./move-store.ts";
import { Sealer } from "./secrets.ts";

export type MoveMetadataOptions = {
  readonly dataDir: string;
  readonly secretKey: string | undefined;
  /** Where the metadata is now, if it is on Postgres. */
  readonly database: string | undefined;
  readonly allowsAsyncReplication: boolean;
  /** URL of a Postgres database, or `sqlite`: the data directory. */
  readonly to: string;
  readonly dryRun: boolean;
  readonly tell: (line: string) => void;
};

/** Throws while a server runs, and for everything that `moveStore` refuses; then each side is as it was. */
export async function moveMetadata(options: MoveMetadataOptions): Promise<void> {
  const { dataDir, secretKey, database, to, dryRun, tell, allowsAsyncReplication } = options;
  const file = join(dataDir, "millrace.db");
  const isHome = to === "sqlite";
  const url = isHome ? database : to;
  if (url === undefined)
    throw new Error("--to sqlite moves the metadata from Postgres: name the database with --database");
  if (problemOfUrl(url) !== undefined) {
    throw new Error("--to must be sqlite, or a URL such as postgres://user:password@host:5432/database");
  }
  if (!isHome && !existsSync(file)) throw new Error(`${dataDir} is not a data directory: it has no millrace.db`);
  const sealer = new Sealer(keyOf(dataDir, secretKey));
  await using opened = new AsyncDisposableStack();
  const postgres = await openPostgres(url, { allowsAsyncReplication });
  opened.defer(() => postgres.close());
  const sqlite = isHome ? await emptyHome(file, dryRun, opened) : openDatabase(file);
  opened.defer(() => sqlite.close());
  const [from, target] = isHome ? [postgres, sqlite] : [sqlite, postgres];
  const nodeId = nodeIdOf(dataDir);
  if (isHome) await requireSameKey(postgres, sealer);
  // Waits for servers that run, and none starts meanwhile.
  const self = { id: `move ${randomUUID()}`, role: "tool", version: "" } as const;
  const lease = await NodeLease.claim(postgres, { ...self, isExclusive: false });
  opened.defer(() => lease.release().catch(() => {}));
  if (isHome) await requireNoneElsewhere(postgres, nodeId);
  else await adoptServices(sqlite, nodeId);
  const place = isHome ? `SQLite in ${dataDir}` : placeOf(url);
  await moveStore({ from, to: target, place, dryRun, tell });
  if (isHome || dryRun) return;
  await requireSameKey(postgres, sealer);
  tell("Start the server with MILLRACE_DATABASE, and with MILLRACE_SECRET_KEY: by default the content of secret.key.");
}

/** A database without rows. A file whose rows were moved away before is renamed and kept. */
async function emptyHome(file: string, dryRun: boolean, opened: AsyncDisposableStack): Promise<Database> {
  if (dryRun) {
    const folder = mkdtempSync(join(tmpdir(), "millrace-dry-run-"));
    opened.defer(() => rmSync(folder, { recursive: true }));
    return openDatabase(join(folder, "millrace.db"));
  }
  if (!existsSync(file)) return openDatabase(file);
  const present = openDatabase(file);
  const wasMoved = await requireNotMoved(present).then(
    () => false,
    () => true,
  );
  if (!wasMoved) return present;
  await present.close();
  renameSync(file, `${file}.moved-${new Date().toISOString().replaceAll(/[-:.]/g, "")}`);
  return openDatabase(file);
}

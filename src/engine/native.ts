/**
 * The engine binding below the public chdb classes. Two things here have no public name: an insert that reports how
 * many rows it wrote, and the engine's own parser saying what kind of statement a text is. The package version is
 * pinned exactly, and `native.real.test.ts` fails when one of these calls changes.
 */
import { createRequire } from "node:module";

/** An open connection. It is a separate user session of the engine: settings, temporary tables, current database. */
export type Connection = { readonly brand: "chdb connection" };

export type RawResult = {
  readonly bytes: Buffer;
  readonly elapsed: number;
  readonly rowsRead: number;
  readonly bytesRead: number;
};

export type RawWritten = {
  readonly elapsed: number;
  readonly rowsWritten: number;
  readonly bytesWritten: number;
};

/** What the engine's parser says of a text. */
export type Classification = {
  readonly statementCount: number;
  /** 0 reads, 1 changes data or tables, 2 changes access or functions, 3 anything else, 4 does not parse. */
  readonly queryClass: number;
};

export type Addon = {
  /** Cheap (about 0.2 ms after the first). Blocks the calling thread. */
  CreateConnection(path: string, args: readonly string[]): Connection | null;
  /** Never call it while a query of the connection is running: the engine aborts the process. */
  CloseConnection(connection: Connection): void;
  /** Runs one or more statements on the libuv pool; the result is the one of the last. */
  QueryAsyncConnection(connection: Connection, sql: string, format: string): Promise<RawResult>;
  /** Like a query of `prefix + data`, and reports what was written. Data never travels here, only a newline. */
  InsertRawAsyncConnection(
    connection: Connection,
    prefix: string,
    data: Buffer,
    countLines: boolean,
  ): Promise<RawWritten>;
  DurableClassifyAsync(connection: Connection, sql: string, database: string): Promise<Classification>;
};

/** Loads the platform's prebuilt engine (about 550 MB mapped, not read). */
export function loadAddon(): Addon {
  const fromHere = createRequire(import.meta.url);
  const chdb = fromHere.resolve("chdb");
  const loader = createRequire(chdb)("./dist/loader.js") as { loadNative(): Addon };
  return loader.loadNative();
}

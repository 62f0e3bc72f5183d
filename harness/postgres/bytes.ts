/** The bytes that Postgres sends: of a COPY, and of a replication slot. */
import type pg from "pg";
import { sessionSql } from "../../src/sources/relational-db/server/session.ts";
import type { TestPostgres } from "./postgres.ts";

/** The methods that `pg` calls on a query with its own protocol handler. */
type Handler = pg.Submittable & {
  handleCopyData(message: { chunk: Buffer }): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
};

/**
 * All data of one `COPY ... TO STDOUT`, or of a `START_REPLICATION` until `last` returns true; rejects like a query.
 */
export async function copyBytes(client: pg.Client, sql: string, last?: (chunk: Buffer) => boolean): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    const handler: Handler = {
      submit: (connection) => connection.query(sql),
      // The parser may overwrite its buffer, so kept data must be copied.
      handleCopyData: ({ chunk }) => {
        const copy = Buffer.from(chunk);
        chunks.push(copy);
        if (last?.(copy) === true) resolve();
      },
      handleCommandComplete: () => {},
      handleReadyForQuery: resolve,
      handleError: reject,
    };
    client.query(handler);
  });
  return chunks;
}

/**
 * The pgoutput messages of a slot up to the commit at or after the current end of the log, read on a replication
 * connection with the session settings of pipes.
 */
export async function slotMessages(
  server: TestPostgres,
  slot: string,
  options: Readonly<Record<string, string>>,
  database = server.database,
): Promise<Buffer[]> {
  // Writes a final message to the slot, at which the reader stops.
  await using plain = await server.client({ database });
  await plain.query("SELECT pg_logical_emit_message(false, 'end', '')");
  await using client = await server.client({ database, replication: "database" } as pg.ClientConfig);
  await client.query(sessionSql);
  const list = Object.entries({ messages: "true", ...options }).map(([name, value]) => `${name} '${value}'`);
  const isEnd = (payload: Buffer) => payload[0] === 0x4d && payload.includes("end\0");
  const chunks = await copyBytes(client, `START_REPLICATION SLOT ${slot} LOGICAL 0/0 (${list.join(", ")})`, (chunk) =>
    isEnd(chunk.subarray(25)),
  );
  return chunks.filter((chunk) => chunk[0] === 0x77).map((chunk) => chunk.subarray(25));
}

/** The bytes that Postgres sends: of a COPY, and of a replication slot. */
import type pg from "pg";
import { sessionSql } from "../../src/sources/relational-db/server/session.ts";
import type { TestPostgres } from "./postgres.ts";

/** What `pg` calls on a query that is its own protocol handler. */
type Handler = pg.Submittable & {
  handleCopyData(message: { chunk: Buffer }): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
};

/** All data of one `COPY ... TO STDOUT`, or of a `START_REPLICATION` until `last` says so; rejects like a query. */
export async function copyBytes(client: pg.Client, sql: string, last?: (chunk: Buffer) => boolean): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    const handler: Handler = {
      submit: (connection) => connection.query(sql),
      // The parser may write over its buffer: what is kept must be copied.
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
 * The pgoutput messages of a slot up to the commit at or after the current end of the log, taken by a replication
 * connection whose session is set as the pipes set it.
 */
export async function slotMessages(
  server: TestPostgres,
  slot: string,
  options: Readonly<Record<string, string>>,
  database = server.database,
): Promise<Buffer[]> {
  // Something to stop at: the slot's own last message.
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

/**
 * Data of a client for a temporary table. None of its bytes may reach the session that has the table: the session tells
 * the columns, the data goes unread into a table aside, on a connection for one query, and comes from there, as the
 * engine writes it, in the text of a statement of the front.
 */
import { randomUUID } from "node:crypto";
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { identifier, tableName } from "../../clickhouse/sql.ts";
import { asideTables } from "../chdb/users.ts";
import type { InsertAnswer } from "./insert-answer.ts";
import type { BeforeEnd } from "./single-answer.ts";

/** The engine and the front hold the data of one INSERT in memory, several times. */
const mostBytes = 67_108_864;

export type TemporaryInsert = {
  readonly table: string;
  /** Of the client's INSERT. */
  readonly text: Buffer;
  /** Authenticated as the internal user. */
  readonly client: Pick<ClickHouseClient, "text" | "stream">;
  /** Runs an INSERT in the session. Resolves with its answer, which may be an exception. */
  readonly inSession: (text: Buffer) => Promise<InsertAnswer>;
  /** Runs an INSERT of the internal user with the data of the client. */
  readonly withData: (text: Buffer, beforeEnd: BeforeEnd) => Promise<void>;
};

/** Resolves when the client was answered, or with the exception that it gets before it sends data. */
export async function insertTemporary(insert: TemporaryInsert): Promise<Buffer | undefined> {
  const { table, text, client, inSession, withData } = insert;
  const { columns = [], exception } = await inSession(text);
  if (exception !== undefined) return exception;
  const aside = tableName(asideTables.database, `${asideTables.prefix}${randomUUID()}`);
  const names = columns.map(({ name }) => identifier(name)).join(", ");
  const definition = columns.map(({ name, type }) => `${identifier(name)} ${type}`).join(", ");
  // ATTACH creates columns of each type that a table has already.
  await client.text(`ATTACH TABLE ${aside} UUID '${randomUUID()}' (${definition}) ENGINE = Memory`);
  try {
    await withData(Buffer.from(`INSERT INTO ${aside} (${names}) FORMAT Native`), async (isSeen) => {
      if (!isSeen) throw new Error("the end of the data was not seen");
      const data = await readAll(client, `SELECT * FROM ${aside} FORMAT Native`);
      const head = Buffer.from(`INSERT INTO ${identifier(table)} (${names}) FORMAT Native\n`);
      return (await inSession(Buffer.concat([head, ...data]))).exception;
    });
  } finally {
    await client.text(`DROP TABLE ${aside}`);
  }
  return undefined;
}

/** Of a table that keeps its order. Throws the exception for the client when it is too large. */
async function readAll(client: Pick<ClickHouseClient, "stream">, sql: string): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of (await client.stream(sql, { settings: { max_threads: 1 } })) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) {
      const text = `An INSERT of a client's data into a temporary table can have ${mostBytes} bytes: send it in several.`;
      throw clickHouseException("TOO_LARGE_STRING_SIZE", text);
    }
    chunks.push(chunk);
  }
  return chunks;
}

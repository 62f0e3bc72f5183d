/**
 * Temporary tables, and roles other than the default ones, belong to a session that the engine keeps: to a connection
 * on which the user has logged in. Only bytes of the front go through it as well.
 */
import { randomUUID } from "node:crypto";
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { identifier, tableName } from "../../clickhouse/sql.ts";
import { since } from "../../endpoint/native/hello.ts";
import type { NativeSession } from "../../endpoint/native/session.ts";
import { asideTables } from "../chdb/users.ts";
import type { StatementVerdict } from "../sql/guard.ts";
import type { GuardQuery } from "../sql/guard-query.ts";
import { isKeyword, isMark, isName } from "../sql/text/scan.ts";
import type { SqlToken } from "../sql/text/tokens.ts";
import type { InsertAnswer } from "./insert-answer.ts";
import { tokensOf, utf8 } from "./session-statement.ts";
import type { BeforeEnd } from "./single-answer.ts";

/** The engine and the front hold the data of one INSERT in memory, several times. */
const mostBytes = 67_108_864;

/**
 * True of a client that gets such a session from the beginning. Its settings have another form than those of a query
 * with a seal, and its answers other packets.
 */
export function isOld({ revision }: NativeSession): boolean {
  return revision < since.settingTexts;
}

/** `CREATE [OR REPLACE] TEMPORARY TABLE [IF NOT EXISTS] name`: the name. Undefined for every other statement. */
export function temporaryName(tokens: readonly SqlToken[]): string | undefined {
  const at = tokens.slice(0, 4).findIndex((token) => isKeyword(token, "TEMPORARY"));
  if (!isKeyword(tokens[0], "CREATE") || at < 0) return undefined;
  const name = tokens[isKeyword(tokens[at + 2], "IF") ? at + 5 : at + 2];
  return isName(name) ? name.value : undefined;
}

/** True of an INSERT whose data is not in its text. */
export function wantsData({ kind, head }: StatementVerdict, text: Buffer): boolean {
  return kind === "insert" && head !== undefined && text.toString("latin1", head.headEnd).trim() === "";
}

/** The temporary table that an INSERT may mean, which is one of `names`; `head`: without data. */
export async function temporaryTarget(
  guardQuery: GuardQuery,
  head: Buffer,
  names: ReadonlySet<string> | undefined,
): Promise<string | undefined> {
  if (names === undefined) return undefined;
  const [, , table, next] = await tokensOf(guardQuery, head);
  return isName(table) && !isMark(next, ".") && names.has(table.value) ? utf8(table.value) : undefined;
}

export type TemporaryInsert = {
  readonly table: string;
  /** The client's INSERT. */
  readonly text: Buffer;
  /** Authenticated as the internal user. */
  readonly client: Pick<ClickHouseClient, "text" | "stream">;
  /** Runs an INSERT in the session. Resolves with its answer, which may be an exception. */
  readonly inSession: (text: Buffer) => Promise<InsertAnswer>;
  /** Runs an INSERT of the internal user with the data of the client. */
  readonly withData: (text: Buffer, beforeEnd: BeforeEnd) => Promise<void>;
};

/**
 * Data of a client for a temporary table. None of its bytes may reach the session that has the table: the session tells
 * the columns, the data goes unread into a table aside, on a connection for one query, and comes from there, as the
 * engine writes it, in the text of a statement of the front. Resolves when the client was answered, or with the
 * exception that it gets before it sends data.
 */
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

/** Reads a table that keeps its order. Throws the exception for the client when it is too large. */
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

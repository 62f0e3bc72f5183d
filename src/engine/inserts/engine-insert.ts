/** Inserts collected data into the engine, as the user of its clients. */
import { randomUUID } from "node:crypto";
import { ClickHouseException, clickHouseException, parseException } from "../../clickhouse/exception.ts";
import type { Upstream } from "../../endpoint/forward/upstream.ts";
import { type Parameter, pathWith } from "../http/parameters.ts";

/** A statement without its data. Plain data: it is kept on disk. */
export type InsertStatement = {
  /** The engine's name of the user. */
  readonly user: string;
  /** Up to the format, as a byte string. */
  readonly head: string;
  readonly format: string;
  readonly parameters: readonly Parameter[];
  readonly headers: Readonly<Record<string, string>>;
};

/** Headers of the engine's answer that say nothing of the data. */
export type ReplyHeaders = Readonly<Record<string, string>>;

/**
 * Resolves when the rows are in the table. Rejects with the engine's exception, or with NETWORK_ERROR when it does not
 * answer.
 */
export type EngineInsert = (
  statement: InsertStatement,
  data: Buffer,
  settings: readonly Parameter[],
) => Promise<ReplyHeaders>;

const ownHeaders =
  /^(?:connection|keep-alive|transfer-encoding|date|content-length|x-clickhouse-(?:query-id|summary|progress|exception.*))$/i;

/**
 * One block, which the engine has read whole before it writes a row: an error in the data leaves nothing in the table.
 * The token is never used again, so that equal rows of two flushes are not taken for one, unless it is repeated.
 */
export function wholeInsert(rows: number, token: string = randomUUID()): Parameter[] {
  return [
    ["input_format_parallel_parsing", "0"],
    ["max_insert_block_size", String(rows + 1)],
    ["max_insert_block_size_bytes", "0"],
    ["min_insert_block_size_rows", String(rows + 1)],
    ["min_insert_block_size_bytes", "0"],
    ["insert_deduplication_token", token],
  ];
}

/** Inserts nothing, with the checks of an insert: table, columns, format and rights. */
export const emptyInsert: readonly Parameter[] = [["throw_if_no_data_to_insert", "0"]];

export function engineInserter(upstream: Upstream, key: string): EngineInsert {
  return async (statement, data, settings) => {
    const set = new Set(settings.map(([name]) => name));
    const kept = statement.parameters.filter(([name]) => !set.has(name));
    const parameters: Parameter[] = [...kept, ...settings, ["query_id", randomUUID()], ["wait_end_of_query", "1"]];
    const headers = { ...statement.headers, "x-clickhouse-user": statement.user, "x-clickhouse-key": key };
    const body = { first: [Buffer.from(`${statement.head}\n`, "latin1"), data], rest: undefined };
    return await answerOf(upstream, { method: "POST", path: pathWith(parameters), headers, body });
  };
}

function answerOf(upstream: Upstream, request: Parameters<Upstream["send"]>[0]): Promise<ReplyHeaders> {
  return new Promise((resolve, reject) => {
    let status = 0;
    let headers: ReplyHeaders = {};
    let text = "";
    upstream.send(request, {
      onHead: (head) => {
        status = head.status;
        headers = Object.fromEntries(head.headers.filter(([name]) => !ownHeaders.test(name)));
      },
      onData: (slice, sent) => {
        if (text.length < 65_536) text += slice.toString();
        sent();
      },
      onEnd: () => (status === 200 ? resolve(headers) : reject(parseException(text))),
      onError: (cause) =>
        reject(clickHouseException("NETWORK_ERROR", "The service's engine does not answer.", { cause })),
    });
  });
}

/**
 * True for an error of the data, which the engine has found before it wrote anything: it is in the reader of the format
 * or in a constraint, and not in a view.
 */
export function isInData(error: unknown): error is ClickHouseException {
  if (!(error instanceof ClickHouseException) || /while pushing to view/i.test(error.message)) return false;
  return rowOf(error) !== undefined || /while executing \w*InputFormat/i.test(error.message);
}

/** The row, from 1, that an error names. */
export function rowOf({ message }: ClickHouseException): number | undefined {
  // The last one: the text of a value may precede it.
  const row = [...message.matchAll(/\(at row (\d+)\)|is violated at row (\d+)/g)].at(-1);
  return row === undefined ? undefined : Number(row[1] ?? row[2]);
}

/** Which requests are asynchronous inserts, and what of them two must have in common to be inserted together. */
import type { IncomingHttpHeaders } from "node:http";
import { passedHeadersOf } from "../../endpoint/handoff/passed-headers.ts";
import type { IncomingQuery } from "../http/incoming-query.ts";
import { type Parameter, textOf } from "../http/parameters.ts";
import type { InsertHead } from "../sql/text/insert-data.ts";
import type { NewInsert } from "./async-inserts.ts";
import { pieceOf } from "./joinable-data.ts";
import { insertOptions, maxHeadBytes, mayBeAsync } from "./options.ts";

/** Parameters of one request, which say nothing of its rows. */
const personal: ReadonlySet<string> = new Set(
  (
    "query_id session_id session_timeout session_check close_session compress decompress buffer_size log_comment " +
    "wait_end_of_query send_progress_in_http_headers http_headers_progress_interval_ms enable_http_compression"
  ).split(" "),
);

/**
 * The insert of a request that was judged; undefined for one that runs as it came. `user` is the engine's name. Throws
 * for settings that a server refuses.
 */
export function newInsert(
  { text, whole, parameters }: IncomingQuery,
  insert: InsertHead,
  { user, headers }: { readonly user: string; readonly headers: IncomingHttpHeaders },
): NewInsert | undefined {
  if (!whole || insert.selects || insert.headEnd > maxHeadBytes) return undefined;
  if (!mayBeAsync(text.subarray(0, insert.headEnd), parameters)) return undefined;
  const head = text.toString("latin1", 0, insert.headEnd);
  if (/^\s*insert\s+into\s+(?:table\s+)?function\b/i.test(head)) return undefined;
  const options = insertOptions(
    head,
    parameters.map(([name, value]) => [textOf(name), textOf(value)]),
  );
  if (options === undefined) return undefined;
  const piece = pieceOf(insert.format, text.subarray(insert.dataStart));
  if (piece === undefined) return undefined;
  const kept = parameters.filter(([name]): boolean => !personal.has(name));
  const statement = { user, head, format: insert.format, parameters: kept, headers: statementHeaders(headers) };
  return { statement, options, piece };
}

/** The session of a request; undefined without one. */
export function sessionOf(parameters: readonly Parameter[]): string | undefined {
  const session = parameters.findLast(([name]) => name === "session_id")?.[1];
  return session === "" ? undefined : session;
}

function statementHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const passed = Object.entries(passedHeadersOf(headers));
  return Object.fromEntries(passed.filter(([name]) => /^x-clickhouse-(?:database|quota)$/.test(name)));
}

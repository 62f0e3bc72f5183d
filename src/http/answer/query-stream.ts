/**
 * Sends a statement to a service's engine host, which judges it like every statement of a database client, and streams
 * the engine's response, bytes unchanged and no faster than the caller reads.
 */
import type { ServerResponse } from "node:http";
import { type ClickHouseException, parseException } from "../../clickhouse/exception.ts";
import type { DatabasePrincipal } from "../../endpoint/auth/logins.ts";
import type { AnswerHead } from "../../endpoint/forward/answer-reader.ts";
import { forwardUpstream, Refused } from "../../endpoint/forward/forward-upstream.ts";
import { principalHeadersOf } from "../../endpoint/forward/principal-headers.ts";
import type { Upstream } from "../../endpoint/forward/upstream.ts";

export type QueryStream = {
  readonly upstream: Upstream;
  readonly key: string;
  /** Under whose name and rights the engine host runs the statement. */
  readonly principal: DatabasePrincipal;
  /** Headers of the statement: our own user agent, and the trace context of the caller. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly statement: Buffer;
  /** Query id, database, settings and parameters, as in the URL of the ClickHouse HTTP interface. */
  readonly parameters: URLSearchParams;
  /** Our own headers of the response: names and values, alternating. */
  readonly headers: readonly string[];
  /** Ends the query. */
  readonly signal: AbortSignal;
};

/** Headers of the engine that callers need. */
const passedHeaders = new Set([
  "content-type",
  "x-clickhouse-query-id",
  "x-clickhouse-format",
  "x-clickhouse-timezone",
  "x-clickhouse-summary",
  "x-clickhouse-exception-tag",
]);

/**
 * Resolves when the response is sent, or cut off after its first byte. Rejects before the first byte: with a
 * ClickHouseException of the guard or the engine, NotReached, or the signal's reason. `onHead` is called before the
 * head is written.
 */
export async function streamQuery(query: QueryStream, response: ServerResponse, onHead: () => void): Promise<void> {
  const { upstream, signal, parameters, statement } = query;
  const headersOf = ({ status, headers }: AnswerHead) => {
    if (status !== 200) return undefined;
    onHead();
    return [...headers.filter(([name]) => passedHeaders.has(name.toLowerCase())).flat(), ...query.headers];
  };
  const headers = {
    ...query.requestHeaders,
    ...principalHeadersOf(query.principal),
    "x-millrace-key": query.key,
  };
  const body = { first: [statement], rest: undefined };
  try {
    const sent = { method: "POST", path: `/?${parameters}`, headers, body };
    await forwardUpstream({ upstream, signal, headersOf, ...sent }, response);
    // The client has gone, and nobody may take that for an answer.
    if (!response.headersSent) signal.throwIfAborted();
  } catch (error) {
    throw error instanceof Refused ? refusalIn(error.body) : error;
  }
}

/** The exception in a response that was refused: the text itself, or a member of an otherwise empty result. */
function refusalIn(body: string): ClickHouseException {
  const member = [...body.matchAll(/"exception": ?("(?:[^"\\]|\\.)*")/g)].at(-1)?.[1];
  if (member !== undefined) return parseException(JSON.parse(member) as string);
  return parseException(/<exception>(.*)<\/exception>/s.exec(body)?.[1] ?? body);
}

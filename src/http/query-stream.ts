/**
 * Sends a statement to a service's engine host, which judges it like every statement of a database client, and streams
 * the engine's response, bytes unchanged and no faster than the caller reads.
 */
import type { ServerResponse } from "node:http";
import { type ClickHouseException, clickHouseException, parseException } from "../clickhouse/exception.ts";
import type { DatabasePrincipal } from "../endpoint/auth/logins.ts";
import type { AnswerHead } from "../endpoint/proxy/answer-reader.ts";
import { principalHeadersOf } from "../endpoint/proxy/principal-headers.ts";
import type { Upstream } from "../endpoint/proxy/upstream.ts";
import type { UpstreamHandler } from "../endpoint/proxy/upstream-connection.ts";

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

/** The engine host could not be reached: nothing was sent. */
export class HostNotReached extends Error {}

/** Headers of the engine that callers need. */
const passedHeaders = new Set([
  "content-type",
  "x-clickhouse-query-id",
  "x-clickhouse-format",
  "x-clickhouse-timezone",
  "x-clickhouse-summary",
  "x-clickhouse-exception-tag",
]);
const maxErrorBytes = 65_536;

/**
 * Resolves when the response is sent, or cut off after its first byte. Rejects before the first byte: with a
 * ClickHouseException of the guard or the engine, HostNotReached, or the signal's reason. `onHead` is called before the
 * head is written.
 */
export async function streamQuery(query: QueryStream, response: ServerResponse, onHead: () => void): Promise<void> {
  query.signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const relay = new Relay(query, response, { onHead, resolve, reject });
  const sent = query.upstream.send(
    {
      method: "POST",
      path: `/?${query.parameters}`,
      headers: {
        ...query.requestHeaders,
        ...principalHeadersOf(query.principal),
        "x-millrace-key": query.key,
      },
      body: { first: [query.statement], rest: undefined },
    },
    relay,
  );
  const abort = () => sent.abort(query.signal.reason as Error);
  query.signal.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    query.signal.removeEventListener("abort", abort);
  }
}

type Outcome = { onHead(): void; resolve(): void; reject(error: Error): void };

class Relay implements UpstreamHandler {
  readonly #query: QueryStream;
  readonly #response: ServerResponse;
  readonly #outcome: Outcome;
  /** Collected instead of sent when the engine refused the statement. */
  #refusal: Buffer[] | undefined;
  #refusalBytes = 0;

  constructor(query: QueryStream, response: ServerResponse, outcome: Outcome) {
    this.#query = query;
    this.#response = response;
    this.#outcome = outcome;
  }

  onHead({ status, headers }: AnswerHead): void {
    if (status !== 200) {
      this.#refusal = [];
      return;
    }
    const passed = headers.filter(([name]) => passedHeaders.has(name.toLowerCase())).flat();
    this.#outcome.onHead();
    this.#response.writeHead(200, [...passed, ...this.#query.headers]);
  }

  onData(slice: Buffer, sent: () => void): void {
    if (this.#refusal === undefined) {
      this.#response.write(slice, sent);
      return;
    }
    // The slice's memory is used again.
    if (this.#refusalBytes < maxErrorBytes) this.#refusal.push(Buffer.from(slice));
    this.#refusalBytes += slice.length;
    sent();
  }

  onEnd(): void {
    if (this.#refusal === undefined) {
      this.#response.end();
      this.#outcome.resolve();
    } else this.#outcome.reject(refusalIn(Buffer.concat(this.#refusal).toString("utf8")));
  }

  onError(error: Error, notReached: boolean): void {
    if (this.#response.headersSent) {
      // Without the end of the message, the caller can detect that the result is incomplete.
      this.#response.write("", () => this.#response.socket?.destroySoon());
      this.#outcome.resolve();
    } else if (this.#query.signal.aborted) this.#outcome.reject(this.#query.signal.reason as Error);
    else if (notReached) this.#outcome.reject(new HostNotReached("the engine host does not answer", { cause: error }));
    else
      this.#outcome.reject(clickHouseException("NETWORK_ERROR", "The service's engine went away.", { cause: error }));
  }
}

/** The exception in a response that was refused: the text itself, or a member of an otherwise empty result. */
function refusalIn(body: string): ClickHouseException {
  const member = [...body.matchAll(/"exception": ?("(?:[^"\\]|\\.)*")/g)].at(-1)?.[1];
  if (member !== undefined) return parseException(JSON.parse(member) as string);
  return parseException(/<exception>(.*)<\/exception>/s.exec(body)?.[1] ?? body);
}

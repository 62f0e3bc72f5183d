/**
 * Forwards one request over HTTP and returns its response, bytes unchanged, with back-pressure in both directions. When
 * either side closes, so does the other; a truncated response ends in a broken connection, never as a complete one.
 */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { sleep } from "../../lib/abort.ts";
import { hopHeaders } from "../../lib/hop-headers.ts";
import type { Splicer } from "../splice/splicer.ts";
import type { AnswerHead } from "./answer-reader.ts";
import type { Upstream } from "./upstream.ts";
import type { UpstreamHandler, UpstreamRequest } from "./upstream-connection.ts";

export type UpstreamForward = Omit<UpstreamRequest, "splicing"> & {
  readonly upstream: Upstream;
  /** Moves large bodies. */
  readonly splicer?: Splicer | undefined;
  /** Cancels the request when it aborts. */
  readonly signal?: AbortSignal;
  /**
   * What the client gets of the head of the response, as names and values; undefined: nothing of the response, which is
   * a refusal. By default all but the headers of the connection.
   */
  readonly headersOf?: (head: AnswerHead) => OutgoingHttpHeaders | string[] | undefined;
};

/** The upstream could not be reached: nothing was sent, so the request may be forwarded again. */
export class NotReached extends Error {
  override readonly name = "NotReached";
}

/** The upstream has answered with a refusal, of which the client has seen nothing. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** Its first 64 KiB. */
  readonly body: string;

  constructor(body: string) {
    super("the upstream refused the request");
    this.body = body;
  }
}

/** Number and interval of attempts to reach an engine that accepts no connections: two seconds in all. */
const maxAttempts = 20;
const attemptPauseMs = 100;

/**
 * Repeats an attempt that rejects with NotReached: an engine that died a moment ago may not be known to be dead yet,
 * and then the request waits for its successor. After two seconds it rejects with the error of `unreachable`.
 */
export async function untilReached(
  attempt: () => Promise<void>,
  signal: AbortSignal,
  unreachable: () => Error,
): Promise<void> {
  for (let nth = 1; ; nth += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof NotReached)) throw error;
      if (nth >= maxAttempts) throw unreachable();
    }
    await sleep(attemptPauseMs, signal);
  }
}

const maxRefusalBytes = 65_536;
/** The header with the engine's error code. */
export const engineCodeHeader = "x-clickhouse-exception-code";

/**
 * Resolves when both sides are done. Rejects only before any part of the response is sent: with NotReached, with the
 * signal's reason, with Refused, or with an exception to send.
 */
export async function forwardUpstream(
  { upstream, signal, splicer, headersOf, ...request }: UpstreamForward,
  response: ServerResponse,
): Promise<void> {
  signal?.throwIfAborted();
  const { promise, ...settle } = Promise.withResolvers<void>();
  const splicing = splicer && { splicer, takeConnection: () => closesAfter(response) };
  const sent = upstream.send({ ...request, splicing }, new ResponseWriter({ response, signal, settle, headersOf }));
  const abort = () => {
    // A complete response closes as well; an error with its stack would cost each of them time.
    if (!response.writableFinished) sent.abort(signal?.reason ?? new Error("the client went away"));
  };
  response.on("close", abort);
  signal?.addEventListener("abort", abort, { once: true });
  if (response.destroyed) abort();
  try {
    await promise;
  } finally {
    response.off("close", abort);
    signal?.removeEventListener("abort", abort);
  }
}

/** Has the connection close after the response. Returns false when the response has begun or is gone. */
function closesAfter(response: ServerResponse): boolean {
  if (response.headersSent || response.destroyed) return false;
  response.setHeader("Connection", "close");
  return true;
}

type Settle = { resolve(): void; reject(error: Error): void };

type Written = {
  readonly response: ServerResponse;
  readonly signal: AbortSignal | undefined;
  readonly settle: Settle;
  readonly headersOf: UpstreamForward["headersOf"];
};

/** Writes one response of the upstream. */
class ResponseWriter implements UpstreamHandler {
  readonly #to: Written;
  /** Collected instead of sent. */
  #refusal: Buffer[] | undefined;
  #refusalBytes = 0;

  constructor(to: Written) {
    this.#to = to;
  }

  onHead(head: AnswerHead): void {
    const { response, headersOf } = this.#to;
    const headers = headersOf === undefined ? ownHeadersOf(head, response) : headersOf(head);
    if (headers === undefined) this.#refusal = [];
    else response.writeHead(head.status, headers);
  }

  onData(slice: Buffer, sent: () => void): void {
    if (this.#refusal === undefined) {
      this.#to.response.write(slice, sent);
      return;
    }
    // The slice's memory is used again.
    if (this.#refusalBytes < maxRefusalBytes) this.#refusal.push(Buffer.from(slice));
    this.#refusalBytes += slice.length;
    sent();
  }

  onEnd(): void {
    const { response, settle } = this.#to;
    if (this.#refusal !== undefined) {
      settle.reject(new Refused(Buffer.concat(this.#refusal).toString("utf8")));
      return;
    }
    response.end();
    settle.resolve();
  }

  onError(error: Error, notReached: boolean): void {
    const { response, signal, settle } = this.#to;
    if (response.destroyed) settle.resolve();
    else if (response.headersSent) {
      // The response is truncated, and without the end of the message the client can detect that.
      response.write("", () => response.socket?.destroySoon());
      settle.resolve();
    } else if (signal?.aborted) settle.reject(signal.reason as Error);
    else if (notReached) settle.reject(new NotReached("the upstream does not answer", { cause: error }));
    else settle.reject(clickHouseException("NETWORK_ERROR", "The service's engine went away.", { cause: error }));
  }
}

function ownHeadersOf({ headers }: AnswerHead, response: ServerResponse): OutgoingHttpHeaders {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    const known = name.toLowerCase();
    // Set separately so that it can be read again: the authenticator reports refusals.
    if (known === engineCodeHeader) response.setHeader(engineCodeHeader, value);
    if (!hopHeaders.has(known) && known !== "date")
      kept[name] = name in kept ? [kept[name] as string, value].flat() : value;
  }
  return kept;
}

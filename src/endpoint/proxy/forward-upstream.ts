/**
 * Forwards one request over HTTP and returns its response, bytes unchanged, with back-pressure in both directions. When
 * either side closes, so does the other; a truncated response ends in a broken connection, never as a complete one.
 */
import type { ServerResponse } from "node:http";
import { clickHouseException } from "../../clickhouse/exception.ts";
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
};

/** The upstream could not be reached: nothing was sent, so the request may be forwarded again. */
export class NotReached extends Error {
  override readonly name = "NotReached";
}

/** The header with the engine's error code. */
export const engineCodeHeader = "x-clickhouse-exception-code";
/** Response headers that belong to one connection only. */
const hopHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "date", "trailer", "upgrade"]);

/**
 * Resolves when both sides are done. Rejects only before any part of the response is sent: with NotReached, with the
 * signal's reason, or with an exception to send.
 */
export async function forwardUpstream(
  { upstream, signal, splicer, ...request }: UpstreamForward,
  response: ServerResponse,
): Promise<void> {
  signal?.throwIfAborted();
  const { promise, ...settle } = Promise.withResolvers<void>();
  const splicing = splicer && { splicer, takeConnection: () => closesAfter(response) };
  const sent = upstream.send({ ...request, splicing }, new Relay(response, signal, settle));
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

/** Relays one response. */
class Relay implements UpstreamHandler {
  readonly #response: ServerResponse;
  readonly #signal: AbortSignal | undefined;
  readonly #settle: Settle;

  constructor(response: ServerResponse, signal: AbortSignal | undefined, settle: Settle) {
    this.#response = response;
    this.#signal = signal;
    this.#settle = settle;
  }

  onHead({ status, headers }: AnswerHead): void {
    const kept: Record<string, string | string[]> = {};
    for (const [name, value] of headers) {
      const known = name.toLowerCase();
      // Set separately so that it can be read again: the authenticator reports refusals.
      if (known === engineCodeHeader) this.#response.setHeader(engineCodeHeader, value);
      if (!hopHeaders.has(known)) kept[name] = name in kept ? [kept[name] as string, value].flat() : value;
    }
    this.#response.writeHead(status, kept);
  }

  onData(slice: Buffer, sent: () => void): void {
    this.#response.write(slice, sent);
  }

  onEnd(): void {
    this.#response.end();
    this.#settle.resolve();
  }

  onError(error: Error, notReached: boolean): void {
    if (this.#response.destroyed) this.#settle.resolve();
    else if (this.#response.headersSent) {
      // The response is truncated, and without the end of the message the client can detect that.
      this.#response.write("", () => this.#response.socket?.destroySoon());
      this.#settle.resolve();
    } else if (this.#signal?.aborted) this.#settle.reject(this.#signal.reason as Error);
    else if (notReached) this.#settle.reject(new NotReached("the upstream does not answer", { cause: error }));
    else this.#settle.reject(clickHouseException("NETWORK_ERROR", "The service's engine went away.", { cause: error }));
  }
}

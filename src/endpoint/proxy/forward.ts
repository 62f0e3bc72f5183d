/**
 * Passes one request on over HTTP and its answer back, bytes as they are, with back-pressure both ways. Either side
 * going away ends the other; an answer that was cut off ends in a broken connection, never as a complete one.
 */
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { BatchWriter } from "../../lib/batch-writer.ts";
import type { Upstream } from "./upstream.ts";

export type Onward = {
  readonly upstream: Upstream;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | Readable | undefined;
  /** Ends the request when it aborts. */
  readonly signal?: AbortSignal;
};

/** The upstream could not be reached: nothing was sent, so the request may be forwarded again. */
export class NotReached extends Error {
  override readonly name = "NotReached";
}

/** Errors of connecting: nothing of the request has left. */
const connectErrors = new Set(["ECONNREFUSED", "ENOENT", "UND_ERR_CONNECT_TIMEOUT", "ENOTSOCK", "EACCES"]);
/** The engine's number of an error. */
export const engineCodeHeader = "x-clickhouse-exception-code";
/** Response headers that belong to one connection only. */
const hopHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "date", "trailer", "upgrade"]);

/**
 * Resolves when both sides are done. Rejects, only while nothing was sent back yet, with NotReached, with the signal's
 * reason, or with an exception to send.
 */
export function forward({ upstream, signal, ...request }: Onward, response: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const relay = new Relay(response, signal, resolve, reject);
    upstream.dispatch({ ...request, method: request.method as Dispatcher.HttpMethod }, relay);
  });
}

/** One answer on its way back. */
class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #writer: BatchWriter;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(
    response: ServerResponse,
    signal: AbortSignal | undefined,
    resolve: () => void,
    reject: (error: Error) => void,
  ) {
    this.#response = response;
    this.#writer = new BatchWriter(response);
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    response.on("close", this.#onClose);
    signal?.addEventListener("abort", this.#onClose, { once: true });
  }

  readonly #onClose = () => this.#controller?.abort(this.#signal?.reason ?? new Error("the client went away"));

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#response.destroyed || this.#signal?.aborted) this.#onClose();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    // Informational answers are between the upstream and us.
    if (status < 200) return;
    const kept: [string, string | string[]][] = Object.entries(headers).filter(
      ([name, value]) => value !== undefined && !hopHeaders.has(name),
    ) as [string, string | string[]][];
    // Set by itself, it can be read again: the door tells of refusals.
    const code = headers[engineCodeHeader];
    if (typeof code === "string") this.#response.setHeader(engineCodeHeader, code);
    const names = (controller.rawHeaders ?? []) as Buffer[];
    this.#response.writeHead(status, Object.fromEntries(kept.map(([name, value]) => [spelling(names, name), value])));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#writer.write(chunk)) return;
    controller.pause();
    this.#writer.onDrain(() => controller.resume());
  }

  onResponseEnd(): void {
    this.#leave();
    this.#writer.flush();
    this.#response.end();
    this.#resolve();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: NodeJS.ErrnoException): void {
    this.#leave();
    if (this.#response.destroyed) {
      this.#resolve();
      return;
    }
    if (this.#response.headersSent) {
      this.#writer.flush();
      // Without the end of the message the answer is cut off, and the client has to see that.
      this.#response.write("", () => this.#response.socket?.destroySoon());
      this.#resolve();
      return;
    }
    if (this.#signal?.aborted) this.#reject(this.#signal.reason as Error);
    else if (connectErrors.has(error.code ?? ""))
      this.#reject(new NotReached("the upstream does not answer", { cause: error }));
    else this.#reject(clickHouseException("NETWORK_ERROR", "The service's engine went away.", { cause: error }));
  }

  #leave(): void {
    this.#response.off("close", this.#onClose);
    this.#signal?.removeEventListener("abort", this.#onClose);
  }
}

/** The name of a header as the upstream wrote it; some clients look for exactly that. */
function spelling(raw: readonly Buffer[], name: string): string {
  for (let i = 0; i < raw.length; i += 2) {
    const given = String(raw[i]);
    if (given.length === name.length && given.toLowerCase() === name) return given;
  }
  return name;
}

/** A body whose beginning was read before. */
export async function* continued(first: readonly Buffer[], rest: Readable): AsyncIterable<Buffer> {
  yield* first;
  for await (const chunk of rest) yield chunk as Buffer;
}

/** The same as a stream; the rest as it is when nothing was read. */
export function bodyOf(first: readonly Buffer[], rest: Readable | undefined): Buffer | Readable | undefined {
  if (rest === undefined) return first.length === 0 ? undefined : Buffer.concat(first);
  return first.length === 0 ? rest : Readable.from(continued(first, rest), { objectMode: false });
}

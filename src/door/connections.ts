/**
 * An HTTP server that listens nowhere: connections are given to it, by a listener in this process or by another
 * process. It knows which of them wait for a request, and can let go of exactly those.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createServer } from "../lib/node-http.ts";

/** Statements in URLs of a megabyte are real. */
export const maxHeaderBytes = 2 * 1_048_576;
/** A connection without a request is closed after this. */
export const idleConnectionMs = 30_000;
/** The head of a request must be there after this; a sender that is slower, or silent, is closed. */
const headersTimeoutMs = 60_000;
const checkEveryMs = 5_000;

type Connection = {
  /** Requests whose answer has not left yet. */
  open: number;
  /** How many bytes had been read when the last request was over; more means that another one has begun. */
  readAtRest: number;
};

export type ConnectionsOptions = {
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
  /** Told when a connection begins with a request, and when it waits for the next one. */
  readonly onBusy?: (socket: Socket, busy: boolean) => void;
  readonly headersTimeoutMs?: number;
  readonly checkEveryMs?: number;
};

export class Connections {
  readonly #server: Server;
  readonly #onBusy: (socket: Socket, busy: boolean) => void;
  readonly #open = new Map<Socket, Connection>();
  #letGo = false;
  readonly #gone = new WeakSet<Socket>();
  readonly #whenEmpty = new Set<() => void>();

  constructor(options: ConnectionsOptions) {
    this.#onBusy = options.onBusy ?? (() => {});
    this.#server = createServer({
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: idleConnectionMs,
      headersTimeout: options.headersTimeoutMs ?? headersTimeoutMs,
      connectionsCheckingInterval: options.checkEveryMs ?? checkEveryMs,
      requestTimeout: 0,
    });
    // A server looks for connections whose time is up only once it has heard that it listens.
    this.#server.emit("listening");
    this.#server.on("request", (message: IncomingMessage, response: ServerResponse) => {
      this.#begin(message, response);
      options.onRequest(message, response);
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes over a connection. What it has sent so far must be unread. */
  give(socket: Socket): void {
    this.#open.set(socket, { open: 0, readAtRest: 0 });
    socket.once("close", () => {
      this.#open.delete(socket);
      if (this.#open.size > 0) return;
      for (const tell of this.#whenEmpty) tell();
    });
    this.#server.emit("connection", socket);
    socket.setTimeout(idleConnectionMs);
    // It may come paused, so that nothing of it was read before.
    socket.resume();
  }

  /**
   * Closes our end of every connection that waits for a request, now and as soon as it does, until `keep`. Nothing that
   * such a connection sends was read: whoever shares it can go on with it. Connections given meanwhile are served.
   */
  letGo(): void {
    this.#letGo = true;
    for (const socket of this.#open.keys()) this.#letGoIfAtRest(socket);
  }

  /** True for a closed connection that we let go of between two requests. */
  wasLetGo(socket: Socket): boolean {
    return this.#gone.has(socket);
  }

  /** Ends `letGo`. */
  keep(): void {
    this.#letGo = false;
  }

  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Resolves when there is no connection any more, or after `graceMs`. */
  async emptied(graceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#whenEmpty.delete(done);
        resolve();
      };
      const timer = setTimeout(done, graceMs);
      this.#whenEmpty.add(done);
    });
  }

  /** No answer under way is waited for longer than `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.letGo();
    await this.emptied(graceMs);
    this.closeAll();
    this.#server.close();
  }

  #begin(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.open += 1;
    this.#onBusy(socket, true);
    // From here on the server itself sets the time between two requests.
    socket.setTimeout(0);
    response.once("close", () => {
      connection.open -= 1;
      // The rest of a body that nobody waited for is still to come: then this is not the end of the request.
      connection.readAtRest = message.complete ? socket.bytesRead : -1;
      if (connection.open === 0 && message.complete) this.#onBusy(socket, false);
      if (this.#letGo) this.#letGoIfAtRest(socket);
    });
  }

  #letGoIfAtRest(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection?.open !== 0 || connection.readAtRest !== socket.bytesRead) return;
    this.#gone.add(socket);
    socket.destroy();
  }
}

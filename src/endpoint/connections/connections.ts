/**
 * An HTTP server without a listener: it adopts connections of a listener in this process or in another one. It knows
 * which connections wait for a request, and can release exactly those.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createServer } from "../../lib/node-http.ts";
import { networkOf } from "../auth/access-list.ts";
import { makeRoom } from "../auth/logged-in.ts";
import { aheadOf, clientAddressOf } from "./client-address.ts";
import {
  beyondBudget,
  type bodyProgress,
  type HeadBudget,
  isStalled,
  readOf,
  type WatchedConnection,
} from "./stalled.ts";

/**
 * Statements of a megabyte in URLs occur, and a ClickHouse server accepts no longer ones. A budget bounds their memory.
 */
const maxHeaderBytes = 1_114_112;
/** A connection without a request is closed after this time. */
const idleConnectionMs = 30_000;
/** The head of a request must be complete within this time; slower or silent senders are closed. */
const headersTimeoutMs = 30_000;
const checkEveryMs = 5_000;
const budgetEveryMs = 100;

export type ClientConnectionsOptions = {
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
  /** Called when a request begins on a connection, and when the connection waits for the next one. */
  readonly onBusy?: (socket: Socket, busy: boolean) => void;
  readonly headersTimeoutMs?: number;
  readonly checkEveryMs?: number;
  readonly headBudget?: HeadBudget;
  readonly bodyProgress?: typeof bodyProgress;
  readonly maxStrangers?: number;
  /** False: requests without a Host header are not refused before `onRequest`; default: true. */
  readonly requireHostHeader?: boolean;
};

export class ClientConnections {
  readonly #server: Server;
  readonly #onBusy: (socket: Socket, busy: boolean) => void;
  readonly #options: ClientConnectionsOptions;
  /** In order of arrival. */
  readonly #open = new Map<Socket, WatchedConnection>();
  #draining = false;
  #budgetTimer: NodeJS.Timeout | undefined;
  #bodyTimer: NodeJS.Timeout | undefined;
  readonly #drained = new WeakSet<Socket>();
  /** Not yet closed. */
  readonly #responses = new Set<ServerResponse>();
  readonly #whenEmpty = new Set<() => void>();

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
    this.#onBusy = options.onBusy ?? (() => {});
    this.#server = createServer({
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: idleConnectionMs,
      headersTimeout: options.headersTimeoutMs ?? headersTimeoutMs,
      connectionsCheckingInterval: options.checkEveryMs ?? checkEveryMs,
      requestTimeout: 0,
      requireHostHeader: options.requireHostHeader ?? true,
    });
    // An HTTP server checks connections for timeouts only after its `listening` event.
    this.#server.emit("listening");
    this.#server.on("request", (message: IncomingMessage, response: ServerResponse) => {
      this.#begin(message, response);
      options.onRequest(message, response);
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Adopts a connection. What it has sent so far must be unread, or be known to `setClient`. */
  adopt(socket: Socket): void {
    const network = networkOf(clientAddressOf(socket));
    const ahead = aheadOf(socket);
    const offset = ahead === undefined ? 0 : ahead.length - socket.bytesRead;
    const watched = { network, offset, open: 0, readAtRest: 0, readAtHead: 0, message: undefined, moved: undefined };
    this.#open.set(socket, watched);
    makeRoom(socket, this.#open, this.#options.maxStrangers);
    this.#watch();
    socket.once("close", () => {
      this.#open.delete(socket);
      if (this.#open.size > 0) return;
      this.#unwatch();
      for (const notify of this.#whenEmpty) notify();
    });
    if (ahead !== undefined && ahead.length > 0) socket.unshift(ahead);
    this.#server.emit("connection", socket);
    socket.setTimeout(idleConnectionMs);
    // It may be paused, so that none of its bytes were read before.
    socket.resume();
  }

  /**
   * Closes our end of every connection that waits for a request, now and whenever one does, until `endDrain`. Nothing
   * that such a connection sends was read, so the other holder of the socket can continue with it. Connections adopted
   * meanwhile are served.
   */
  drain(): void {
    this.#draining = true;
    this.#drainIdle();
  }

  /** True for a closed connection that was released between two requests. */
  wasDrained(socket: Socket): boolean {
    return this.#drained.has(socket);
  }

  /** Ends `drain`. */
  endDrain(): void {
    this.#draining = false;
  }

  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Resolves when no connection is left, or after `graceMs`. */
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

  /** Waits at most `graceMs` for responses in progress. */
  async close(graceMs: number): Promise<void> {
    this.drain();
    await this.emptied(graceMs);
    this.closeAll();
    this.#server.close();
  }

  #begin(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.open += 1;
    connection.message = message;
    connection.readAtHead = socket.bytesRead;
    this.#onBusy(socket, true);
    // Node's parser drops what arrives together with such a request: the answer to a later one would seem to be that of
    // the dropped one.
    if (message.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    // From here on the HTTP server itself applies the timeout between two requests.
    socket.setTimeout(0);
    this.#responses.add(response);
    response.once("close", () => {
      this.#responses.delete(response);
      connection.open -= 1;
      // If the rest of a body is still unread, this is not the end of the request.
      connection.readAtRest = message.complete ? readOf(socket, connection) : -1;
      if (connection.open === 0 && message.complete) this.#onBusy(socket, false);
      if (this.#draining) this.#drainIdle();
    });
  }

  /** Closes connections that wait for a request and of which nothing was read after the last one. */
  #drainIdle(): void {
    const used: Socket[] = [];
    for (const [socket, watched] of this.#open) {
      const { open, readAtRest } = watched;
      if (open !== 0 || readAtRest !== readOf(socket, watched) || socket.destroyed) continue;
      if (readAtRest === 0) {
        this.#drained.add(socket);
        socket.destroy();
      } else used.push(socket);
    }
    if (used.length === 0) return;
    // The HTTP server takes such a connection for idle, and would close it: its `close` event leads here again.
    for (const response of this.#responses) if (response.writableEnded) return;
    // More may have been read than was parsed: only the HTTP server knows whether another head has begun in it.
    this.#server.closeIdleConnections();
    for (const socket of used) if (socket.destroyed) this.#drained.add(socket);
  }

  #watch(): void {
    if (this.#budgetTimer !== undefined) return;
    const { headBudget, bodyProgress, checkEveryMs: every = checkEveryMs } = this.#options;
    this.#budgetTimer = setInterval(() => {
      for (const socket of beyondBudget(this.#open, headBudget)) socket.destroy();
    }, budgetEveryMs).unref();
    this.#bodyTimer = setInterval(() => {
      const now = performance.now();
      for (const [socket, watched] of this.#open) {
        if (isStalled(socket, watched, now, bodyProgress)) socket.destroy();
      }
    }, every).unref();
  }

  #unwatch(): void {
    clearInterval(this.#budgetTimer);
    clearInterval(this.#bodyTimer);
    this.#budgetTimer = undefined;
  }
}

/**
 * An HTTP server that listens nowhere: connections are given to it, by a listener in this process or by another
 * process. It knows which of them wait for a request, and can let go of exactly those.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createServer } from "../../lib/node-http.ts";
import { networkOf } from "../auth/access-list.ts";
import { isLoggedIn } from "../auth/logged-in.ts";
import { beyondBudget, type bodyProgress, type HeadBudget, hardlyMoves, type Watched } from "./watch.ts";

/** Statements in URLs of a megabyte are real, and a server reads no more. What they hold is bounded by a budget. */
export const maxHeaderBytes = 1_114_112;
/** A connection without a request is closed after this. */
export const idleConnectionMs = 30_000;
/** The head of a request must be there after this; a sender that is slower, or silent, is closed. */
const headersTimeoutMs = 30_000;
const checkEveryMs = 5_000;
const budgetEveryMs = 100;
/** Connections of one address on which nobody has logged in; beyond, the one that waits longest is closed. */
const maxStrangers = 500;

export type ConnectionsOptions = {
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
  /** Told when a connection begins with a request, and when it waits for the next one. */
  readonly onBusy?: (socket: Socket, busy: boolean) => void;
  readonly headersTimeoutMs?: number;
  readonly checkEveryMs?: number;
  readonly headBudget?: HeadBudget;
  readonly bodyProgress?: typeof bodyProgress;
  readonly maxStrangers?: number;
};

export class Connections {
  readonly #server: Server;
  readonly #onBusy: (socket: Socket, busy: boolean) => void;
  readonly #options: ConnectionsOptions;
  /** In the order in which they came. */
  readonly #open = new Map<Socket, Watched>();
  #letGo = false;
  #budgetTimer: NodeJS.Timeout | undefined;
  #bodyTimer: NodeJS.Timeout | undefined;
  readonly #gone = new WeakSet<Socket>();
  readonly #whenEmpty = new Set<() => void>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
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
    const network = networkOf(socket.remoteAddress ?? "");
    const watched = { network, open: 0, readAtRest: 0, readAtHead: 0, message: undefined, moved: undefined };
    this.#open.set(socket, watched);
    this.#makeRoom(network);
    this.#watch();
    socket.once("close", () => {
      this.#open.delete(socket);
      if (this.#open.size > 0) return;
      this.#unwatch();
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
    this.#letGoAtRest();
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
    connection.message = message;
    connection.readAtHead = socket.bytesRead;
    this.#onBusy(socket, true);
    // From here on the server itself sets the time between two requests.
    socket.setTimeout(0);
    response.once("close", () => {
      connection.open -= 1;
      // The rest of a body that nobody waited for is still to come: then this is not the end of the request.
      connection.readAtRest = message.complete ? socket.bytesRead : -1;
      if (connection.open === 0 && message.complete) this.#onBusy(socket, false);
      if (this.#letGo) this.#letGoAtRest();
    });
  }

  /** Closes what waits for a request and of which nothing was read beyond the last one. */
  #letGoAtRest(): void {
    const used: Socket[] = [];
    for (const [socket, { open, readAtRest }] of this.#open) {
      if (open !== 0 || readAtRest !== socket.bytesRead || socket.destroyed) continue;
      if (readAtRest === 0) {
        this.#gone.add(socket);
        socket.destroy();
      } else used.push(socket);
    }
    if (used.length === 0) return;
    // What was read may be more than was understood: only the server knows whether another head has begun in it.
    this.#server.closeIdleConnections();
    for (const socket of used) if (socket.destroyed) this.#gone.add(socket);
  }

  /** A few hundred strangers of one address may wait; who has logged in does not count. */
  #makeRoom(network: string): void {
    const most = this.#options.maxStrangers ?? maxStrangers;
    if (this.#open.size <= most) return;
    let strangers = 0;
    let first: Socket | undefined;
    for (const [socket, watched] of this.#open) {
      if (watched.network !== network || isLoggedIn(socket)) continue;
      strangers += 1;
      first ??= socket;
    }
    if (strangers > most) first?.destroy();
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
        if (hardlyMoves(socket, watched, now, bodyProgress)) socket.destroy();
      }
    }, every).unref();
  }

  #unwatch(): void {
    clearInterval(this.#budgetTimer);
    clearInterval(this.#bodyTimer);
    this.#budgetTimer = undefined;
  }
}

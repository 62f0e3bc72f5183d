/**
 * The host's end of handed-over connections: clients are authenticated here, and their requests are judged and
 * forwarded to the engine in this process. `src/endpoint/handoff/sender.ts` states what the other end may rely on.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import { EventCounter } from "../../lib/event-counter.ts";
import { type AccessEvent, anyPrincipal } from "../auth/events.ts";
import { Gatekeeper } from "../auth/gatekeeper.ts";
import { makeRoom, markLoggedIn } from "../auth/logged-in.ts";
import type { DatabasePrincipal, EndpointAccess } from "../auth/logins.ts";
import { aheadOf, setClient } from "../connections/client-address.ts";
import { ClientConnections } from "../connections/connections.ts";
import type { PipedClient } from "../native/pipe.ts";
import type { NativeSession } from "../native/session.ts";
import { BusyMarks } from "./busy-marks.ts";
import type { FromHost, ToHost } from "./messages.ts";
import type { NativeServer } from "./native-server.ts";
import { notAhead } from "./not-ahead.ts";
import type { QueryServer } from "./query-server.ts";
import { StatementMarks } from "./statement-marks.ts";

/** Minimum interval between reports of activity. */
const reportEveryMs = 250;
/** Connections of the native protocol that are busy are looked at again after this time. */
const releaseEveryMs = 50;
/** How long the error responses of cancelled queries may take to be sent. */
const cancelGraceMs = 1_000;

export class HandoffReceiver {
  readonly #queries: QueryServer;
  readonly #native: NativeServer;
  /** Open connections of the native protocol. */
  readonly #natives = new Map<Socket, { release(): void; end(exception: ClickHouseException): void }>();
  /** Those that run a query. */
  readonly #nativesRunning = new Set<Socket>();
  readonly #logger: LineLogger;
  readonly #connections: ClientConnections;
  readonly #marks: BusyMarks;
  readonly #statements: StatementMarks;
  readonly #ids = new WeakMap<Socket, number>();
  readonly #running = new Set<AbortController>();
  readonly #events = new EventCounter<AccessEvent>({
    flush: (events) => send({ type: "events", events }),
    overflow: anyPrincipal,
  });
  #gatekeeper: Gatekeeper | undefined;
  #lastAt = 0;
  #reporting: NodeJS.Timeout | undefined;
  #changed = false;

  constructor(options: { queries: QueryServer; native: NativeServer; logger: LineLogger; runDir: string }) {
    this.#queries = options.queries;
    this.#native = options.native;
    this.#logger = options.logger;
    this.#marks = new BusyMarks(options.runDir);
    this.#statements = new StatementMarks(options.runDir);
    this.#connections = new ClientConnections({
      onRequest: (message, response) => void this.#gatekeeper?.serve(message, response),
      onBusy: (socket, busy) => this.#marks.set(this.#ids.get(socket) as number, busy),
    });
  }

  /** Handles a message of the control plane. */
  onMessage(message: ToHost, socket: Socket | undefined): void {
    if (message.type === "admit") this.#admit(message.id, message.facts);
    else if (message.type === "connection") this.#take(message, socket);
    else if (message.type === "drain") void this.#drain(message);
  }

  #admit(id: number, facts: EndpointAccess): void {
    const onEvent = (event: AccessEvent) => this.#events.note(event);
    if (this.#gatekeeper !== undefined) this.#gatekeeper.update(facts);
    else this.#gatekeeper = new Gatekeeper({ facts, handler: this.#handle, logger: this.#logger, onEvent });
    send({ type: "admitted", id });
  }

  #take({ id, address, ahead, native }: Extract<ToHost, { type: "connection" }>, socket: Socket | undefined): void {
    if (socket === undefined) {
      send({ type: "closed", id });
      return;
    }
    // Before anything else: the number may have belonged to another connection. Bytes that were read ahead begin a
    // request, and only this process has them from now on.
    this.#marks.set(id, ahead !== undefined);
    if (ahead !== undefined) this.#statements.set(id, Buffer.alloc(0));
    if (address !== undefined || ahead !== undefined) {
      setClient(socket, { address, ahead: Buffer.from(ahead ?? "", "base64") });
    }
    this.#ids.set(socket, id);
    send({ type: "taken", id });
    // Like the sockets of an HTTP server: a client may close its sending side before it gets the response.
    socket.allowHalfOpen = true;
    socket.on("error", () => {});
    if (native !== undefined) {
      this.#takeNative(id, socket, native);
      return;
    }
    socket.once("close", () => send({ type: this.#connections.wasDrained(socket) ? "released" : "closed", id }));
    this.#connections.adopt(socket);
  }

  #takeNative(id: number, socket: Socket, native: NativeSession | "new"): void {
    const logins = this.#gatekeeper?.logins;
    let isReleased = false;
    socket.once("close", () => {
      this.#natives.delete(socket);
      this.#onRunning(socket, false);
      send({ type: isReleased ? "released" : "closed", id });
    });
    if (logins === undefined) return void socket.destroy();
    if (native !== "new") markLoggedIn(socket);
    const connection = this.#native.serve(socket, {
      logins,
      session: native === "new" ? undefined : native,
      ahead: aheadOf(socket) ?? Buffer.alloc(0),
      onSession: (session) => send({ type: "session", id, session }),
      onBusy: (busy) => this.#marks.set(id, busy),
      onRunning: (running) => this.#onRunning(socket, running),
      onStatement: (text) => this.#statements.set(id, text),
    });
    this.#natives.set(socket, {
      release: () => {
        isReleased = connection.release();
      },
      end: (exception) => connection.end(exception),
    });
    makeRoom(socket, this.#natives);
  }

  /** Takes a native connection that the control plane pipes: its client has logged in there. */
  takePiped(socket: Socket, { pipe, address, session }: PipedClient, ahead: Buffer): void {
    const logins = this.#gatekeeper?.logins;
    if (logins === undefined) return void socket.destroy();
    let current = session;
    markLoggedIn(socket);
    setClient(socket, { address });
    socket.on("error", () => {});
    socket.once("close", () => {
      this.#natives.delete(socket);
      this.#onRunning(socket, false);
    });
    const connection = this.#native.serve(socket, {
      ...{ logins, session, ahead },
      onSession: (changed) => {
        current = changed;
      },
      onBusy: () => {},
      onRunning: (running) => this.#onRunning(socket, running),
      onStatement: () => {},
    });
    this.#natives.set(socket, {
      release: () => {
        const received = connection.atRest();
        if (received !== undefined) send({ type: "rests", pipe, received, session: current });
      },
      end: (exception) => connection.end(exception),
    });
  }

  #onRunning(socket: Socket, running: boolean): void {
    const { size } = this.#nativesRunning;
    if (running) this.#nativesRunning.add(socket);
    else this.#nativesRunning.delete(socket);
    if (this.#nativesRunning.size !== size) this.#report();
  }

  readonly #handle = async (
    message: IncomingMessage,
    response: ServerResponse,
    _url: URL,
    principal: DatabasePrincipal,
  ) => {
    const gone = new AbortController();
    this.#running.add(gone);
    this.#report();
    // A query counts until its response is sent, which depends on the client's speed.
    response.once("close", () => {
      this.#running.delete(gone);
      this.#report();
    });
    const id = this.#ids.get(message.socket);
    const onStatement = (text: Buffer) => id !== undefined && this.#statements.set(id, text);
    await this.#queries.serve(message, response, principal, { signal: gone.signal, onStatement });
  };

  async #drain({ id, graceMs, unusedForMs }: Extract<ToHost, { type: "drain" }>): Promise<void> {
    const inUse = () => {
      this.#lastAt = notAhead(this.#lastAt);
      return unusedForMs !== undefined && (this.#count > 0 || Date.now() - this.#lastAt < unusedForMs);
    };
    if (unusedForMs === undefined) void this.#queries.settle?.();
    if (!inUse()) await this.#native.settle();
    if (!inUse()) {
      this.#connections.drain();
      await Promise.all([this.#connections.emptied(graceMs), this.#nativesReleased(graceMs)]);
    }
    // A connection that arrived in the last moment is served, and keeps the engine in use.
    const unused = !inUse();
    if (unused) await this.#end();
    this.#connections.endDrain();
    send({ type: "drained", id, unused });
  }

  /** Closes what is left after the grace period: running queries get an error, incomplete heads are closed. */
  async #end(): Promise<void> {
    for (const gone of this.#running) {
      gone.abort(stopped());
    }
    for (const native of this.#natives.values()) native.end(stopped());
    if (this.#running.size > 0) await this.#connections.emptied(cancelGraceMs);
    this.#connections.closeAll();
  }

  /** Releases connections of the native protocol as soon as they rest; resolves when none is left, or after a while. */
  async #nativesReleased(graceMs: number): Promise<void> {
    const until = performance.now() + graceMs;
    for (;;) {
      for (const native of this.#natives.values()) native.release();
      if (this.#natives.size === 0 || performance.now() >= until) return;
      await delay(Math.min(releaseEveryMs, graceMs));
    }
  }

  get #count(): number {
    return this.#running.size + this.#nativesRunning.size;
  }

  /** Reports a change to the control plane immediately, and further ones at intervals. */
  #report(): void {
    this.#lastAt = Date.now();
    this.#changed = true;
    if (this.#reporting !== undefined) return;
    const report = () => {
      this.#reporting = undefined;
      if (!this.#changed) return;
      this.#changed = false;
      send({ type: "activity", running: this.#count, lastAt: this.#lastAt });
      this.#reporting = setTimeout(report, reportEveryMs);
    };
    report();
  }
}

function stopped(): ClickHouseException {
  return clickHouseException("NETWORK_ERROR", "The service is being stopped: the query was cancelled.");
}

function send(message: FromHost): void {
  // Without the control plane this process is about to exit.
  process.send?.(message, undefined, {}, () => {});
}

/**
 * The host's end of connections that were handed over: the door stands here then, and a visitor's request is judged
 * and passed on to the engine in this process. See `src/endpoint/handoff/sender.ts` for what the other end may rely on.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { EventTally } from "../../lib/event-tally.ts";
import type { Logger } from "../../lib/logger.ts";
import { Door, type DoorFacts, type Visitor } from "../auth/door.ts";
import { anyVisitor, type DoorEvent } from "../auth/events.ts";
import { Connections } from "../connections/connections.ts";
import { BusyMarks } from "./busy-marks.ts";
import type { FromHost, ToHost } from "./messages.ts";
import type { QueryServer } from "./query-server.ts";
import { StatementMarks } from "./statement-marks.ts";

/** Reports of activity are at least this far apart. */
const reportEveryMs = 250;
/** How long the clear errors of cancelled queries may take to leave. */
const cancelGraceMs = 1_000;

export class Front {
  readonly #queries: QueryServer;
  readonly #logger: Logger;
  readonly #connections: Connections;
  readonly #marks: BusyMarks;
  readonly #statements: StatementMarks;
  readonly #ids = new WeakMap<Socket, number>();
  readonly #running = new Set<AbortController>();
  readonly #events = new EventTally<DoorEvent>({
    flush: (events) => say({ type: "events", events }),
    overflow: anyVisitor,
  });
  #door: Door | undefined;
  #lastAt = 0;
  #reporting: NodeJS.Timeout | undefined;
  #changed = false;

  constructor(options: { queries: QueryServer; logger: Logger; runDir: string }) {
    this.#queries = options.queries;
    this.#logger = options.logger;
    this.#marks = new BusyMarks(options.runDir);
    this.#statements = new StatementMarks(options.runDir);
    this.#connections = new Connections({
      onRequest: (message, response) => void this.#door?.serve(message, response),
      onBusy: (socket, busy) => this.#marks.set(this.#ids.get(socket) as number, busy),
    });
  }

  /** Does what the control plane says. */
  hear(message: ToHost, socket: Socket | undefined): void {
    if (message.type === "admit") this.#admit(message.id, message.facts);
    else if (message.type === "connection") this.#take(message.id, socket);
    else if (message.type === "drain") void this.#drain(message);
  }

  #admit(id: number, facts: DoorFacts): void {
    const onEvent = (event: DoorEvent) => this.#events.note(event);
    if (this.#door !== undefined) this.#door.update(facts);
    else this.#door = new Door({ facts, carry: this.#carry, logger: this.#logger, onEvent });
    say({ type: "admitted", id });
  }

  #take(id: number, socket: Socket | undefined): void {
    if (socket === undefined) {
      say({ type: "closed", id });
      return;
    }
    // Before anything that follows from it: the number may have been another connection's.
    this.#marks.set(id, false);
    this.#ids.set(socket, id);
    say({ type: "taken", id });
    // As the sockets of an HTTP server are: a client may have sent all it wants to say before it is answered.
    socket.allowHalfOpen = true;
    socket.on("error", () => {});
    socket.once("close", () => say({ type: this.#connections.wasLetGo(socket) ? "released" : "closed", id }));
    this.#connections.give(socket);
  }

  readonly #carry = async (message: IncomingMessage, response: ServerResponse, _url: URL, visitor: Visitor) => {
    const gone = new AbortController();
    this.#running.add(gone);
    this.#report();
    // Over is a query when its answer has left, which a slow client decides.
    response.once("close", () => {
      this.#running.delete(gone);
      this.#report();
    });
    const id = this.#ids.get(message.socket);
    const onStatement = (text: Buffer) => id !== undefined && this.#statements.set(id, text);
    await this.#queries.serve(message, response, visitor, { signal: gone.signal, onStatement });
  };

  async #drain({ id, graceMs, unusedForMs }: Extract<ToHost, { type: "drain" }>): Promise<void> {
    const inUse = () =>
      unusedForMs !== undefined && (this.#running.size > 0 || Date.now() - this.#lastAt < unusedForMs);
    if (!inUse()) {
      this.#connections.letGo();
      await this.#connections.emptied(graceMs);
    }
    // One that came in the last moment is answered, and keeps the engine.
    const unused = !inUse();
    if (unused) await this.#end();
    this.#connections.keep();
    say({ type: "drained", id, unused });
  }

  /** What is left after the grace: running queries get an error, and heads of requests that do not arrive the end. */
  async #end(): Promise<void> {
    for (const gone of this.#running) {
      gone.abort(clickHouseException("NETWORK_ERROR", "The service is being stopped: the query was cancelled."));
    }
    if (this.#running.size > 0) await this.#connections.emptied(cancelGraceMs);
    this.#connections.closeAll();
  }

  /** Tells the control plane of a change at once, and of further ones in intervals. */
  #report(): void {
    this.#lastAt = Date.now();
    this.#changed = true;
    if (this.#reporting !== undefined) return;
    const report = () => {
      this.#reporting = undefined;
      if (!this.#changed) return;
      this.#changed = false;
      say({ type: "activity", running: this.#running.size, lastAt: this.#lastAt });
      this.#reporting = setTimeout(report, reportEveryMs);
    };
    report();
  }
}

function say(message: FromHost): void {
  // Without the other end this process is about to end itself.
  process.send?.(message, undefined, {}, () => {});
}

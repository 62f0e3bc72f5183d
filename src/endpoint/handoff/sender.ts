/**
 * The control plane's end of handing connections over to an engine host. The connection is shared, not moved: this
 * process keeps its end open without reading, so that a connection can return between two requests, and nothing that a
 * client has sent is lost when the host releases it. When the host dies, connections with a request in progress are
 * closed, and the others return as well.
 */
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { ClickHouseException, clickHouseException } from "../../clickhouse/exception.ts";
import { AppError } from "../../lib/errors.ts";
import type { AccessEvents } from "../auth/events.ts";
import type { EndpointAccess } from "../auth/logins.ts";
import { aheadOf, forgetAhead, namedClientOf } from "../connections/client-address.ts";
import type { NativeSession } from "../native/session.ts";
import { BusyMarksReader } from "./busy-marks.ts";
import { activityOf, eventsOf, insertsOf, sessionOf } from "./from-host.ts";
import {
  type AccessError,
  type Activity,
  type FromHost,
  type InsertNumbers,
  maxConnections,
  noInserts,
  type ToHost,
} from "./messages.ts";
import { notAhead } from "./not-ahead.ts";
import { StatementMarksReader } from "./statement-marks.ts";

const answerTimeoutMs = 5_000;

type TakeBack = (socket: Socket, native: NativeSession | undefined) => void;
type Held = { readonly socket: Socket; readonly takeBack: TakeBack; taken: boolean; native: NativeSession | undefined };

export class HandoffSender {
  readonly #child: ChildProcess;
  readonly #held = new Map<number, Held>();
  readonly #calls = new Map<number, (unused: boolean) => void>();
  readonly #runDir: string;
  /** Native connections that pass through this process, by the name of their pipe. */
  readonly pipes = new Map<string, (received: number, session: NativeSession) => void>();
  #marks: BusyMarksReader | undefined;
  #statements: StatementMarksReader | undefined;
  /** Numbers of closed connections, for reuse. */
  readonly #freeIds: number[] = [];
  #connectionIds = 0;
  #callIds = 0;
  #ended = false;
  #activity: Activity = { running: 0, lastAt: 0 };
  #inserts: InsertNumbers = noInserts;
  /** Receives logins and refusals of the host, once a second. */
  onEvents: (events: AccessEvents) => void = () => {};
  /** Applies statements about users, roles and grants. Rejects with the exception for the client. */
  onAccess: (change: unknown) => Promise<void> = async () => {
    throw clickHouseException("NETWORK_ERROR", "The service is being started or stopped: repeat the statement.");
  };

  /** `runDir` is the host's run directory. */
  constructor(child: ChildProcess, runDir: string) {
    this.#child = child;
    this.#runDir = runDir;
    child.on("message", (message) => this.#onMessage(message as FromHost));
    child.once("exit", () => {
      this.#ended = true;
      this.#activity = { ...this.#activity, running: 0 };
    });
    // Later than "exit": every message that the host sent before it ended has been received.
    child.once("close", () => this.#close());
    // A write to a host that has just ended; `close` follows.
    child.on("error", () => {});
  }

  /** False once the process has ended. */
  get alive(): boolean {
    return !this.#ended;
  }

  /** False when the host has ended or holds its maximum of connections. */
  get open(): boolean {
    return !this.#ended && this.#held.size < maxConnections;
  }

  /** Connections that the host has, or is about to receive. */
  get held(): number {
    return this.#held.size;
  }

  /** As last reported: at most a quarter of a second old while queries start and end. */
  get activity(): Activity {
    const { running, lastAt } = this.#activity;
    this.#activity = { running, lastAt: notAhead(lastAt) };
    return this.#activity;
  }

  /** Asynchronous inserts, as last reported. */
  get inserts(): InsertNumbers {
    return this.#inserts;
  }

  /**
   * Sets users and access list; must precede the first connection. Resolves when they hold for every later request,
   * also on open connections, or when the host has ended. Rejects when the host does not answer.
   */
  async admit(facts: EndpointAccess): Promise<void> {
    await this.#call((id) => ({ type: "admit", id, facts }), answerTimeoutMs);
  }

  /**
   * Hands over a connection of which nothing was read but what `setClient` knows. `takeBack` receives it when the host
   * did not take it, released it between two requests, or died between two requests; otherwise it is closed when the
   * host has closed it or has died. `native` is the session of a connection of the native protocol, and `takeBack`
   * receives the one that it has then.
   */
  send(socket: Socket, takeBack: TakeBack, native?: NativeSession | "new"): void {
    try {
      this.#marks ??= new BusyMarksReader(this.#runDir);
      this.#statements ??= new StatementMarksReader(this.#runDir);
    } catch {
      // The host has ended, and its run directory is deleted.
      takeBack(socket, native === "new" ? undefined : native);
      return;
    }
    const id = this.#freeIds.pop() ?? this.#connectionIds++;
    this.#held.set(id, { socket, takeBack, taken: false, native: native === "new" ? undefined : native });
    const [address, ahead] = [namedClientOf(socket), aheadOf(socket)];
    const message: ToHost = {
      ...{ type: "connection", id },
      ...(address === undefined ? {} : { address }),
      ...(ahead === undefined || ahead.length === 0 ? {} : { ahead: ahead.toString("base64") }),
      ...(native === undefined ? {} : { native }),
    };
    this.#child.send(message, socket, { keepOpen: true }, (error) => {
      // Not at once: whoever sends it to this host again would do so for ever, before the host's end is seen.
      if (error !== null) setImmediate(() => this.#takeBack(id));
    });
  }

  /**
   * Takes every connection back between two requests. With `unusedForMs` only when no query has run for that time:
   * false means that one has, or that one arrived meanwhile, and that the engine should stay in service. Without it,
   * queries that run longer than `graceMs` are cancelled with a clear error. No connection may be handed over
   * meanwhile.
   */
  async drain(options: { graceMs: number; unusedForMs?: number }): Promise<boolean> {
    return await this.#call((id) => ({ type: "drain", id, ...options }), options.graceMs + answerTimeoutMs);
  }

  async #call(message: (id: number) => ToHost, timeoutMs: number): Promise<boolean> {
    this.#callIds += 1;
    const id = this.#callIds;
    return await new Promise<boolean>((resolve, reject) => {
      if (this.#ended) return resolve(true);
      const timer = setTimeout(() => {
        this.#calls.delete(id);
        reject(new Error(`the engine host did not answer within ${timeoutMs} ms`));
      }, timeoutMs);
      this.#calls.set(id, (unused) => {
        clearTimeout(timer);
        this.#calls.delete(id);
        resolve(unused);
      });
      // A failed send means that the host has ended, which answers every call.
      this.#child.send(message(id), () => {});
    });
  }

  #onMessage(message: FromHost): void {
    if (message.type === "activity") this.#activity = activityOf(message);
    else if (message.type === "inserts") this.#inserts = insertsOf(message.numbers);
    else if (message.type === "events") this.onEvents(eventsOf(message.events));
    else if (message.type === "access") void this.#changeAccess(message.id, message.change);
    else if (message.type === "admitted") this.#calls.get(message.id)?.(true);
    else if (message.type === "drained") this.#calls.get(message.id)?.(message.unused);
    else if (message.type === "released") this.#takeBack(message.id);
    else if (message.type === "closed") this.#drop(message.id);
    else if (message.type === "rests") this.pipes.get(message.pipe)?.(message.received, sessionOf(message.session));
    else if (message.type === "session") {
      const held = this.#held.get(message.id);
      if (held !== undefined) held.native = sessionOf(message.session);
    } else if (message.type === "taken") {
      const held = this.#held.get(message.id);
      if (held === undefined) return;
      held.taken = true;
      forgetAhead(held.socket);
    }
  }

  async #changeAccess(id: number, change: unknown): Promise<void> {
    const error = await this.onAccess(change).then(
      () => undefined,
      (reason: unknown) => accessErrorOf(reason),
    );
    const answer: ToHost = { type: "accessChanged", id, ...(error === undefined ? {} : { error }) };
    if (!this.#ended && this.#child.connected) this.#child.send(answer, () => {});
  }

  #takeBack(id: number): void {
    const held = this.#forget(id);
    held?.takeBack(held.socket, held.native);
  }

  #drop(id: number): void {
    this.#forget(id)?.socket.destroy();
  }

  #forget(id: number): Held | undefined {
    const held = this.#held.get(id);
    if (this.#held.delete(id)) this.#freeIds.push(id);
    return held;
  }

  /** The beginnings of the running statements, without texts in quotes; available until the process is closed. */
  statementsInHand(): string[] {
    const busy = [...this.#held].filter(([id, { taken }]) => taken && this.#marks?.isBusy(id) === true);
    return busy.map(([id]) => this.#statements?.get(id) ?? "").filter((text) => text !== "");
  }

  #close(): void {
    for (const answer of this.#calls.values()) answer(true);
    for (const [id, { taken }] of [...this.#held]) {
      if (taken && this.#marks?.isBusy(id) !== false) this.#drop(id);
      else this.#takeBack(id);
    }
    this.#marks?.close();
    this.#statements?.close();
  }
}

/** Private details stay here. */
function accessErrorOf(reason: unknown): AccessError {
  const shown =
    reason instanceof ClickHouseException
      ? reason
      : clickHouseException("BAD_ARGUMENTS", reason instanceof AppError ? reason.message : "The statement failed.");
  return { code: shown.code, codeName: shown.codeName, message: shown.message };
}

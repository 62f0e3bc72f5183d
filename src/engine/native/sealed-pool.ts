/**
 * Opens connections to the engine's native port. One for a single query is opened ahead of it, because that takes as
 * long as a small insert.
 */
import { clickHouseException } from "../../clickhouse/exception.ts";
import { ourRevision } from "../../endpoint/native/hello.ts";
import { engineRevision, type NativePort, SealedConnection } from "./sealed-connection.ts";
import { type AskAsUser, requireDatabase } from "./session-statement.ts";

/** Sessions that the engine keeps: each costs it a thread, and holds its service awake. */
const mostSessions = 100;

/** How long a connection waits for the next query of a single use. */
const spareMs = 5_000;

type Spare = { readonly connection: Promise<SealedConnection>; readonly timer: NodeJS.Timeout };

export class SealedPool {
  readonly #port: NativePort;
  readonly #ask: AskAsUser;
  readonly #spares = new Map<string, Spare>();
  #sessions = 0;

  /** `ask` asks as a user that sees every database. */
  constructor(port: NativePort, ask: AskAsUser) {
    this.#port = port;
    this.#ask = ask;
  }

  /**
   * A connection for sealed queries; with `user` a session of the engine's own, in which that user has logged in.
   * Rejects with UNKNOWN_DATABASE, when the engine does not answer, and when there are too many sessions.
   */
  async open(clientRevision: number, database: string, user?: string): Promise<SealedConnection> {
    // A handshake with a database that does not exist ends the engine library.
    if (database !== "" && (database !== "default" || user !== undefined)) await requireDatabase(database, this.#ask);
    if (user === undefined) return await SealedConnection.open(this.#port, engineRevision(clientRevision), database);
    if (this.#sessions >= mostSessions) {
      const text = `A service can have ${mostSessions} native connections with temporary tables or roles.`;
      throw clickHouseException("TOO_MANY_SIMULTANEOUS_QUERIES", text);
    }
    this.#sessions += 1;
    const leave = () => {
      this.#sessions -= 1;
    };
    try {
      const revision = Math.min(ourRevision, clientRevision);
      const connection = await SealedConnection.open(this.#port, revision, database, user);
      connection.socket.once("close", leave);
      return connection;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** A connection for one query. The next one of its kind is opened meanwhile. */
  async takeForOne(clientRevision: number, database: string): Promise<SealedConnection> {
    const key = `${engineRevision(clientRevision)} ${database}`;
    const spare = this.#spares.get(key);
    if (spare !== undefined) this.#forget(key, spare);
    // Behind the query that is sent now, which would wait for it.
    setImmediate(() => this.#prepare(key, clientRevision, database));
    const ready = await spare?.connection.catch(() => undefined);
    return ready?.isOpen === true ? ready : await this.open(clientRevision, database);
  }

  #prepare(key: string, clientRevision: number, database: string): void {
    if (this.#spares.has(key)) return;
    const connection = this.open(clientRevision, database);
    const timer = setTimeout(() => {
      this.#forget(key, spare);
      connection.then((open) => open.end()).catch(() => {});
    }, spareMs);
    const spare = { connection, timer: timer.unref() };
    connection.catch(() => this.#forget(key, spare));
    this.#spares.set(key, spare);
  }

  #forget(key: string, spare: Spare): void {
    clearTimeout(spare.timer);
    if (this.#spares.get(key) === spare) this.#spares.delete(key);
  }
}

/**
 * Answers on a connection that is kept for further queries. They are passed on unread, and their end is a guess: the
 * last byte, or the first one of an exception. The engine is asked where the guess matters.
 */
import type { Socket } from "node:net";
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { serverPackets } from "../../endpoint/native/hello.ts";
import { ClientGone } from "../../endpoint/native/input.ts";
import { InsertAnswer } from "./insert-answer.ts";
import type { SealedQuery } from "./query-packet.ts";
import type { SealedConnection } from "./sealed-connection.ts";

/** A connection whose last answer may or may not have ended. */
export type Unsettled = {
  /** The id of its last query; undefined: it has none. */
  readonly unsettled: string | undefined;
  /** Tells whether the engine still runs it. */
  settle(isRunning: boolean): void;
};

/** Asks the engine which of the queries run. Never rejects. */
export async function settle(client: Pick<ClickHouseClient, "rows">, sessions: readonly Unsettled[]): Promise<void> {
  if (sessions.length === 0) return;
  const asked = sessions.map((session) => ({ session, id: session.unsettled }));
  const sql = "SELECT query_id FROM system.processes";
  const rows = await client.rows<{ query_id: string }>(sql, { settings: { log_queries: 0 } }).catch(() => undefined);
  if (rows === undefined) return;
  const running = new Set(rows.map(({ query_id }) => query_id));
  // The answer says nothing of a query that has begun meanwhile.
  for (const { session, id = "" } of asked) if (session.unsettled === id) session.settle(running.has(id));
}

export type KeptOptions = {
  readonly database: string;
  /** The user that has logged in, of a session that the engine keeps. */
  readonly user: string | undefined;
  /** Called when the answer seems to have ended, or goes on after all. */
  readonly onRest: (atRest: boolean) => void;
  /** The engine's code, when the whole answer is an exception. */
  readonly onException: (code: number) => void;
};

/** Follows one answer after another from the engine to the client. */
export class KeptAnswers {
  readonly engine: SealedConnection;
  readonly options: KeptOptions;
  #queryId: string | undefined;
  #take: ((bytes: Buffer) => void) | undefined;
  #isFirst = false;
  #isException = false;
  #atRest = true;

  constructor(engine: SealedConnection, client: Socket, options: KeptOptions) {
    this.engine = engine;
    this.options = options;
    engine.onBytes = (bytes) => {
      if (this.#take !== undefined) return this.#take(bytes);
      client.write(bytes, engine.hold());
      this.#look(bytes);
    };
  }

  /** The last query, when something of its answer has arrived: the engine may not know yet one without an answer. */
  get unsettled(): string | undefined {
    return this.#isFirst ? undefined : this.#queryId;
  }

  /** True when bytes of an answer have arrived, and its end has not. */
  get isUnderWay(): boolean {
    return !this.#isFirst && !this.#atRest;
  }

  /** Runs a query, whose answer goes to the client. */
  query(query: SealedQuery): void {
    this.#queryId = query.id;
    this.engine.query(query);
    // The engine works meanwhile, and no byte of its answer is read before this turn ends.
    this.#isFirst = true;
    this.#isException = false;
    this.#setRest(false);
  }

  /** Runs an INSERT whose answer the client does not get. Rejects when the connection ends before it. */
  async insert(query: SealedQuery): Promise<InsertAnswer> {
    const engine = this.engine;
    // One that has closed while the client sent its data tells it no more.
    if (!engine.isOpen) throw new ClientGone();
    const answer = new InsertAnswer(false, engine.revision);
    const { promise, resolve, reject } = Promise.withResolvers<InsertAnswer>();
    const onClose = () => reject(new ClientGone());
    let waits = true;
    this.#take = (bytes) => {
      const state = answer.read(bytes);
      if (state === "ended") resolve(answer);
      else if (state === "unknown") engine.end();
      else if (answer.columns !== undefined && waits) {
        waits = false;
        engine.endData();
      }
    };
    engine.socket.once("close", onClose);
    engine.query({ ...query, compressed: false });
    try {
      const { code } = await promise;
      if (code !== undefined) this.options.onException(code);
      return answer;
    } finally {
      engine.socket.off("close", onClose);
      this.#take = undefined;
    }
  }

  /** The engine says that nothing runs any more. */
  finish(): void {
    this.#setRest(true);
  }

  #look(chunk: Buffer): void {
    if (this.#isFirst) {
      this.#isFirst = false;
      this.#isException = chunk[0] === serverPackets.exception;
      if (this.#isException && chunk.length >= 5) this.options.onException(chunk.readInt32LE(1));
    }
    this.#setRest(this.#isException || chunk.at(-1) === serverPackets.endOfStream);
  }

  #setRest(atRest: boolean): void {
    if (atRest === this.#atRest) return;
    this.#atRest = atRest;
    this.options.onRest(atRest);
  }
}

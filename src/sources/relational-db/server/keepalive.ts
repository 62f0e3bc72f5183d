/**
 * Connections over a network that may swallow everything without a word. A server that works at a query says nothing
 * either, so when nothing has come for a while another connection asks it what it does.
 */
import pg from "pg";

/** A connection whose server does not answer is dropped this long after its end was requested. */
const closeTimeoutMs = 3_000;
/** Looks within the time of an idle timeout. */
const looks = 4;

/** What `pg` has without declaring it. */
type Inner = {
  readonly connection: { readonly stream: Wire };
  readonly readyForQuery: boolean;
  readonly processID: number;
};
type Wire = {
  readonly bytesRead: number;
  isPaused(): boolean;
  destroy(error?: Error): void;
};

export class SourceClient extends pg.Client {
  #timer: NodeJS.Timeout | undefined;

  /** Resolves also when the server does not answer the end of the session. */
  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override async end(): Promise<void> {
    clearInterval(this.#timer);
    using _ = setTimeout(() => this.drop(), closeTimeoutMs);
    await super.end();
  }

  /** Ends the session, and does not fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch(() => {});
  }

  /**
   * Breaks the connection when a query has brought nothing for `idleTimeoutMs` and `isQueryActive`, asked on another
   * connection with the process id of this one, is not true. Time in which nothing is read does not count.
   */
  breakWhenIdle(idleTimeoutMs: number, isAtWork: (pid: number) => Promise<boolean>): void {
    let seen = -1;
    let silent = 0;
    // Looks are counted, not time: a process that was stopped for a while has not listened.
    const look = () => {
      const { bytesRead } = this.#wire;
      const isWaiting = !this.#inner.readyForQuery && !this.#wire.isPaused();
      silent = isWaiting && bytesRead === seen ? silent + 1 : 0;
      seen = bytesRead;
      if (silent < looks) return;
      silent = Number.NEGATIVE_INFINITY;
      void isAtWork(this.#inner.processID)
        .catch(() => false)
        .then((works) => {
          silent = 0;
          if (!works && this.#wire.bytesRead === seen && !this.#inner.readyForQuery) this.breakIdle(idleTimeoutMs);
        });
    };
    this.#timer = setInterval(look, idleTimeoutMs / looks);
    this.#timer.unref();
    this.once("end", () => clearInterval(this.#timer));
  }

  /** Process id of the session at the server. */
  get serverPid(): number {
    return this.#inner.processID;
  }

  /** Closes the connection without ending the session. */
  drop(error?: Error): void {
    this.#wire.destroy(error);
  }

  /** Its queries fail as those of a broken connection do. */
  breakIdle(idleTimeoutMs: number): void {
    const seconds = Math.round(idleTimeoutMs / 1000);
    const error = new Error(`nothing has come from the server for ${seconds} s`);
    this.drop(Object.assign(error, { code: "ETIMEDOUT" }));
  }

  get #inner(): Inner {
    return this as unknown as Inner;
  }

  get #wire(): Wire {
    return this.#inner.connection.stream;
  }
}

/** True while the server process works at a query: not when it waits for the client, or is gone. */
export async function isQueryActive(client: pg.Client, pid: number): Promise<boolean> {
  const { rows } = await client.query<{ works: boolean }>(
    `SELECT state = 'active' AND wait_event_type IS DISTINCT FROM 'Client' AS works
     FROM pg_catalog.pg_stat_activity WHERE pid = $1`,
    [pid],
  );
  return rows[0]?.works === true;
}

/**
 * Receives notifications on a connection of its own. What is sent while there is no connection is lost; a listener is
 * therefore called after every connection, too. See NOTIFY in `docs/decisions/0017-leases.md`.
 */
import { Socket } from "node:net";
import pg from "pg";
import { sleep } from "../../lib/abort.ts";
import { Backoff } from "../../lib/backoff.ts";
import { settlesWithin } from "../../lib/timeout.ts";

export type ListenerOptions = {
  /** Names the host that is the primary now. */
  readonly login: () => pg.ClientConfig;
  readonly channel: string;
  /** Told the first error of each time without a connection. */
  readonly onLost: (error: Error) => void;
};

/** Called with the text of a notification, and with undefined after a connection: there may have been some. */
export type Heard = (payload: string | undefined) => void;

const pauses = { baseMs: 200, capMs: 10_000 };
/** A connection whose other end has vanished is silent, like one without news. */
const lookEveryMs = 20_000;
const answerMs = 5_000;
const closeMs = 1_000;

export class PostgresListener {
  readonly #options: ListenerOptions;
  readonly #closed = new AbortController();
  readonly #listeners: Heard[] = [];
  #running: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Connects with the first listener, and again whenever the connection is lost. */
  listen(heard: Heard): void {
    this.#listeners.push(heard);
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    const backoff = new Backoff(pauses);
    while (!signal.aborted) {
      try {
        await this.#listenOnce(() => backoff.reset());
      } catch (error) {
        if (backoff.attempts === 0 && !signal.aborted) this.#options.onLost(error as Error);
      }
      await sleep(backoff.next(), signal);
    }
  }

  /** Resolves when closed; throws when the connection cannot be made, or is lost. */
  async #listenOnce(connected: () => void): Promise<void> {
    const { login, channel } = this.#options;
    const { signal } = this.#closed;
    const socket = new Socket();
    const client = new pg.Client({ ...login(), query_timeout: answerMs, stream: () => socket });
    const over = Promise.withResolvers<void>();
    // It may be rejected while something else is awaited.
    over.promise.catch(() => {});
    client.on("error", over.reject);
    client.on("end", () => over.reject(new Error("the connection for notifications has ended")));
    client.on("notification", ({ payload }) => this.#tell(payload));
    let isConnected = false;
    const close = () => {
      over.resolve();
      if (!isConnected) socket.destroy();
    };
    signal.addEventListener("abort", close);
    const looking = setInterval(() => client.query("SELECT 1").catch(over.reject), lookEveryMs);
    try {
      await client.connect();
      await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      isConnected = true;
      connected();
      this.#tell(undefined);
      await over.promise;
    } finally {
      clearInterval(looking);
      signal.removeEventListener("abort", close);
      await settlesWithin(client.end(), closeMs);
      socket.destroy();
    }
  }

  #tell(payload: string | undefined): void {
    for (const heard of this.#listeners) heard(payload);
  }
}

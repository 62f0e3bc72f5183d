/**
 * Connections to a metadata database of several hosts, of which one can be written to: the primary. A host that
 * vanishes without closing its connections is noticed by a statement that waits for it, and asked on a new connection.
 */
import pg from "pg";
import { urlsOfHosts } from "./postgres-url.ts";

const readOnlyTransaction = "25006";
/** After this time work is suspected to wait for nothing, and a new connection to have no answer. */
const longestMs = 5_000;

type Verify = (client: pg.PoolClient, done: (error?: Error) => void) => void;

export class PostgresHosts {
  readonly #urls: readonly [string, ...string[]];
  /** The host that was the primary last. */
  #at = 0;
  readonly #hosts = new WeakMap<pg.Client, number>();
  /** Those that work uses now. */
  readonly #used = new Set<pg.PoolClient>();
  #isAsking = false;

  readonly #patienceMs: number;

  /** Throws when the URL is none. */
  constructor(url: string, patienceMs = longestMs) {
    this.#urls = urlsOfHosts(url);
    this.#patienceMs = patienceMs;
  }

  /** The URL of the host that was the primary last. */
  get url(): string {
    return this.#urls[this.#at] ?? this.#urls[0];
  }

  /** Options of a pool whose new connections lead to the primary, or fail. */
  get poolOptions(): pg.PoolConfig & { readonly verify?: Verify } {
    const connectsTo = (client: pg.Client, at: number) => this.#hosts.set(client, at);
    const present = () => ({ at: this.#at, url: this.url });
    class HostClient extends pg.Client {
      constructor(options?: pg.ClientConfig) {
        const { at, url } = present();
        super({ ...options, connectionString: url });
        // The pool does not listen while a connection is verified, or used: its loss would end the process. Whatever
        // is asked on a lost connection fails.
        this.on("error", () => {});
        connectsTo(this, at);
      }
    }
    return { Client: HostClient, ...(this.#urls.length > 1 ? { verify } : {}) };
  }

  /**
   * A connection of the pool to the primary. Every host is tried before it fails: after a failover the next host is the
   * primary, or a standby that still waits for its promotion.
   */
  async connect(pool: pg.Pool): Promise<pg.PoolClient> {
    for (let failures = 0; ; ) {
      const tried = this.#at;
      try {
        const client = await pool.connect();
        if (this.#hosts.get(client) === this.#at) return client;
        // To a host that was left: it may hang there.
        client.release(true);
      } catch (error) {
        failures += 1;
        this.#leave(tried);
        if (failures >= this.#urls.length) throw error;
      }
    }
  }

  /**
   * Call it when work with the connection begins, and what it returns when the work ends. Work that lasts has the host
   * asked; when that does not answer, all work with its connections fails.
   */
  watch(client: pg.PoolClient): () => void {
    if (this.#urls.length === 1) return () => {};
    this.#used.add(client);
    const suspicion = setInterval(() => void this.#ask(client), this.#patienceMs).unref();
    return () => {
      clearInterval(suspicion);
      this.#used.delete(client);
    };
  }

  async #ask(of: pg.PoolClient): Promise<void> {
    const at = this.#hosts.get(of);
    if (this.#isAsking || at === undefined) return;
    this.#isAsking = true;
    const connectionString = this.#urls[at] ?? this.#urls[0];
    const probe = new pg.Client({ connectionString, connectionTimeoutMillis: this.#patienceMs });
    probe.on("error", () => {});
    try {
      await probe.connect();
    } catch (error) {
      // An answer, such as that there are too many connections.
      if (error instanceof pg.DatabaseError) return;
      this.#leave(at);
      for (const used of this.#used) if (this.#hosts.get(used) === at) streamOf(used).destroy(new Error(silence));
    } finally {
      this.#isAsking = false;
      await probe.end().catch(() => {});
    }
  }

  #leave(at: number): void {
    if (this.#at === at) this.#at = (at + 1) % this.#urls.length;
  }
}

const silence = "Connection terminated: the host does not answer";

/** Its end by the driver waits for the server. */
function streamOf(client: pg.PoolClient): { destroy(error: Error): void } {
  return (client as unknown as { readonly connection: { readonly stream: { destroy(error: Error): void } } }).connection
    .stream;
}

/** A connection to a standby fails: it could only read, and what it reads may be old. */
function verify(client: pg.PoolClient, done: (error?: Error) => void): void {
  client
    .query<{ readonly: string }>(`SELECT current_setting('transaction_read_only') AS "readonly"`)
    .then(({ rows }) => {
      if (rows[0]?.readonly === "off") return done();
      done(Object.assign(new Error("the server is a standby"), { code: readOnlyTransaction }));
    }, done);
}

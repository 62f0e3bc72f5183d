/** Connections to a metadata database of several hosts, of which one can be written to: the primary. */
import pg from "pg";
import { urlsOfHosts } from "./postgres-url.ts";

const readOnlyTransaction = "25006";

type Verify = (client: pg.PoolClient, done: (error?: Error) => void) => void;

export class PostgresHosts {
  readonly #urls: readonly [string, ...string[]];
  /** The host that was the primary last. */
  #at = 0;
  readonly #hosts = new WeakMap<pg.Client, number>();

  /** Throws when the URL is none. */
  constructor(url: string) {
    this.#urls = urlsOfHosts(url);
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
        if (this.#at === tried) this.#at = (tried + 1) % this.#urls.length;
        if (failures >= this.#urls.length) throw error;
      }
    }
  }
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

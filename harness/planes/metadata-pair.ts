/**
 * The metadata database of an installation: a primary and its synchronous standby, which is promoted when the primary
 * is killed. Clients know both places, and reach each of them through a wire.
 */
import { everybody, Wire } from "../network/wire.ts";
import { TestPostgres } from "../postgres/postgres.ts";
import { until } from "../serve.ts";
import { databaseUrl } from "../stores.ts";

type Place = { server: TestPostgres; readonly wire: Wire };

export class MetadataPair implements AsyncDisposable {
  /** Between the primary and its standby. */
  readonly replication: Wire;
  #primary: Place;
  #standby: Place;
  /** As in a URL: with a slash. */
  readonly #database: string;
  #standbys = 1;
  #mend: () => void = () => {};

  private constructor(primary: Place, standby: Place, replication: Wire, database: string) {
    this.#primary = primary;
    this.#standby = standby;
    this.replication = replication;
    this.#database = database;
  }

  static async start(name: string): Promise<MetadataPair> {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await TestPostgres.start({ version: 18, settings }));
    const database = new URL(await databaseUrl(server, name)).pathname;
    const replication = stack.use(await Wire.start(server.port));
    const standby = stack.use(await TestPostgres.standbyOf(server, slotOf(1), settings, replication.port));
    const primary = { server, wire: stack.use(await Wire.start(server.port)) };
    const other = { server: standby, wire: stack.use(await Wire.start(standby.port)) };
    const pair = new MetadataPair(primary, other, replication, database);
    await pair.#waitForStandby();
    stack.move();
    return pair;
  }

  get primary(): TestPostgres {
    return this.#primary.server;
  }

  get standby(): TestPostgres {
    return this.#standby.server;
  }

  get wires(): readonly Wire[] {
    return [this.#primary.wire, this.#standby.wire];
  }

  /** What clients are given: both places, in the order of their ports. */
  get url(): string {
    const ports = this.wires.map(({ port }) => port).sort((a, b) => a - b);
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(",");
    return `postgres://${this.#login}@${hosts}${this.#database}?target_session_attrs=read-write`;
  }

  /** What the test itself uses: the present primary, without a wire. */
  get directUrl(): string {
    return `postgres://${this.#login}@127.0.0.1:${this.primary.port}${this.#database}`;
  }

  /** kill -9 of the primary, which is started again after a while. */
  async crashPrimary(away: () => Promise<void>): Promise<void> {
    await this.primary.crash();
    await away();
    await this.primary.start();
    await this.#untilSynchronous();
  }

  /** kill -9 of the standby: commits wait for it. */
  async crashStandby(away: () => Promise<void>): Promise<void> {
    await this.standby.crash();
    await away();
    await this.standby.start();
    await this.#untilSynchronous();
  }

  /**
   * kill -9 of the primary, whose place the standby takes. A primary that vanishes tells nobody: its connections hang
   * until it has been replaced by a new standby.
   */
  async promote(away: () => Promise<void>, vanishes = false): Promise<void> {
    if (vanishes) this.#mend = this.#primary.wire.cut("silent", everybody);
    await this.primary.crash();
    await away();
    await this.standby.promote();
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
    this.replication.target = this.primary.port;
    // Until it has a standby of its own.
    await this.#require("");
  }

  /** The place of the former primary gets a standby of the present one. */
  async renewStandby(): Promise<void> {
    await this.standby[Symbol.asyncDispose]();
    this.#standbys += 1;
    this.#standby.server = await TestPostgres.standbyOf(
      this.primary,
      slotOf(this.#standbys),
      settings,
      this.replication.port,
    );
    this.#standby.wire.target = this.standby.port;
    this.#mend();
    await this.#waitForStandby();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const wire of [...this.wires, this.replication]) wire[Symbol.dispose]();
    await this.standby[Symbol.asyncDispose]();
    await this.primary[Symbol.asyncDispose]();
  }

  get #login(): string {
    return `${this.primary.user}:${encodeURIComponent(this.primary.password)}`;
  }

  async #waitForStandby(): Promise<void> {
    await this.#require("*");
    await this.#untilSynchronous();
  }

  async #require(names: string): Promise<void> {
    await this.primary.sql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await this.primary.sql("SELECT pg_reload_conf()");
  }

  async #untilSynchronous(): Promise<void> {
    const look = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'";
    await until("the primary has a synchronous standby", async () => (await this.primary.sql(look)).length > 0);
  }
}

const settings = { max_connections: "100", wal_retrieve_retry_interval: "200ms" };

function slotOf(number: number): string {
  return `standby_${number}`;
}

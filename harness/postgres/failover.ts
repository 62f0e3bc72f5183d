/** A primary, its standby and one address that leads to whichever of them is in charge. */
import pg from "pg";
import { Relay } from "../network/relay.ts";
import { until } from "../serve.ts";
import { type PostgresVersion, TestPostgres } from "./postgres.ts";

const slot = "standby_1";

export type PairOptions = {
  /** The standby keeps failover slots. */
  readonly slots?: boolean;
  /** Nothing is sent to readers of failover slots that the standby does not have. */
  readonly waits?: boolean;
};

function settingsOf({ slots, waits }: PairOptions): Record<string, string> {
  return {
    ...(slots === true ? { sync_replication_slots: "on" } : {}),
    ...(waits === true ? { synchronized_standby_slots: slot } : {}),
  };
}

/** Once it is promoted it has no standby of its own that it could wait for. */
function standbySettingsOf({ slots }: PairOptions): Record<string, string> {
  return settingsOf(slots === undefined ? {} : { slots });
}

export class FailoverPair implements AsyncDisposable {
  primary: TestPostgres;
  standby: TestPostgres;
  readonly relay: Relay;
  readonly #options: PairOptions;
  /** The server in charge. */
  current: TestPostgres;

  private constructor(primary: TestPostgres, standby: TestPostgres, relay: Relay, options: PairOptions) {
    this.#options = options;
    this.primary = primary;
    this.standby = standby;
    this.relay = relay;
    this.current = primary;
  }

  static async start(version: PostgresVersion, options: PairOptions = {}): Promise<FailoverPair> {
    const primary = await TestPostgres.start({ version, settings: settingsOf(options) });
    const standby = await TestPostgres.standbyOf(primary, slot, standbySettingsOf(options));
    return new FailoverPair(primary, standby, await Relay.start(primary.port), options);
  }

  /** What pipes and writers are given. */
  get address(): TestPostgres {
    return addressOf(this.primary, this.relay);
  }

  /**
   * Until the standby keeps every failover slot of the primary for good. A new standby does so once the slot's reader has
   * come to where the standby began, so this takes as long as the backlog of the time.
   */
  async untilSlotsAreKept(): Promise<void> {
    await until(
      "the standby keeps the slots",
      async () => {
        const sql = "SELECT count(*) AS kept FROM pg_replication_slots WHERE synced AND NOT temporary";
        const wanted = "SELECT count(*) AS wanted FROM pg_replication_slots WHERE failover";
        return (await this.standby.sql(sql))[0]?.kept === (await this.primary.sql(wanted))[0]?.wanted;
      },
      180_000,
    );
  }

  /** kill -9 of the primary; the standby takes its place. */
  async failOver(): Promise<void> {
    await this.primary.crash();
    await this.standby.promote();
    this.relay.target = this.standby.port;
    this.relay.reset();
    this.current = this.standby;
  }

  /** After a failover the server in charge gets a standby again. */
  async renew(): Promise<void> {
    await this.primary[Symbol.asyncDispose]();
    this.primary = this.standby;
    this.standby = await TestPostgres.standbyOf(this.primary, slot, standbySettingsOf(this.#options));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.relay[Symbol.dispose]();
    await this.standby[Symbol.asyncDispose]();
    await this.primary[Symbol.asyncDispose]();
  }
}

/** The server as it is seen through a relay. */
export function addressOf(server: TestPostgres, { port }: Relay): TestPostgres {
  const config = (more: pg.ClientConfig = {}) => ({ ...server.config(more), port });
  const client = async (more: pg.ClientConfig = {}) => {
    const connected = new pg.Client(config(more));
    connected.on("error", () => {});
    await connected.connect();
    return Object.assign(connected, { [Symbol.asyncDispose]: () => connected.end() });
  };
  const sql = async (text: string) => {
    await using connected = await client();
    return (await connected.query(text)).rows as Record<string, unknown>[];
  };
  const { host, user, password, database, version } = server;
  return { version, host, port, user, password, database, config, client, sql } as unknown as TestPostgres;
}

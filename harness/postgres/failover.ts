/** A primary, its standby and one address that leads to the current primary. */
import pg from "pg";
import { Relay } from "../network/relay.ts";
import { until } from "../serve.ts";
import { type PostgresVersion, TestPostgres } from "./postgres.ts";

const slot = "standby_1";

export type PairOptions = {
  /** The standby synchronizes failover slots. */
  readonly slots?: boolean;
  /** Readers of failover slots receive nothing that the standby lacks. */
  readonly waits?: boolean;
};

function settingsOf({ slots, waits }: PairOptions): Record<string, string> {
  return {
    ...(slots === true ? { sync_replication_slots: "on" } : {}),
    ...(waits === true ? { synchronized_standby_slots: slot } : {}),
  };
}

/** Once promoted it has no standby of its own to wait for. */
function standbySettingsOf({ slots }: PairOptions): Record<string, string> {
  return settingsOf(slots === undefined ? {} : { slots });
}

export class FailoverPair implements AsyncDisposable {
  primary: TestPostgres;
  standby: TestPostgres;
  readonly relay: Relay;
  readonly #options: PairOptions;
  /** The current primary. */
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

  /** The address for pipes and writers. */
  get address(): TestPostgres {
    return addressOf(this.primary, this.relay);
  }

  /**
   * Waits until the standby has persisted every failover slot of the primary. A new standby does so once the slot's
   * reader has reached the standby's start, so this takes as long as the reader's backlog.
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

  /** kill -9 of the primary; the standby is promoted. */
  async failOver(): Promise<void> {
    await this.primary.crash();
    await this.standby.promote();
    this.relay.target = this.standby.port;
    this.relay.reset();
    this.current = this.standby;
  }

  /** After a failover the new primary gets a standby again. */
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

/** The server as seen through a relay. */
export function addressOf(server: TestPostgres, { port }: { readonly port: number }): TestPostgres {
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

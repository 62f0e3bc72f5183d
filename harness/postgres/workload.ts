/**
 * A random workload on a Postgres server: tiny and big transactions, savepoints and rollbacks, truncates, key changes,
 * concurrent writers, and changes of a table's columns. A seed repeats each writer's statements.
 */
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { Dice } from "../random.ts";
import type { TestPostgres } from "./postgres.ts";
import { type WorkloadTable, workloadTables } from "./workload-tables.ts";

export type WorkloadOptions = {
  readonly seed: number;
  readonly writers?: number;
  /** Maximum pause of a writer between two transactions, in ms. */
  readonly pauseMs?: number;
  /** Maximum rows of a big transaction. */
  readonly bigRows?: number;
  /** Also adds, drops, renames and widens columns of a table `evolving`. */
  readonly ddl?: boolean;
};

/** The server, or an address that leads to one. */
export type Written = Pick<TestPostgres, "client" | "sql">;

/** A conflict with another writer, or a restart of the server: the workload continues with the next transaction. */
const tolerated = /^(40|23505|55P03|57P|08|25P|XX)/;

export class Workload implements AsyncDisposable {
  readonly #server: Written;
  readonly #options: Required<WorkloadOptions>;
  readonly #stopping = new AbortController();
  #writers: Promise<void>[] = [];
  transactions = 0;

  constructor(server: Written, options: WorkloadOptions) {
    this.#server = server;
    this.#options = { writers: 3, pauseMs: 20, bigRows: 3_000, ddl: false, ...options };
  }

  /** Names of the tables, in the schema `public`. */
  get tables(): string[] {
    return [...workloadTables.map(({ name }) => name), ...(this.#options.ddl ? ["evolving"] : [])];
  }

  /** Creates the tables and some rows. */
  async create(): Promise<void> {
    const dice = new Dice(this.#options.seed);
    for (const table of workloadTables) {
      await this.#server.sql(table.create);
      await this.#server.sql(table.insert(dice, 50));
      await this.#server.sql(table.insert(dice, this.#options.bigRows));
    }
    if (this.#options.ddl) await this.#server.sql("CREATE TABLE evolving (id serial PRIMARY KEY, c0 int)");
  }

  /** Starts the writers. */
  start(): void {
    const { seed, writers, ddl } = this.#options;
    this.#writers = Array.from({ length: writers }, (_, at) => this.#write(new Dice(seed + 1 + at)));
    if (ddl) this.#writers.push(this.#evolve(new Dice(seed + 1000)));
  }

  /** Stops after the current transactions; throws a writer's fatal error. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#writers);
    this.#writers = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #write(dice: Dice): Promise<void> {
    await this.#repeat(async (client) => {
      await this.#transaction(client, dice);
      this.transactions += 1;
      if (dice.chance(0.7)) await delay(dice.below(this.#options.pauseMs + 1));
    });
  }

  /** Runs `work` repeatedly on one connection, and opens a new one after a failure. */
  async #repeat(work: (client: pg.Client) => Promise<void>): Promise<void> {
    let client: (pg.Client & AsyncDisposable) | undefined;
    while (!this.#stopping.signal.aborted) {
      try {
        client ??= await this.#server.client();
        await work(client);
      } catch (error) {
        const { code = "", message } = error as { code?: string; message: string };
        const broken = !/^[0-9A-Z]{5}$/.test(code) || /^(57P|08)/.test(code);
        if (!broken && !tolerated.test(code)) throw new Error(`workload: ${message} (${code})`, { cause: error });
        if (broken) {
          await client?.end().catch(() => {});
          client = undefined;
          await delay(50);
        } else await client?.query("ROLLBACK").catch(() => {});
      }
    }
    await client?.end().catch(() => {});
  }

  async #transaction(client: pg.Client, dice: Dice): Promise<void> {
    const kind = dice.next();
    const table = dice.pick(workloadTables);
    if (kind < 0.55) {
      await client.query(this.#statement(table, dice));
      return;
    }
    await client.query("BEGIN");
    if (kind < 0.62) await client.query(table.insert(dice, 100 + dice.below(this.#options.bigRows)));
    else if (kind < 0.64 && table.truncated === true) {
      await client.query(`SET LOCAL lock_timeout = '2s'; TRUNCATE ${table.name}`);
      await client.query(table.insert(dice, 20));
    } else {
      for (let at = 1 + dice.below(12); at > 0; at -= 1) {
        await client.query(this.#statement(dice.pick(workloadTables), dice));
        if (dice.chance(0.2)) await this.#savepoint(client, dice);
      }
    }
    await client.query(dice.chance(0.1) ? "ROLLBACK" : "COMMIT");
  }

  async #savepoint(client: pg.Client, dice: Dice): Promise<void> {
    await client.query("SAVEPOINT s");
    await client.query(this.#statement(dice.pick(workloadTables), dice));
    await client.query(dice.chance(0.5) ? "ROLLBACK TO s" : "RELEASE s");
  }

  #statement(table: WorkloadTable, dice: Dice): string {
    if (dice.chance(0.4)) return table.insert(dice, 1 + dice.below(10));
    return dice.pick(table.changes)(dice);
  }

  /** Changes the columns of one table between changes of its rows. */
  async #evolve(dice: Dice): Promise<void> {
    let last = 0;
    await this.#repeat(async (client) => {
      const { rows } = await client.query<{ name: string; type: string }>(
        `SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
         WHERE attrelid = 'evolving'::regclass AND attnum > 1 AND NOT attisdropped`,
      );
      last += 1;
      const column = rows.length === 0 ? undefined : dice.pick(rows);
      const kind = dice.below(5);
      if (column === undefined || (kind < 2 && rows.length < 8)) {
        const value = dice.pick(["", " DEFAULT 7", " NOT NULL DEFAULT 9"]);
        await client.query(`ALTER TABLE evolving ADD COLUMN c${last}_${dice.below(1e6)} int${value}`);
      } else if (kind === 2) await client.query(`ALTER TABLE evolving DROP COLUMN "${column.name}"`);
      else if (kind === 3)
        await client.query(`ALTER TABLE evolving RENAME COLUMN "${column.name}" TO r${last}_${dice.below(1e6)}`);
      else if (column.type === "integer") await client.query(`ALTER TABLE evolving ALTER "${column.name}" TYPE bigint`);
      for (let at = dice.below(6); at > 0; at -= 1) {
        await client.query("INSERT INTO evolving DEFAULT VALUES");
        await client.query(`DELETE FROM evolving WHERE id = ${dice.below(200)}`);
      }
      await delay(300 + dice.below(700));
    });
  }
}

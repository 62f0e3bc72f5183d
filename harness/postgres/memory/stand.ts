/**
 * A pipe of a scripted Postgres with its destination: what outlives every worker. Its tables change in phases: a worker
 * runs with those of a phase until the script is over and everything is confirmed, and the next one with those of the
 * next phase.
 */
import { StoredForms } from "../../../src/pipes/durable.ts";
import type { Insert, Source } from "../../../src/sources/contract/source.ts";
import { type PostgresDurable, postgresShapes } from "../../../src/sources/relational-db/declaration/durable.ts";
import type { TableMapping } from "../../../src/sources/relational-db/declaration/table-mapping.ts";
import { parseLsn, versionText } from "../../../src/sources/relational-db/protocol/lsn.ts";
import { RelationalSource } from "../../../src/sources/relational-db/source.ts";
import { keptMarks, testContext } from "../../sources/source-context.ts";
import type { At, ContractCase, World } from "../../sources/source-contract.ts";
import { memoryServer, memorySilenceMs } from "./config.ts";
import type { Change, Row } from "./database.ts";
import type { MemoryReplication } from "./replication.ts";
import { MemoryTables } from "./tables.ts";

export type Phase = {
  readonly mappings: readonly TableMapping[];
  /** When it begins. */
  readonly begin?: (stand: MemoryStand, world: World) => void;
  /** When it ends: everything is confirmed. */
  readonly end?: (stand: MemoryStand) => void;
  /** It also begins when a worker has died. */
  readonly atDeath?: boolean;
};

const forms = new StoredForms(postgresShapes);

export class MemoryStand {
  readonly tables = new MemoryTables();
  readonly problems: string[] = [];
  readonly server: MemoryReplication;
  readonly #phases: readonly Phase[];
  #phase = 0;
  #isOpened = false;

  constructor(server: MemoryReplication, phases: readonly Phase[]) {
    this.server = server;
    this.#phases = phases;
  }

  /** As `describeSource` takes it. */
  get contract(): ContractCase {
    return {
      durable: postgresShapes,
      open: (world, at) => this.#open(world, at),
      expected: () => this.#expected(),
      rowsOf: async ({ sql, body }) => [sql, ...String(body?.() ?? "").split("\n")],
      tables: {
        insert: (insert, token) => this.#insert(insert, token),
        shown: () => this.#names().flatMap((name) => this.shown(name)),
        problems: this.problems,
      },
      close: () => this.server[Symbol.asyncDispose](),
    };
  }

  /** What readers see of a table, one entry per row. */
  shown(name: string): string[] {
    return this.tables.shown(name).map((row) => `${name}: ${row}`);
  }

  async #open(world: World, at: At): Promise<Source<PostgresDurable>> {
    // What the worker before had open ends with its process.
    this.server.dropAll();
    this.server.onFlush = (lsn) => this.#flushed(lsn, world);
    if (this.#isOpened && this.#next?.atDeath === true) this.#advance(world);
    this.#isOpened = true;
    let source = await this.#source(world, at);
    const stand = this;
    return {
      replay: (replay, signal) => source.replay(replay, signal),
      refused: (batch, failure) => source.refused(batch, failure),
      acknowledge: (batch) => source.acknowledge(batch),
      [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
      async *read(_checkpoints, signal) {
        for (;;) {
          yield* stand.#untilConfirmed(source, world, signal);
          if (signal.aborted) return;
          stand.#phases[stand.#phase]?.end?.(stand);
          if (stand.#next === undefined) return;
          stand.#advance(world);
          await source[Symbol.asyncDispose]();
          source = await stand.#source(world, at);
        }
      },
    };
  }

  /** The pipe's stream has no end; here it ends when the script is over and all of it is confirmed. */
  async *#untilConfirmed(source: Source<PostgresDurable>, world: World, signal: AbortSignal) {
    const end = new AbortController();
    const stop = () => end.abort();
    signal.addEventListener("abort", stop);
    this.server.onEnd = stop;
    try {
      const checkpoints = forms.readCheckpoints(Object.fromEntries(world.checkpoints));
      yield* source.read(new Map(Object.entries(checkpoints as Record<string, string>)), end.signal);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  get #next(): Phase | undefined {
    return this.#phases[this.#phase + 1];
  }

  #advance(world: World): void {
    this.#phase += 1;
    this.server.hurry();
    this.#phases[this.#phase]?.begin?.(this, world);
  }

  /** Tables of all phases. */
  #names(): string[] {
    return [...new Set(this.#phases.flatMap(({ mappings }) => mappings.map(({ sourceTable }) => sourceTable)))];
  }

  async #source(world: World, at: At): Promise<RelationalSource> {
    const config = memoryServer(this.server, [...(this.#phases[this.#phase] as Phase).mappings]);
    const context = testContext<PostgresDurable>({
      // Batches of the stream and pieces of a copy of a few hundred bytes.
      memoryGb: 0.000_005,
      sourceIdleTimeoutMs: memorySilenceMs,
      ledger: keptMarks<PostgresDurable>(postgresShapes, world.marks, at, (counts) => world.count(counts)),
      destination: {
        target: { kind: "owned", database: "default", tables: [] },
        query: async (sql) => this.tables.query(sql),
        define: (sql) => at("command", () => this.tables.command(sql)),
      },
    });
    return await RelationalSource.open(config, context);
  }

  #insert({ sql, body }: Insert, token: string): void {
    this.tables.insert(sql, this.tables.linesOf(String(body?.() ?? "")), token);
  }

  #expected(): string[] {
    return this.#names().flatMap((name) => this.textsOf(name, this.server.database.rows(name)));
  }

  /** Rows of the source as `shown` prints them. */
  textsOf(name: string, rows: readonly { readonly row: Row }[]): string[] {
    const columns = this.server.database.table(name).columns.map((column) => column.name);
    const text = (row: Row) => columns.map((column) => `${column}=${row[column]}`).join(" ");
    return rows.map(({ row }) => `${name}: ${text(row)}`);
  }

  /** The source may forget what was committed between then and its return. */
  #wasRemoved(name: string): boolean {
    const has = ({ mappings }: Phase) => mappings.some(({ sourceTable }) => sourceTable === name);
    const begun = this.#phases.slice(0, this.#phase + 1);
    return begun.some((phase, index) => has(phase) && begun.slice(index).some((later) => !has(later)));
  }

  /** Everything that the source may forget now must be in the destination. */
  #flushed(lsn: bigint, world: World): void {
    const truncates = new Map<string, number>();
    for (const { commitLsn, changes, published } of this.server.database.log) {
      if (commitLsn >= lsn) continue;
      const sent = changes.filter((change) => tablesOf(change).some((name) => published.has(name)));
      for (const [index, change] of sent.entries()) {
        for (const name of tablesOf(change).filter((each) => published.has(each) && !this.#wasRemoved(each))) {
          if (copiedTo(world, name) > commitLsn) continue;
          if (change.kind === "truncate") {
            const count = (truncates.get(name) ?? 0) + 1;
            truncates.set(name, count);
            if (this.tables.truncations(name) < count)
              this.problems.push(`${lsn} is before truncate ${count} of ${name}`);
          } else if (!this.tables.has(name, versionText(commitLsn, index + 1, true))) {
            this.problems.push(`${lsn} is flushed without change ${index + 1} of ${commitLsn} in ${name}`);
          }
        }
      }
    }
  }
}

function tablesOf(change: Change): string[] {
  return (change.kind === "truncate" ? change.tables : [change.table]).map(({ name }) => name);
}

/** A complete copy shows what committed before this position. */
function copiedTo(world: World, table: string): bigint {
  const saved = world.marks.get(`table:${table}`) as { copied?: unknown } | null | undefined;
  return typeof saved?.copied === "string" ? parseLsn(saved.copied) : 0n;
}

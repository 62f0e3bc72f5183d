/**
 * Postgres under the contract of connectors: the real source, connected to a scripted server, is killed before and
 * after every step of copy and stream. In the end the tables show what the script means, and the slot was never moved
 * over something that was not in them.
 */

import { mappingOf, memoryServer, memorySilenceMs } from "../../harness/postgres/memory/config.ts";
import { MemoryDatabase, type Row } from "../../harness/postgres/memory/database.ts";
import { MemoryReplication, type Stage } from "../../harness/postgres/memory/replication.ts";
import { MemoryTables } from "../../harness/postgres/memory/tables.ts";
import { keptMarks, testContext } from "../../harness/sources/source-context.ts";
import { type At, type ContractCase, describeSource, type World } from "../../harness/sources/source-contract.ts";
import { StoredForms } from "../../src/pipes/durable.ts";
import { type PostgresDurable, postgresShapes } from "../../src/sources/relational-db/durable.ts";
import { parseLsn, versionText } from "../../src/sources/relational-db/protocol/lsn.ts";
import { RelationalSource } from "../../src/sources/relational-db/source.ts";
import type { Insert, Source } from "../../src/sources/source.ts";

/** Stored out of line: an update that leaves it as it is does not send it. */
const large = (seed: string) => `${seed}-`.repeat(12).padEnd(45, "x");

const id = { name: "id", type: "int4", notNull: true } as const;
const note = { name: "note", type: "text", notNull: false } as const;
const body = { name: "body", type: "text", notNull: false } as const;
const more = { name: "more", type: "text", notNull: false } as const;

function databaseOf(): MemoryDatabase {
  const database = new MemoryDatabase();
  database.create({ name: "orders", identity: "d", key: ["id"], columns: [id, note, body, more] });
  database.create({
    name: "events",
    identity: "f",
    key: ["id"],
    columns: [id, note, body],
    leaves: ["events_0", "events_1"],
  });
  database.create({ name: "journal", identity: "d", key: ["id"], columns: [id, note] });
  database.create({ name: "late", identity: "d", key: ["id"], columns: [id, note] });
  database.create({ name: "ledger", identity: "d", key: ["id"], columns: [id, note] });
  database.create({ name: "other", identity: "d", key: ["id"], columns: [id] });
  database.commit((write) => {
    for (let at = 1; at <= 10; at += 1) {
      write.insert("orders", { id: `${at}`, note: `o${at}`, body: large(`o${at}`), more: large(`more${at}`) });
    }
    for (let at = 1; at <= 8; at += 1) write.insert("events", { id: `${at}`, note: null, body: large(`e${at}`) });
    for (let at = 1; at <= 5; at += 1) write.insert("journal", { id: `${at}`, note: `j${at}` });
  });
  return database;
}

/** Before the tables `late` and `ledger` are added to the pipe. */
const first: readonly Stage[] = [
  {
    at: "snapshot",
    work: (database) => {
      database.advance();
      database.commit((write) => {
        write.update("orders", "1", { note: "during the copy, and partial" });
        write.delete("orders", "3");
        // Its new place is in a range that may be durable by now, and its old one in a range that is not.
        write.update("orders", "10", { note: "moved to an early page, and partial" });
        write.insert("journal", { id: "6", note: "j6" });
      });
      database.commit((write) =>
        write.insert("orders", { id: "30", note: "on a page that may be copied", body: null, more: null }),
      );
    },
  },
  {
    at: "copy",
    work: (database) => {
      database.commit((write) => {
        write.update("orders", "2", { id: "102" });
        write.update("orders", "102", { note: "moved, and partial under its new key" });
        write.update("orders", "8", { id: "108" });
        write.insert("journal", { id: "7", note: "j7" });
      });
      database.commit((write) => {
        write.truncate("events");
        write.insert("events", { id: "50", note: "after the truncate", body: large("e50") });
      });
    },
  },
  {
    at: "copy",
    work: (database) => {
      database.commit((write) => {
        write.delete("orders", "4");
        write.insert("orders", { id: "4", note: "made again", body: large("again"), more: null });
        write.update("orders", "4", { note: "and partial" });
        write.update("orders", "9", { body: large("new") });
        write.update("orders", "9", { note: "lacks what the update before has told" });
        write.update("events", "50", { note: "old row told" });
      });
    },
  },
  {
    at: "stream",
    work: (database) => {
      database.commit((write) => write.insert("other", { id: "1" }));
      database.commit((write) => {
        write.update("orders", "7", { id: "107" });
        write.insert("orders", { id: "7", note: "another one", body: large("another"), more: null });
      });
      // Larger than a batch.
      database.commit((write) => {
        for (let at = 200; at < 210; at += 1)
          write.insert("orders", { id: `${at}`, note: null, body: large(`o${at}`), more: "m" });
        write.update("orders", "200", { note: "partial, and inserted by the same transaction" });
        write.insert("journal", { id: "8", note: "j8" });
        write.truncate("events");
        write.insert("events", { id: "60", note: "after the second truncate", body: large("e60") });
        write.delete("orders", "201");
      });
    },
  },
  // The log grows by nothing that is for the pipe: the slot moves all the same.
  { at: "confirmed", work: (database) => database.advance() },
  {
    at: "told",
    work: (database) => {
      database.commit((write) => {
        write.update("orders", "5", { note: "before the column" });
        write.addColumn("orders", { name: "extra", type: "text", notNull: false, missingValue: "usual" });
        write.update("orders", "6", { extra: "own" });
        write.update("orders", "102", { id: "103", extra: null });
        write.insert("orders", { id: "300", note: null, body: null, more: null, extra: null });
      });
      database.commit((write) => {
        write.update("events", "60", { id: "61" });
        write.insert("journal", { id: "9", note: "j9" });
      });
    },
  },
];

const added: readonly Stage[] = [
  {
    at: "snapshot",
    work: (database) =>
      database.commit((write) => {
        write.update("late", "1", { note: "during its copy" });
        write.update("orders", "107", { note: "while another table is copied" });
      }),
  },
  // The stream goes on while the table is copied, and then the table is brought to where the stream is.
  {
    at: "copy",
    work: (database) => {
      database.commit((write) => {
        write.update("orders", "5", { note: "while rows are copied" });
        write.update("late", "3", { id: "33" });
        write.delete("late", "4");
        write.insert("journal", { id: "10", note: "j10" });
      });
      database.commit((write) => {
        write.truncate("late");
        write.insert("late", { id: "20", note: "after its truncate" });
        write.insert("late", { id: "21", note: "after its truncate" });
        write.insert("ledger", { id: "3", note: "i3" });
        write.delete("orders", "30");
      });
    },
  },
  // Nothing stands behind the truncate, so only its own batch holds the slot back.
  { at: "stream", work: (database) => database.commit((write) => write.truncate("events")) },
  {
    at: "told",
    work: (database) =>
      database.commit((write) => {
        write.delete("late", "21");
        write.insert("late", { id: "9", note: "new" });
        write.insert("ledger", { id: "4", note: "i4" });
        write.delete("orders", "103");
      }),
  },
];

const forms = new StoredForms(postgresShapes);
const mappings = [mappingOf("orders"), mappingOf("events"), mappingOf("journal", "MergeTree")];

const laterMappings = [mappingOf("late"), mappingOf("ledger", "MergeTree")];

/** One upstream with its destination: what outlives every worker. */
class Stand {
  readonly tables = new MemoryTables();
  readonly problems: string[] = [];
  readonly server: MemoryReplication;
  #isLateAdded = false;

  constructor(server: MemoryReplication) {
    this.server = server;
  }

  async open(world: World, at: At): Promise<Source<PostgresDurable>> {
    // What the worker before had open ends with its process.
    this.server.dropAll();
    this.server.onFlush = (lsn) => this.#flushed(lsn, world);
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
          if (signal.aborted || stand.#isLateAdded) return;
          stand.#addLate();
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

  #addLate(): void {
    this.#isLateAdded = true;
    const { database } = this.server;
    database.commit((write) => {
      for (let at = 1; at <= 6; at += 1) write.insert("late", { id: `${at}`, note: `l${at}` });
      for (let at = 1; at <= 2; at += 1) write.insert("ledger", { id: `${at}`, note: `i${at}` });
    });
    this.server.add(...added);
  }

  async #source(world: World, at: At): Promise<RelationalSource> {
    const config = memoryServer(this.server, this.#isLateAdded ? [...mappings, ...laterMappings] : mappings);
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

  insert({ sql, body }: Insert, token: string): void {
    this.tables.insert(sql, this.tables.linesOf(String(body?.() ?? "")), token);
  }

  expected(): string[] {
    const { database } = this.server;
    return ["orders", "events", "journal", "late", "ledger"].flatMap((name) => {
      const columns = database.table(name).columns.map((column) => column.name);
      const text = (row: Row) => columns.map((column) => `${column}=${row[column]}`).join(" ");
      return database.rows(name).map(({ row }) => `${name}: ${text(row)}`);
    });
  }

  shown(): string[] {
    return ["orders", "events", "journal", "late", "ledger"].flatMap((name) =>
      this.tables.shown(name).map((row) => `${name}: ${row}`),
    );
  }

  /** Everything that the source may forget now must be in the destination. */
  #flushed(lsn: bigint, world: World): void {
    const truncates = new Map<string, number>();
    for (const { commitLsn, changes, published } of this.server.database.log) {
      if (commitLsn >= lsn) continue;
      for (const [index, change] of changes.entries()) {
        const names = change.kind === "truncate" ? change.tables.map(({ name }) => name) : [change.table.name];
        for (const name of names.filter((each) => published.has(each))) {
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

/** A complete copy shows what committed before this position. */
function copiedTo(world: World, table: string): bigint {
  const saved = world.marks.get(`table:${table}`) as { copied?: unknown } | null | undefined;
  return typeof saved?.copied === "string" ? parseLsn(saved.copied) : 0n;
}

describeSource("Postgres", async (): Promise<ContractCase> => {
  const stand = new Stand(await MemoryReplication.start(databaseOf(), first));
  return {
    durable: postgresShapes,
    open: (world, at) => stand.open(world, at),
    expected: () => stand.expected(),
    rowsOf: async ({ sql, body }) => [sql, ...String(body?.() ?? "").split("\n")],
    tables: {
      insert: (insert, token) => stand.insert(insert, token),
      shown: () => stand.shown(),
      problems: stand.problems,
    },
    close: () => stand.server[Symbol.asyncDispose](),
  };
});

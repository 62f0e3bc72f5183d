/**
 * A scripted source: a server on loopback that speaks the protocol of Postgres and has a database in memory behind it.
 * It gives snapshots, copies and one slot, which sends every transaction from its confirmed position on, again after
 * each connection that broke. The script says which transactions are committed at which moment.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { formatLsn, parseLsn } from "../../../src/sources/relational-db/protocol/lsn.ts";
import type { MemoryDatabase, Transaction, View } from "./database.ts";
import { beginMessage, changeMessage, commitMessage, int64, relationMessage } from "./messages.ts";
import { catalogAnswer, copyAnswer, nothing } from "./statements.ts";
import { type Answer, type Copied, type Session, SqlError, Wire } from "./wire.ts";

/**
 * `snapshot`: just after the first one was taken. `copy`: when rows of a range have been read. `stream`: when the
 * stream is asked for. `told`: when the client says something on the stream. `confirmed`: when it says that everything
 * is flushed.
 */
export type Moment = "snapshot" | "copy" | "stream" | "told" | "confirmed";
export type Stage = { readonly at: Moment; readonly work: (database: MemoryDatabase) => void };

export class MemoryReplication implements AsyncDisposable {
  readonly database: MemoryDatabase;
  /** Is told of every position that the client calls flushed, before the slot moves. */
  onFlush: (lsn: bigint) => void = () => {};
  /** All stages are over and everything is confirmed. */
  onEnd: () => void = () => {};
  readonly #stages: Stage[] = [];
  readonly #server: Server;
  readonly #wires = new Set<Wire>();
  readonly #snapshots = new Map<string, { readonly view: View; readonly owner: Wire }>();
  #slot: { confirmed: bigint } | undefined;
  #stream: Stream | undefined;
  /** Begins the stream that waits for the slot. */
  #next: () => void = () => {};
  #names = 0;

  private constructor(database: MemoryDatabase, server: Server) {
    this.database = database;
    this.#server = server;
  }

  static async start(database: MemoryDatabase, stages: readonly Stage[]): Promise<MemoryReplication> {
    const server = createServer();
    const replication = new MemoryReplication(database, server);
    replication.#stages.push(...stages);
    server.on("connection", (socket) => {
      const wire = new Wire(socket, (of) => replication.#session(of));
      replication.#wires.add(wire);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return replication;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  add(...stages: readonly Stage[]): void {
    this.#stages.push(...stages);
  }

  /** The stages that are left happen now: later ones begin with the next connection. */
  hurry(): void {
    for (const { work } of this.#stages.splice(0)) work(this.database);
  }

  /** What was committed outside of the script. */
  send(): void {
    this.#stream?.send();
  }

  /** What is left of a client whose process was killed. */
  dropAll(): void {
    for (const wire of [...this.#wires]) wire.drop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.dropAll();
    this.#server.close();
    await once(this.#server, "close");
  }

  #session(wire: Wire): Session {
    const state: Connection = { wire };
    return {
      query: (sql, parameters) => {
        // A snapshot is exported until the next command of its connection.
        this.#forget(wire);
        return catalogAnswer(this.database, sql, parameters) ?? this.#run(state, sql);
      },
      received: (message) => this.#received(state, message),
      closed: () => {
        this.#wires.delete(wire);
        this.#forget(wire);
        if (this.#stream?.wire === wire) this.#free();
      },
    };
  }

  #forget(wire: Wire): void {
    for (const [name, { owner }] of this.#snapshots) if (owner === wire) this.#snapshots.delete(name);
  }

  #run(state: Connection, sql: string): Answer | Copied | undefined {
    if (sql === "IDENTIFY_SYSTEM") {
      const columns = { systemid: "text", timeline: "int4", xlogpos: "text", dbname: "text" } as const;
      return { columns, rows: [["7000000000000000001", "1", formatLsn(this.database.lsn), "d"]] };
    }
    if (sql.startsWith("CREATE_REPLICATION_SLOT ")) return this.#createSlot(state.wire, sql.includes(" TEMPORARY "));
    if (sql.startsWith("START_REPLICATION "))
      return this.#start(state, parseLsn(/LOGICAL (\S+)/.exec(sql)?.[1] as string));
    if (sql.includes("pg_drop_replication_slot")) {
      this.#slot = undefined;
      return nothing;
    }
    if (sql.includes("pg_is_in_recovery()") && sql.includes("AS one")) return this.#slotAnswer();
    if (sql.startsWith("SET TRANSACTION SNAPSHOT")) return this.#enter(state, /'(.+)'/.exec(sql)?.[1] as string);
    if (sql.includes("pg_snapshot_xmin")) {
      return { columns: { xmin: "text" }, rows: [[String(state.xmin)]] };
    }
    if (sql.startsWith("COPY ")) {
      const answer = copyAnswer(this.database, state.view as View, sql);
      if (this.#moment("copy")) this.#stream?.send();
      return answer;
    }
    if (/^(BEGIN|SET wal_sender_timeout)/.test(sql)) return nothing;
    throw new SqlError("42601", `the script does not know this statement: ${sql}`);
  }

  #createSlot(owner: Wire, isTemporary: boolean): Answer {
    this.#names += 1;
    const name = `memory-${this.#names}`;
    const view = this.database.view();
    this.#snapshots.set(name, { view, owner });
    if (!isTemporary) this.#slot = { confirmed: view.lsn };
    this.#moment("snapshot");
    const columns = {
      slot_name: "text",
      consistent_point: "text",
      snapshot_name: "text",
      output_plugin: "text",
    } as const;
    return { columns, rows: [["slot", formatLsn(view.lsn), name, "pgoutput"]] };
  }

  #enter(state: Connection, name: string): Answer {
    const snapshot = this.#snapshots.get(name);
    if (snapshot === undefined) throw new SqlError("42704", `invalid snapshot identifier: "${name}"`);
    state.view = snapshot.view;
    const newest = this.database.log.findLast(({ commitLsn }) => commitLsn < snapshot.view.lsn);
    state.xmin = (newest?.xid ?? 700) + 1;
    return nothing;
  }

  #slotAnswer(): Answer {
    const columns = {
      isStandby: "bool",
      confirmed: "text",
      walStatus: "text",
      reason: "text",
      conflicting: "bool",
    } as const;
    const confirmed = this.#slot === undefined ? null : formatLsn(this.#slot.confirmed);
    return { columns, rows: [["f", confirmed, this.#slot === undefined ? null : "reserved", null, null]] };
  }

  #start(state: Connection, from: bigint): undefined {
    if (this.#slot === undefined) throw new SqlError("42704", "the slot does not exist");
    // The server may not have seen yet that the reader before is gone. A real one refuses, and the client asks again.
    if (this.#stream !== undefined) {
      this.#next = () => this.#start(state, from);
      return undefined;
    }
    while (["snapshot", "copy", "stream"].includes(this.#stages[0]?.at ?? ""))
      this.#stages.shift()?.work(this.database);
    state.wire.send("W", Buffer.alloc(3));
    const start = from > this.#slot.confirmed ? from : this.#slot.confirmed;
    this.#stream = new Stream(state.wire, this.database, start);
    this.#stream.send();
    return undefined;
  }

  #free(): void {
    this.#stream = undefined;
    const next = this.#next;
    this.#next = () => {};
    next();
  }

  #received({ wire }: Connection, message: Buffer): void {
    if (message[0] !== 0x72 || this.#stream?.wire !== wire || this.#slot === undefined) return;
    const flushed = message.readBigUInt64BE(9);
    this.onFlush(flushed);
    if (flushed > this.#slot.confirmed) this.#slot.confirmed = flushed;
    if (message[33] === 1) this.#stream.keepAlive(this.database.lsn);
    const isAll = flushed >= this.database.lsn;
    if (isAll && this.#stages.length === 0) this.onEnd();
    if (this.#moment("told") || (isAll && this.#moment("confirmed"))) this.#stream.send();
  }

  /** True when something was due. */
  #moment(moment: Moment): boolean {
    if (this.#stages[0]?.at !== moment) return false;
    this.#stages.shift()?.work(this.database);
    return true;
  }
}

type Connection = { readonly wire: Wire; view?: View; xmin?: number };

/** What one connection is sent of the log. */
class Stream {
  readonly wire: Wire;
  readonly #database: MemoryDatabase;
  /** Transactions that committed before this position are not sent. */
  #next: bigint;
  /** The last description of each table on this connection. */
  readonly #described = new Map<number, string>();

  constructor(wire: Wire, database: MemoryDatabase, from: bigint) {
    this.wire = wire;
    this.#database = database;
    this.#next = from;
  }

  send(): void {
    for (const transaction of this.#database.log) {
      if (transaction.commitLsn >= this.#next) this.#transaction(transaction);
    }
    this.#next = this.#database.lsn;
    this.keepAlive(this.#next);
  }

  keepAlive(walEnd: bigint): void {
    this.wire.send("d", Buffer.from("k"), int64(walEnd), int64(0n), Buffer.of(0));
  }

  #transaction(transaction: Transaction): void {
    const { commitLsn, changes, published } = transaction;
    this.#message(commitLsn, beginMessage(transaction));
    for (const change of changes) {
      const tables = change.kind === "truncate" ? change.tables : [change.table];
      const sent = tables.filter(({ name }) => published.has(name));
      if (sent.length === 0) continue;
      for (const table of sent) {
        const description = relationMessage(table);
        if (this.#described.get(table.oid) === description.toString("latin1")) continue;
        this.#described.set(table.oid, description.toString("latin1"));
        this.#message(commitLsn, description);
      }
      this.#message(commitLsn, changeMessage(change.kind === "truncate" ? { ...change, tables: sent } : change));
      // The server is alive: it says so within a transaction too, and then of the log before its commit.
      this.keepAlive(commitLsn);
    }
    this.#message(commitLsn, commitMessage(transaction));
    this.keepAlive(transaction.endLsn);
  }

  #message(lsn: bigint, payload: Buffer): void {
    this.wire.send("d", Buffer.from("w"), int64(lsn), int64(lsn), int64(0n), payload);
  }
}

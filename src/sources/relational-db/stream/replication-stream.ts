/** The replication connection: receives, confirms, and holds the source back while batches are waited for. */
import type pg from "pg";
import { AppError } from "../../../lib/errors.ts";
import type { SourceServer } from "../declaration/kind.ts";
import { formatLsn } from "../protocol/lsn.ts";
import { decode, type ReplicationMessage } from "../protocol/pgoutput.ts";
import { connect, copyOut } from "../server/connection.ts";
import { idleTimeoutMsOf } from "../server/defaults.ts";
import { postgresSourceError } from "../server/errors.ts";
import type { SourceClient } from "../server/keepalive.ts";
import { quoteName } from "../server/session.ts";
import type { ReplicationNames } from "../server/slot.ts";
import { endEarlierReader, readerName } from "../server/slot-reader.ts";

/** Longest pause between two status updates to the source; each is answered at once. */
const statusMs = 5_000;
/** A reader that has just died keeps the slot for a moment. */
const slotBusyAttempts = 60;
const slotBusyPauseMs = 250;
/** From one look at the slot's reader to the next. */
const readerLookAttempts = 8;
/** Between the epochs of Unix and of Postgres. */
const epochMs = 946_684_800_000;

export type ReplicationListener = {
  /** Answers false when no more messages are wanted for now: `resume` brings them. */
  take(message: ReplicationMessage): boolean;
  /** The source has nothing before this position that it has not sent. */
  idle(walEnd: bigint): void;
  /** The connection is over. */
  failed(error: Error): void;
};

export type StreamBegin = {
  /** Answers what has been confirmed. */
  readonly check: (client: pg.Client) => Promise<bigint>;
  /** Transactions that committed before this position are not wanted. */
  readonly from: bigint;
};

export class ReplicationStream {
  readonly #client: SourceClient;
  readonly #idleTimeoutMs: number;
  readonly #receiver: ReplicationListener;
  /** Messages that had already arrived when the receiver had enough. */
  readonly #kept: Buffer[] = [];
  #blocked = false;
  #closed = false;
  #confirmed = 0n;
  #timer: NodeJS.Timeout | undefined;
  /** Status updates since the last message of the source. */
  #unanswered = 0;

  private constructor(client: SourceClient, idleTimeoutMs: number, receiver: ReplicationListener) {
    this.#client = client;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#receiver = receiver;
  }

  /**
   * Begins to receive at `from`, or at what the source keeps, where `check` says so, which looks at the server on the
   * same connection. Messages come later.
   */
  static async open(
    server: SourceServer,
    names: ReplicationNames,
    begin: StreamBegin,
    receiver: ReplicationListener,
    signal: AbortSignal,
  ): Promise<ReplicationStream> {
    for (let attempt = 1; ; attempt += 1) {
      const { reader } = server;
      const client = await connect(server, { replication: true, unguarded: true, name: reader && readerName(reader) });
      const stream = new ReplicationStream(client, idleTimeoutMsOf(server), receiver);
      try {
        await stream.#start(names, begin);
        reader?.warn(undefined);
        return stream;
      } catch (error) {
        await stream.close();
        const told = postgresSourceError(error);
        const busy = (told.cause as { code?: string } | undefined)?.code === "55006";
        if (!busy || attempt === slotBusyAttempts || signal.aborted) throw told;
        if (reader !== undefined && attempt % readerLookAttempts === 1) {
          const held = await endEarlierReader(server, names.slot, reader);
          // A connection that has just been closed is there for a moment.
          if (attempt > 1) reader.warn(held);
        }
        await new Promise((resolve) => setTimeout(resolve, slotBusyPauseMs));
      }
    }
  }

  /** Position that the source may forget the log up to, with all before it. */
  get confirmed(): bigint {
    return this.#confirmed;
  }

  /** Told to the source at once. */
  confirm(lsn: bigint): void {
    if (lsn <= this.#confirmed) return;
    this.#confirmed = lsn;
    this.#sendStatus();
  }

  resume(): void {
    this.#blocked = false;
    let at = 0;
    while (at < this.#kept.length && !this.#blocked) {
      this.#blocked = !this.#receiver.take(decode(this.#kept[at] as Buffer));
      at += 1;
    }
    this.#kept.splice(0, at);
    this.#unanswered = 0;
    if (!this.#blocked) socketOf(this.#client).resume();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    socketOf(this.#client).resume();
    await this.#client.end().catch(() => {});
  }

  async #start(names: ReplicationNames, { check, from }: StreamBegin): Promise<void> {
    const giveUp = setTimeout(() => this.#client.breakIdle(this.#idleTimeoutMs), this.#idleTimeoutMs);
    try {
      this.#confirmed = await check(this.#client);
      // The source gives up this connection after the same time, so that the slot is free for the next one.
      await this.#client.query(`SET wal_sender_timeout = ${this.#idleTimeoutMs}`);
      await this.#begin(names, from > this.#confirmed ? from : this.#confirmed);
    } finally {
      clearTimeout(giveUp);
    }
    const pauseMs = Math.min(statusMs, this.#idleTimeoutMs / 4);
    this.#timer = setInterval(() => this.#speak(this.#idleTimeoutMs / pauseMs), pauseMs);
  }

  async #begin(names: ReplicationNames, from: bigint): Promise<void> {
    const options = `proto_version '1', publication_names '${quoteName(names.publication).replaceAll("'", "''")}'`;
    const sql = `START_REPLICATION SLOT ${quoteName(names.slot)} LOGICAL ${formatLsn(from)} (${options})`;
    await new Promise<void>((resolve, reject) => {
      const connection = connectionOf(this.#client);
      connection.once("replicationStart", resolve);
      copyOut(this.#client, sql, (chunk) => this.#receive(chunk)).then(
        () => this.#over(new AppError("SOURCE_UNREACHABLE", "Postgres ended the replication stream.")),
        (error: Error) => {
          reject(error);
          this.#over(error);
        },
      );
    });
  }

  /** Words are counted, not time: a process that was stopped for a while has not listened. */
  #speak(most: number): void {
    if (!this.#blocked && this.#unanswered >= most) this.#client.breakIdle(this.#idleTimeoutMs);
    this.#unanswered += 1;
    this.#sendStatus();
  }

  #over(error: Error): void {
    clearInterval(this.#timer);
    if (!this.#closed) this.#receiver.failed(postgresSourceError(error));
  }

  #receive(chunk: Buffer): void {
    this.#unanswered = 0;
    if (chunk[0] === 0x77) {
      const payload = chunk.subarray(25);
      // The parser writes over its buffer, so what is kept is copied.
      if (this.#blocked) this.#kept.push(Buffer.from(payload));
      else if (!this.#receiver.take(decode(payload))) this.#block();
    } else if (chunk[0] === 0x6b) {
      const walEnd = chunk.readBigUInt64BE(1);
      if (this.#kept.length === 0 && !this.#blocked) this.#receiver.idle(walEnd);
      if (chunk[17] === 1) this.#sendStatus(false);
    }
  }

  #block(): void {
    this.#blocked = true;
    socketOf(this.#client).pause();
  }

  /** Asks for an answer, which also says how far the source's log is. */
  #sendStatus(asks = true): void {
    if (this.#closed) return;
    const message = Buffer.alloc(34);
    message[0] = 0x72;
    message[33] = asks ? 1 : 0;
    for (const at of [1, 9, 17]) message.writeBigUInt64BE(this.#confirmed, at);
    message.writeBigInt64BE(BigInt(Date.now() - epochMs) * 1000n, 25);
    connectionOf(this.#client).sendCopyFromChunk(message);
  }
}

type Connection = {
  readonly stream: { pause(): void; resume(): void };
  once(event: string, listener: () => void): void;
  sendCopyFromChunk(chunk: Buffer): void;
};

/** The wire connection, which `pg` has without declaring it. */
function connectionOf(client: pg.Client): Connection {
  return (client as unknown as { connection: Connection }).connection;
}

function socketOf(client: pg.Client) {
  return connectionOf(client).stream;
}

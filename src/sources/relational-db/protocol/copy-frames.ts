/**
 * Rows of `COPY ... TO STDOUT` without an object for each of them. It stands between a connection's socket and the
 * parser of `pg`: the payloads of CopyData messages go to a sink while a copy runs, and every other byte to the parser
 * as it came, so that errors, notices and the end of the copy are what they always are.
 */
import { EventEmitter } from "node:events";
import type { SocketConstructorOpts } from "node:net";
import type { Duplex } from "node:stream";
import type pg from "pg";
import { AppError } from "../../../lib/errors.ts";
import { postgresSourceError } from "../server/errors.ts";

/** Where rows go. Postgres sends one row in one message. */
export type RowSink = {
  /** A row of so many bytes begins. */
  begin(bytes: number): void;
  /** The next bytes of it, which are the caller's again afterwards. */
  add(chunk: Buffer, from: number, to: number): void;
  /** Asked after each read: undefined, or what must resolve before more is read. When it rejects, the copy fails. */
  full?(): Promise<void> | undefined;
};

const copyData = 0x64;
const headerBytes = 5;
/** Postgres ends below 1 GiB. */
const maxRowBytes = 2 ** 30;

/** What a socket reads into: as much as is there goes through one call. */
const readBytes = 256 * 1024;

/** Cuts the bytes of a connection into messages, wherever its chunks end. A chunk is its owner's again after `push`. */
export class FrameSplitter {
  /** Takes the payloads of CopyData; without one they go to the parser like everything else. */
  sink: RowSink | undefined;
  readonly #parser: (bytes: Buffer) => void;
  /** Bytes of the message's header that have been seen. */
  #seen = 0;
  #length = 0;
  /** Bytes of the message that are still to come. */
  #left = 0;
  #isRow = false;

  constructor(parser: (bytes: Buffer) => void) {
    this.#parser = parser;
  }

  /** Throws when the bytes are not messages of Postgres, and what the sink throws. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      // At the first byte of a message, or within one.
      if (this.#seen === 0) this.#isRow = chunk[at] === copyData && this.sink !== undefined;
      at = this.#isRow ? this.#rows(chunk, at, this.sink as RowSink) : this.#others(chunk, at);
    }
  }

  /** Hands on rows from `at`; the answer is where something else begins, or the chunk's end. */
  #rows(chunk: Buffer, from: number, sink: RowSink): number {
    let at = from;
    while (at < chunk.length) {
      if (this.#seen === 0 && chunk[at] !== copyData) return at;
      if (this.#seen < headerBytes) {
        at = this.#header(chunk, at);
        if (this.#seen < headerBytes) return at;
        if (this.#left > maxRowBytes) throw nonsense(`a row of ${this.#left} bytes`);
        sink.begin(this.#left);
      }
      const end = Math.min(at + this.#left, chunk.length);
      if (end > at) sink.add(chunk, at, end);
      this.#advance(end - at);
      at = end;
    }
    return at;
  }

  #others(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length && !(this.#seen === 0 && chunk[at] === copyData && this.sink !== undefined)) {
      if (this.#seen < headerBytes) {
        at = this.#header(chunk, at);
        if (this.#seen < headerBytes) break;
      }
      const bytes = Math.min(this.#left, chunk.length - at);
      this.#advance(bytes);
      at += bytes;
    }
    // The parser keeps what is not complete; the chunk is its owner's.
    this.#parser(Buffer.from(chunk.subarray(from, at)));
    return at;
  }

  /** Reads as much of the header as there is: its letter, and four bytes of length, which count themselves. */
  #header(chunk: Buffer, from: number): number {
    let at = from;
    if (this.#seen === 0 && chunk.length - at >= headerBytes) {
      this.#length =
        (chunk[at + 1] as number) * 0x1000000 +
        (((chunk[at + 2] as number) << 16) | ((chunk[at + 3] as number) << 8) | (chunk[at + 4] as number));
      this.#seen = headerBytes;
      at += headerBytes;
    }
    for (; this.#seen < headerBytes && at < chunk.length; at += 1) {
      this.#length = this.#seen === 0 ? 0 : this.#length * 256 + (chunk[at] as number);
      this.#seen += 1;
    }
    if (this.#seen < headerBytes) return at;
    if (this.#length < 4) throw nonsense(`a message of ${this.#length} bytes`);
    this.#left = this.#length - 4;
    return at;
  }

  #advance(bytes: number): void {
    this.#left -= bytes;
    if (this.#left === 0) this.#seen = 0;
  }
}

function nonsense(what: string): AppError {
  return new AppError("SOURCE_UNREACHABLE", `the connection to Postgres failed: it sent ${what}`);
}

/** The parts of `pg`'s connection that are used here, which it has without declaring them. */
type Wire = { attachListeners(stream: Duplex | EventEmitter): void };

/** What `pg` calls on a query that is its own protocol handler. */
type Handler = pg.Submittable & {
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
};

/** Copies of one connection. Give it to `connect`; it must be there before the first byte. */
export class CopyFrames {
  #splitter: FrameSplitter | undefined;
  #stream: Duplex | undefined;
  #failure: unknown;

  /** Has a socket without TLS read into one buffer, over and over, instead of into a new one each time. */
  get socketOptions(): SocketConstructorOpts {
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    return { onread: { buffer, callback: (bytes) => this.#receive(buffer.subarray(0, bytes)) } };
  }

  /** Takes its place in a client that has not connected yet. */
  attach(client: pg.Client): void {
    const wire = (client as unknown as { connection: Wire }).connection;
    const attachListeners = wire.attachListeners.bind(wire);
    // Called with the socket, or with what TLS makes of it.
    wire.attachListeners = (stream) => {
      const parsed = new EventEmitter();
      attachListeners(parsed);
      this.#splitter = new FrameSplitter((bytes) => parsed.emit("data", bytes));
      this.#stream = stream as Duplex;
      stream.on("data", (chunk: Buffer) => this.#receive(chunk));
    };
  }

  /**
   * Runs `COPY ... TO STDOUT` on the client; resolves at its end. Throws the AppError of `postgresSourceError`, and
   * what the sink throws.
   */
  async copy(client: pg.Client, sql: string, sink: RowSink): Promise<void> {
    const splitter = this.#splitter as FrameSplitter;
    try {
      await new Promise<void>((resolve, reject) => {
        const handler: Handler = {
          submit: (connection) => {
            splitter.sink = sink;
            connection.query(sql);
          },
          handleCommandComplete: () => {},
          handleReadyForQuery: resolve,
          handleError: (error) => reject(this.#failure ?? postgresSourceError(error)),
        };
        client.query(handler);
      });
    } finally {
      splitter.sink = undefined;
    }
  }

  #receive(chunk: Buffer): boolean {
    try {
      this.#splitter?.push(chunk);
      const full = this.#splitter?.sink?.full?.();
      if (full !== undefined) this.#pauseUntil(full);
    } catch (error) {
      this.#fail(error);
    }
    return true;
  }

  /** The source waits too, as soon as its buffers are full. */
  #pauseUntil(room: Promise<void>): void {
    this.#stream?.pause();
    room.then(
      () => this.#stream?.resume(),
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#stream?.destroy(error as Error);
  }
}

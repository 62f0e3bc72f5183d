/** What a client sends over the native protocol: packets that are read whole, and bytes that are passed on unread. */
import type { Socket } from "node:net";
import { descriptorOf, holdReading, readAgain, stopReading } from "../splice/socket-handle.ts";
import { Incomplete, MalformedPacket, Reader } from "./codec.ts";

/** The client has ended the connection. */
export class ClientGone extends Error {}

/** Bytes that may wait here to be read. */
const maxWaiting = 2_097_152;

export type PacketLimits = { readonly packet: number; readonly string: number };

export class PacketInput {
  readonly #socket: Socket;
  #waiting: Buffer;
  #received: number;
  #gone = false;
  #notify: (() => void) | undefined;
  #sink: ((chunk: Buffer) => void) | undefined;
  #into: Socket | undefined;
  /** Somebody else reads the connection. */
  #isAway = false;

  /** `ahead` are bytes that were read before. */
  constructor(socket: Socket, ahead: Buffer = Buffer.alloc(0)) {
    this.#socket = socket;
    this.#waiting = ahead;
    this.#received = ahead.length;
    const gone = () => {
      this.#gone = true;
      this.#notify?.();
    };
    socket.on("data", this.#onData).once("end", gone).once("close", gone);
    if (socket.destroyed || socket.readableEnded) this.#gone = true;
    readAgain(socket);
  }

  /** True when no byte has arrived that was not read. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#socket.readableLength === 0;
  }

  /** Bytes that have arrived, with those that were read before. */
  get received(): number {
    return this.#received;
  }

  get isGone(): boolean {
    return this.#gone;
  }

  /** Resolves when something can be read. Rejects with ClientGone. */
  async begin(): Promise<void> {
    while (this.#waiting.length === 0) await this.#more();
  }

  /** Resolves with what `parse` makes of the next bytes, once it has enough of them. Rejects with ClientGone. */
  async read<T>(parse: (reader: Reader) => T, limits: PacketLimits): Promise<T> {
    for (;;) {
      try {
        const reader = new Reader(this.#waiting, limits.string);
        const value = parse(reader);
        this.#keep(this.#waiting.subarray(reader.at));
        return value;
      } catch (error) {
        if (!(error instanceof Incomplete)) throw error;
      }
      if (this.#waiting.length > limits.packet) {
        throw new MalformedPacket(`A packet can have ${limits.packet} bytes before its data.`);
      }
      await this.#more();
    }
  }

  /** Reads as many bytes of this value as come next, and returns their number. */
  readRun(value: number): number {
    const end = this.#waiting.findIndex((byte) => byte !== value);
    const length = end === -1 ? this.#waiting.length : end;
    this.#keep(this.#waiting.subarray(length));
    return length;
  }

  /**
   * Passes everything to `sink` from now on, beginning with what waits; undefined: keeps it. Nothing is read while
   * `into`, which `sink` writes to, takes no more.
   */
  passTo(sink: ((chunk: Buffer) => void) | undefined, into?: Socket): void {
    this.#into?.off("drain", this.#goOn);
    this.#into = into?.on("drain", this.#goOn);
    this.#sink = sink;
    this.#goOn();
    if (sink === undefined || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#keep(Buffer.alloc(0));
    this.#pass(waiting, sink);
  }

  /** Puts bytes back that were passed on too early. */
  unread(chunks: readonly Buffer[]): void {
    if (chunks.length === 0) return;
    this.#keep(Buffer.concat([...chunks, this.#waiting]));
    this.#notify?.();
  }

  /** The connection's descriptor, if somebody else can read it. */
  get descriptor(): number | undefined {
    return descriptorOf(this.#socket);
  }

  /** Stops, so that somebody else can read the connection: see `stopReading`. */
  async stopReading(): Promise<(() => boolean) | undefined> {
    this.#isAway = true;
    // What was read before goes the usual way.
    const isStopped = await stopReading(this.#socket, () => {});
    // A `readAgain` meanwhile was too early: the connection was stopped once more after it.
    this.#isAway = true;
    return isStopped;
  }

  /** Reads again, after somebody else has read so many bytes. */
  readAgain(others: number): void {
    this.#received += others;
    if (!this.#isAway) return;
    this.#isAway = false;
    readAgain(this.#socket);
  }

  /** Stops for good, and returns what was not read. The socket is paused. */
  release(): Buffer {
    holdReading(this.#socket);
    this.#socket.off("data", this.#onData);
    const rest = this.#socket.read() as Buffer | null;
    return rest === null ? this.#waiting : Buffer.concat([this.#waiting, rest]);
  }

  readonly #onData = (chunk: Buffer) => {
    this.#received += chunk.length;
    if (this.#sink !== undefined) return this.#pass(chunk, this.#sink);
    this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
    if (this.#waiting.length > maxWaiting) this.#socket.pause();
    this.#notify?.();
  };

  readonly #goOn = () => {
    if (!this.#isAway) this.#socket.resume();
  };

  #pass(chunk: Buffer, sink: (chunk: Buffer) => void): void {
    sink(chunk);
    if (this.#into?.writableNeedDrain === true) this.#socket.pause();
  }

  #keep(waiting: Buffer): void {
    const wasFull = this.#waiting.length > maxWaiting;
    this.#waiting = waiting;
    if (wasFull && waiting.length <= maxWaiting) this.#socket.resume();
  }

  async #more(): Promise<void> {
    if (this.#gone) throw new ClientGone();
    await new Promise<void>((resolve) => {
      this.#notify = resolve;
    });
    this.#notify = undefined;
  }
}

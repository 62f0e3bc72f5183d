/**
 * What a server may make us hold. The driver gathers each message and each result in memory whatever their size, before
 * the login too, and derives SCRAM keys with as many iterations as the server wants, on a thread that others wait for.
 */
import type { EventEmitter } from "node:events";
import type pg from "pg";

/** One row of a copy, or one change: Postgres ends below 1 GiB. */
const maxCopyBytes = 2 ** 30 + 2 ** 20;
/** What a query brings until its end, notices and errors included. Copies are not results. */
const maxResult = { bytes: 64 * 2 ** 20, messages: 1_000_000 };
/** Servers use 4,096 unless told otherwise. */
const maxIterations = 1_000_000;

const copyData = 0x64;
const readyForQuery = 0x5a;
const headerBytes = 5;

/** Follows the messages of a server by their headers. */
export class MessageLimits {
  readonly #header = Buffer.alloc(headerBytes);
  #seen = 0;
  /** Bytes of the message that are still to come. */
  #left = 0;
  #bytes = 0;
  #messages = 0;

  /** What is wrong with the bytes; undefined while all is well. Wherever chunks end. */
  push(chunk: Buffer): string | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#seen < headerBytes) {
        const copied = chunk.copy(this.#header, this.#seen, at, at + headerBytes - this.#seen);
        this.#seen += copied;
        at += copied;
        if (this.#seen < headerBytes) return undefined;
        const wrong = this.#begin();
        if (wrong !== undefined) return wrong;
      }
      const skipped = Math.min(this.#left, chunk.length - at);
      this.#left -= skipped;
      at += skipped;
      if (this.#left === 0) this.#seen = 0;
    }
    return undefined;
  }

  #begin(): string | undefined {
    const kind = this.#header[0];
    const length = this.#header.readUInt32BE(1);
    if (length < 4) return `a message of ${length} bytes`;
    this.#left = length - 4;
    if (kind === copyData || kind === readyForQuery) {
      this.#bytes = 0;
      this.#messages = 0;
      return length > maxCopyBytes ? `a message of ${length} bytes` : undefined;
    }
    this.#bytes += length;
    this.#messages += 1;
    if (this.#bytes > maxResult.bytes) return `more than ${maxResult.bytes} bytes as one result`;
    return this.#messages > maxResult.messages ? `more than ${maxResult.messages} messages as one result` : undefined;
  }
}

/** Parts of `pg`'s connection, which it has without declaring them. */
type Wire = EventEmitter & { attachListeners(stream: EventEmitter): void };

/** Holds a client to these limits; before it connects. `drop` breaks the connection with an error. */
export function limitMessages(client: pg.Client, drop: (error: Error) => void): void {
  const wire = (client as unknown as { connection: Wire }).connection;
  const refuse = (what: string) => drop(Object.assign(new Error(`the server sent ${what}`), { code: "EMSGSIZE" }));
  const attachListeners = wire.attachListeners.bind(wire);
  wire.attachListeners = (stream) => {
    const limits = new MessageLimits();
    let isRefused = false;
    stream.on("data", (chunk: Buffer) => {
      const wrong = isRefused ? undefined : limits.push(chunk);
      if (wrong === undefined) return;
      isRefused = true;
      refuse(wrong);
    });
    attachListeners(stream);
  };
  wire.on("authenticationSASLContinue", (message: { data: string }) => {
    const iterations = Number(/(?:^|,)i=(\d+)/.exec(message.data)?.[1] ?? 0);
    if (iterations <= maxIterations) return;
    // The driver, which listens after this, derives nothing from it.
    message.data = "";
    refuse(`a login of ${iterations} iterations; at most ${maxIterations} are made`);
  });
}

/**
 * Writes bulk data to an HTTP message in larger pieces than it arrives: what comes in one turn of the event loop
 * leaves in one write, with one chunk header. Back-pressure is the socket's own.
 */
import type { OutgoingMessage } from "node:http";
import { free } from "./free.ts";

export class BatchWriter {
  readonly #message: OutgoingMessage;
  readonly #limit: number;
  #batch: Buffer[] = [];
  #bytes = 0;
  #scheduled = false;
  #waiting: (() => void) | undefined;

  /** Asks the source to wait once `limit` bytes are collected. */
  constructor(message: OutgoingMessage, limit = 1_048_576) {
    this.#message = message;
    this.#limit = limit;
  }

  /** Takes the chunk over: its memory is given back once it has left. False means: wait for `onDrain` before the next. */
  write(chunk: Buffer): boolean {
    this.#batch.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.#turn());
    }
    return this.#bytes < this.#limit && !this.#message.socket?.writableNeedDrain;
  }

  onDrain(listener: () => void): void {
    this.#waiting = listener;
  }

  /** Writes what is collected; call it before ending the message. */
  flush(): void {
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    this.#message.cork();
    const last = batch.pop() as Buffer;
    for (const chunk of batch) this.#message.write(chunk);
    this.#message.write(last, () => {
      for (const chunk of batch) free(chunk);
      free(last);
    });
    this.#message.uncork();
  }

  #turn(): void {
    this.#scheduled = false;
    this.flush();
    const socket = this.#message.socket;
    if (socket?.writableNeedDrain) socket.once("drain", () => this.#release());
    else this.#release();
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }
}

/**
 * Sends the rest of a request's body to a server as it arrives, with back-pressure. Where the request allows it, the
 * kernel moves a large body of known length.
 */
import { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { releaseBytes } from "../../lib/release-bytes.ts";
import { discardBody } from "../splice/discard-body.ts";
import { descriptorOf, resumeReading, stopReading } from "../splice/socket-handle.ts";
import type { SpliceJob, Splicer, SpliceThread } from "../splice/splicer.ts";

export type UploadOptions = {
  /** The connection to the server. */
  readonly to: Socket;
  readonly rest: Readable;
  /** Bytes of the rest. Undefined: not known, so it is sent in chunks. */
  readonly bytes: number | undefined;
  readonly splicing: Splicing | undefined;
  /** The body has ended before it was complete. */
  readonly onBroken: (error: Error) => void;
};

export type Splicing = {
  readonly splicer: Splicer;
  /**
   * Announces that the client's connection closes after this response: Node's HTTP parser does not see what the kernel
   * moves. Returns false when it is too late for that.
   */
  readonly takeConnection: () => boolean;
};

/** Shorter bodies are copied: to move them costs more than it gains. */
const leastSplicedBytes = 8 * 1_048_576;

export class BodyUpload {
  readonly #options: UploadOptions;
  #sent = 0;
  #complete = false;
  #over = false;
  #copying = false;
  /** The request whose connection was taken from Node's HTTP parser. */
  #taken: IncomingMessage | undefined;
  #job: SpliceJob | undefined;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /** True when the whole body was sent. */
  get isComplete(): boolean {
    return this.#complete;
  }

  begin(): void {
    const { rest } = this.#options;
    if (rest.readableEnded) this.#finish();
    else rest.once("end", () => this.#finish());
    rest.once("close", () => this.#break());
    this.#copy();
    void this.#splice();
  }

  /** The server takes more. */
  resume(): void {
    if (this.#copying) this.#options.rest.resume();
  }

  /**
   * The server has answered, or is gone: what still arrives is discarded. When the client's connection closes after the
   * response, returns a promise that resolves when the client has sent everything, or sends nothing more.
   */
  end(): Promise<void> | undefined {
    this.#over = true;
    if (this.#taken !== undefined) return this.#complete ? undefined : this.#discard(this.#taken);
    this.#options.rest.resume();
    return undefined;
  }

  #copy(): void {
    this.#copying = true;
    this.#options.rest.on("data", this.#onData);
    // The reader of its beginning may have paused it.
    this.#options.rest.resume();
  }

  readonly #onData = (chunk: Buffer) => {
    if (!this.#over && !this.#send(chunk)) this.#options.rest.pause();
  };

  #finish(): void {
    this.#complete = true;
    if (!this.#over && this.#options.bytes === undefined) this.#options.to.write("0\r\n\r\n");
  }

  #break(): void {
    if (!this.#over && !this.#complete) this.#options.onBroken(new Error("the body ended early"));
  }

  #send(chunk: Buffer): boolean {
    this.#sent += chunk.length;
    const { to, bytes } = this.#options;
    const free = () => releaseBytes(chunk);
    return bytes === undefined ? writeChunk(to, chunk, free) : to.write(chunk, free);
  }

  get #left(): number {
    return (this.#options.bytes ?? 0) - this.#sent;
  }

  async #splice(): Promise<void> {
    const { rest, splicing } = this.#options;
    if (splicing === undefined || !(rest instanceof IncomingMessage) || this.#left < leastSplicedBytes) return;
    const thread = await splicing.splicer.reserve();
    if (thread === undefined) return;
    if (this.#over || this.#left < leastSplicedBytes) return thread.release();
    rest.off("data", this.#onData);
    this.#copying = false;
    if (await this.#takeOver(rest, thread, splicing)) return this.#follow(rest);
    thread.release();
    resumeReading(rest);
    this.#copy();
  }

  /** Begins to move the rest. Returns false when it must be copied. */
  async #takeOver(message: IncomingMessage, thread: SpliceThread, splicing: Splicing): Promise<boolean> {
    const { to } = this.#options;
    const isStopped = await stopReading(message, (chunk) => this.#send(chunk));
    // Everything sent so far is in the kernel before it moves more.
    await new Promise((resolve) => to.write("", resolve));
    const from = descriptorOf(message.socket);
    const into = descriptorOf(to);
    if (this.#over || from === undefined || into === undefined) return false;
    if (isStopped?.() !== true || !splicing.takeConnection()) return false;
    this.#taken = message;
    this.#job = thread.move(from, into, this.#left);
    return true;
  }

  async #follow(message: IncomingMessage): Promise<void> {
    const outcome = await this.#job?.outcome.catch(() => undefined);
    this.#job = undefined;
    this.#sent += outcome?.taken ?? 0;
    if (outcome?.end === "complete") this.#complete = true;
    // The server's response, or the end of its connection, says more.
    else if (outcome?.end === "receiverGone") resumeReading(message);
    else if (!this.#over) {
      this.#break();
      message.socket.destroy();
    }
  }

  async #discard(message: IncomingMessage): Promise<void> {
    this.#job?.cancel();
    await this.#job?.outcome.catch(() => {});
    await discardBody(message, this.#left);
  }
}

/**
 * Sends one chunk of a body of unknown length (RFC 9112, 7.1). Returns false when the connection's buffer is full.
 * `written` is called when nobody reads the chunk any more.
 */
export function writeChunk(to: Socket, chunk: Buffer, written?: () => void): boolean {
  if (chunk.length === 0) return true;
  to.cork();
  to.write(`${chunk.length.toString(16)}\r\n`, "latin1");
  to.write(chunk, written);
  const more = to.write("\r\n");
  to.uncork();
  return more;
}

/**
 * Parses HTTP/1.1 responses from a connection (RFC 9112). It takes bytes as they arrive and returns the body's bytes as
 * slices of them, without copying.
 */

export type AnswerHead = {
  readonly status: number;
  /** Names as the server spelled them, in order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
};

export type AnswerHandler = {
  onHead(head: AnswerHead): void;
  onData(slice: Buffer): void;
  /** The message is complete. `reusable`: the connection can carry another request. */
  onEnd(reusable: boolean): void;
};

export class MalformedAnswer extends Error {
  override readonly name = "MalformedAnswer";
}

/** The next expected part of the response. */
type Place = "head" | "sized" | "chunkSize" | "chunkData" | "chunkEnd" | "trailer" | "untilClose" | "done";

const maxHeadBytes = 1_048_576;
const maxLineBytes = 16_384;
const empty: Buffer = Buffer.alloc(0);

/** Parses one response. Throws MalformedAnswer for invalid bytes. */
export class AnswerReader {
  readonly #handler: AnswerHandler;
  readonly #hasBody: boolean;
  #place: Place = "head";
  /** The beginning of an incomplete head or line. */
  #kept = empty;
  /** Bytes left of the body or of the chunk. */
  #left = 0;
  #keepsOpen = true;

  /** `method` is the request's: a response to HEAD has no body. */
  constructor(method: string, handler: AnswerHandler) {
    this.#handler = handler;
    this.#hasBody = method !== "HEAD";
  }

  read(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      switch (this.#place) {
        case "head":
          at = this.#readHead(bytes, at);
          break;
        case "sized":
        case "chunkData":
          at = this.#readData(bytes, at);
          break;
        case "untilClose":
          this.#handler.onData(bytes.subarray(at));
          return;
        case "done":
          throw new MalformedAnswer("the server sent more than its answer");
        default:
          at = this.#readFraming(bytes, at);
      }
    }
  }

  /** Called when the server has closed the connection. Returns false when this truncates the response. */
  close(): boolean {
    if (this.#place === "untilClose") this.#end(false);
    return this.#place === "done";
  }

  #readHead(bytes: Buffer, at: number): number {
    const all = this.#kept.length === 0 ? bytes.subarray(at) : Buffer.concat([this.#kept, bytes.subarray(at)]);
    const end = all.indexOf("\r\n\r\n");
    if (end === -1) {
      if (all.length > maxHeadBytes) throw new MalformedAnswer(`the head has more than ${maxHeadBytes} bytes`);
      // The memory of the received bytes is reused.
      this.#kept = Buffer.from(all);
      return bytes.length;
    }
    const known = this.#kept.length;
    this.#kept = empty;
    this.#begin(parseHead(all.toString("latin1", 0, end)));
    return at + end + 4 - known;
  }

  #begin(head: AnswerHead): void {
    // Informational responses concern only the server and this client.
    if (head.status < 200) return;
    this.#keepsOpen = !/\bclose\b/i.test(headerOf(head, "connection") ?? "");
    this.#handler.onHead(head);
    const length = headerOf(head, "content-length");
    if (!this.#hasBody || head.status === 204 || head.status === 304) this.#end(this.#keepsOpen);
    else if (/\bchunked\b/i.test(headerOf(head, "transfer-encoding") ?? "")) this.#place = "chunkSize";
    else if (length === undefined) this.#place = "untilClose";
    else this.#beginSized(length);
  }

  #beginSized(length: string): void {
    if (!/^\d{1,15}$/.test(length)) throw new MalformedAnswer(`a content length of "${length}"`);
    this.#left = Number(length);
    this.#place = "sized";
    if (this.#left === 0) this.#end(this.#keepsOpen);
  }

  #readData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (end > at) this.#handler.onData(bytes.subarray(at, end));
    if (this.#left === 0) {
      if (this.#place === "sized") this.#end(this.#keepsOpen);
      else this.#place = "chunkEnd";
    }
    return end;
  }

  /** One line: a chunk's size, the end of its data, or a trailer. */
  #readFraming(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(0x0a, at);
    const end = newline === -1 ? bytes.length : newline + 1;
    this.#kept = Buffer.concat([this.#kept, bytes.subarray(at, end)]);
    if (this.#kept.length > maxLineBytes) throw new MalformedAnswer("the line of a chunk has no end");
    if (newline === -1) return end;
    const line = this.#kept.toString("latin1").replace(/\r?\n$/, "");
    this.#kept = empty;
    if (this.#place === "chunkSize") this.#beginChunk(line);
    else if (this.#place === "chunkEnd" && line === "") this.#place = "chunkSize";
    else if (this.#place === "chunkEnd") throw new MalformedAnswer("a chunk is longer than its size");
    else if (line === "") this.#end(this.#keepsOpen);
    return end;
  }

  #beginChunk(line: string): void {
    const size = /^([0-9a-f]{1,12})[ \t]*(?:;|$)/i.exec(line)?.[1];
    if (size === undefined) throw new MalformedAnswer("a chunk without a size");
    this.#left = Number.parseInt(size, 16);
    this.#place = this.#left === 0 ? "trailer" : "chunkData";
  }

  #end(reusable: boolean): void {
    this.#place = "done";
    this.#handler.onEnd(reusable);
  }
}

function headerOf(head: AnswerHead, name: string): string | undefined {
  return head.headers.find(([given]) => given.length === name.length && given.toLowerCase() === name)?.[1];
}

function parseHead(text: string): AnswerHead {
  const [first = "", ...lines] = text.split("\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1];
  if (status === undefined) throw new MalformedAnswer("no HTTP answer");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new MalformedAnswer("a header without a name");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return { status: Number(status), headers };
}

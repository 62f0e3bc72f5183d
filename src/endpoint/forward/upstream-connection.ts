/** One connection to a server: one request at a time, bytes unchanged, read without a copy. */
import { connect, type OnReadOpts, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { type AnswerHead, AnswerReader, MalformedAnswer } from "./answer-reader.ts";
import { BodyUpload, type Splicing, writeChunk } from "./body-upload.ts";
import { LeasedReads } from "./read-buffers.ts";

export type HeaderList = readonly (readonly [name: string, value: string])[];

export type UpstreamRequest = {
  readonly method: string;
  /** The value of the `Host` header. Default `localhost`. */
  readonly host?: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** Without `Host`; a list may have a name several times. */
  readonly headers: Readonly<Record<string, string>> | HeaderList;
  /** The bytes that are known already, followed by the rest as it arrives. */
  readonly body: { readonly first: readonly Buffer[]; readonly rest: Readable | undefined };
  /** Lets the kernel move a large rest. */
  readonly splicing?: Splicing | undefined;
};

export type UpstreamHandler = {
  onHead(head: AnswerHead): void;
  /** `sent` must be called once the slice's memory may be reused; until then the connection may stop reading. */
  onData(slice: Buffer, sent: () => void): void;
  /** The response is complete. */
  onEnd(): void;
  /** The response is incomplete and nothing more follows. `notReached`: nothing of the request was sent. */
  onError(error: Error, notReached: boolean): void;
};

/** Opens connections to one server. */
export type UpstreamConnector = {
  /** `onread` receives what arrives. */
  open(onread: OnReadOpts): Socket;
  /** The socket's event after which it sends; before it, nothing of a request has reached the server. */
  readonly readyEvent: "connect" | "secureConnect";
  /** How long a connection without a request is kept. Default 25 s. */
  readonly idleMs?: number;
};

/** Connects to a port of this machine. */
export function loopbackConnector(port: number, host = "127.0.0.1"): UpstreamConnector {
  return {
    open: (onread) => connect({ host, port, noDelay: true, onread }),
    readyEvent: "connect",
  };
}

type Exchange = {
  readonly reader: AnswerReader;
  readonly handler: UpstreamHandler;
  readonly upload: BodyUpload | undefined;
};

const idleMs = 25_000;

export class UpstreamConnection {
  readonly #socket: Socket;
  readonly #connector: UpstreamConnector;
  readonly #onIdle: (connection: UpstreamConnection) => void;
  #exchange: Exchange | undefined;
  #connected = false;
  /** False while a part of a request's head has not left this process. */
  #headSent = true;
  readonly #reads = new LeasedReads((bytes) => this.#take(bytes));

  /** `onIdle` is called when an exchange has ended and the next may begin. */
  constructor(
    connector: UpstreamConnector,
    listeners: { onIdle(connection: UpstreamConnection): void; onClose(connection: UpstreamConnection): void },
  ) {
    this.#onIdle = listeners.onIdle;
    this.#connector = connector;
    this.#socket = connector.open(this.#reads.onread);
    this.#reads.socket = this.#socket;
    let failure: Error | undefined;
    this.#socket.once(connector.readyEvent, () => {
      this.#connected = true;
    });
    this.#socket.on("drain", () => this.#exchange?.upload?.resume());
    this.#socket.on("timeout", () => this.destroy());
    this.#socket.once("error", (error) => {
      failure = error;
    });
    this.#socket.once("close", () => {
      listeners.onClose(this);
      this.#fail(failure ?? new Error("the connection was closed"));
    });
  }

  /**
   * Begins an exchange; none may be in progress. Returns a function that cancels it while it lasts. Throws when a value
   * cannot be part of a request's head.
   */
  send(request: UpstreamRequest, handler: UpstreamHandler): (error: Error) => void {
    const { method, body, splicing } = request;
    const { first, rest } = body;
    const headers: HeaderList = isList(request.headers) ? request.headers : Object.entries(request.headers);
    const length = rest === undefined ? undefined : headers.find(([name]) => isNamed(name, "content-length"))?.[1];
    const chunked = rest !== undefined && length === undefined;
    const head = headOf(request, headers, framingOf(method, body, length));
    const upload = rest === undefined ? undefined : this.#upload(rest, length, first, splicing);
    const exchange: Exchange = { reader: this.#reader(method, handler), handler, upload };
    this.#exchange = exchange;
    this.#socket.setTimeout(0);
    this.#headSent = false;
    this.#socket.cork();
    this.#socket.write(head, "latin1", () => {
      this.#headSent = true;
      // It was cancelled meanwhile.
      if (this.#exchange !== exchange) this.#socket.destroy();
    });
    for (const chunk of first) chunked ? writeChunk(this.#socket, chunk) : this.#socket.write(chunk);
    this.#socket.uncork();
    // Before the connection is established nothing is read from the body, so that the request can be sent again.
    if (this.#connected) upload?.begin();
    else if (upload !== undefined) {
      this.#socket.once(this.#connector.readyEvent, () => this.#exchange === exchange && upload.begin());
    }
    return (error) => {
      if (this.#exchange === exchange) this.destroy(error);
    };
  }

  /**
   * Cancels what is in progress. The engine library ends when a connection breaks off in the middle of a request's
   * head: a head that has begun is sent to its end first.
   */
  destroy(error?: Error): void {
    if (this.#connected && !this.#headSent && !this.#socket.destroyed) {
      this.#fail(error ?? new Error("the connection was closed"));
    } else this.#socket.destroy(error);
  }

  #upload(
    rest: Readable,
    length: string | undefined,
    first: readonly Buffer[],
    splicing: Splicing | undefined,
  ): BodyUpload {
    const bytes = length === undefined ? undefined : Number(length) - sizeOf(first);
    return new BodyUpload({ to: this.#socket, rest, bytes, splicing, onBroken: (error) => this.destroy(error) });
  }

  #reader(method: string, handler: UpstreamHandler): AnswerReader {
    return new AnswerReader(method, {
      onHead: (head) => handler.onHead(head),
      onData: (slice) => handler.onData(slice, this.#reads.hold()),
      onEnd: (reusable) => {
        const upload = this.#exchange?.upload;
        this.#exchange = undefined;
        const discarded = upload?.end();
        if (discarded === undefined) handler.onEnd();
        else void discarded.then(() => handler.onEnd());
        if (!reusable || !this.#headSent || upload?.isComplete === false) return this.destroy();
        this.#socket.setTimeout(this.#connector.idleMs ?? idleMs);
        this.#onIdle(this);
      },
    });
  }

  #take(bytes: Buffer): void {
    try {
      if (this.#exchange === undefined) throw new MalformedAnswer("the server sent what nobody asked for");
      this.#exchange.reader.read(bytes);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #fail(error: Error): void {
    const broken = this.#exchange;
    this.#exchange = undefined;
    if (broken === undefined) return;
    if (this.#connected) void broken.upload?.end();
    // Without a length and without chunks, the end of the connection is the end of the response.
    if (!broken.reader.close()) broken.handler.onError(error, !this.#connected);
  }
}

function isList(headers: UpstreamRequest["headers"]): headers is HeaderList {
  return Array.isArray(headers);
}

function isNamed(name: string, wanted: string): boolean {
  return name.length === wanted.length && name.toLowerCase() === wanted;
}

function sizeOf(buffers: readonly Buffer[]): number {
  return buffers.reduce((bytes, { length }) => bytes + length, 0);
}

/** The header that delimits the body, if there is one. `length` is that of a body with a rest, if it is known. */
function framingOf(
  method: string,
  { first, rest }: UpstreamRequest["body"],
  length: string | undefined,
): string | undefined {
  if (rest !== undefined) return length === undefined ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  const bytes = sizeOf(first);
  // A ClickHouse server that is sent another method without a length reads until the connection closes.
  return bytes > 0 || (method !== "GET" && method !== "HEAD") ? `Content-Length: ${bytes}` : undefined;
}

/**
 * Only `framing` says how long the body is. A length that a client has sent along with a GET, whose body is not
 * forwarded, would turn the beginning of the next request on this connection into a body, and the rest of it into a
 * request of the client's making.
 */
function headOf(
  { method, path, host = "localhost" }: UpstreamRequest,
  headers: HeaderList,
  framing: string | undefined,
): string {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of headers) {
    if (!isNamed(name, "content-length") && !isNamed(name, "transfer-encoding")) lines.push(`${name}: ${value}`);
  }
  if (framing !== undefined) lines.push(framing);
  const head = `${lines.join("\r\n")}\r\n\r\n`;
  if (head.split("\r\n").length !== lines.length + 2 || /[^\t\r\n\x20-\xff]/.test(head)) {
    throw new Error("a request whose head has a line break in a value");
  }
  return head;
}

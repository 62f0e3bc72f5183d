/**
 * One connection to a broker: requests are sent immediately and answered in order. A response is read from the socket
 * straight into its final memory, so that a large one is neither assembled from chunks nor needs new memory.
 */
import { isIP, type Socket } from "node:net";
import { AppError } from "../../../lib/errors.ts";
import type { BrokerAccess, BrokerAddress } from "../access.ts";
import { BrokerError, LoginError, UnreachableBroker } from "../failures.ts";
import type { Call } from "./call.ts";
import { type Login, logIn, withSpellings } from "./login.ts";
import { apis, apiVersions, commonVersion, isFlexible, type OfferedVersions } from "./versions.ts";
import { KafkaWireReader, KafkaWireWriter } from "./wire.ts";

type Waiting = {
  readonly call: Call<unknown>;
  readonly version: number;
  readonly timer: NodeJS.Timeout;
  resolve(value: unknown): void;
  reject(error: Error): void;
};

const connectMs = 5_000;
const answerMs = 30_000;
/** Small responses, and the beginning of large ones. */
const headBytes = 64 * 1024;
/** A response that claims to be larger is invalid: the metadata of 200,000 partitions has a third of it. */
const maxAnswerBytes = 64 * 2 ** 20;
/** Share of a session's lifetime after which further requests use a new connection. */
const sessionShare = 0.8;

export class Connection {
  readonly #address: BrokerAddress;
  readonly #socket: Socket;
  readonly #clientId: string;
  readonly #waiting = new Map<number, Waiting>();
  readonly #head = Buffer.allocUnsafeSlow(headBytes);
  /** Bytes of `#head` that were received and not parsed. */
  #headEnd = 0;
  /** A large response that is partly received. */
  #body: Buffer | undefined;
  #bodyEnd = 0;
  #lastId = 0;
  #offered: OfferedVersions = new Map();
  #failure: Error | undefined;
  #isFirst = true;
  #expiresAt = Number.POSITIVE_INFINITY;
  #retired = false;

  /**
   * Connected and logged in, with the broker's versions known. Rejects with the error of the socket, TLS or the broker.
   */
  static async open(address: BrokerAddress, access: BrokerAccess, clientId: string): Promise<Connection> {
    const open = (login?: Login) => Connection.#open(address, access, clientId, login);
    return access.login === undefined ? await open() : await withSpellings(access.login, open);
  }

  static async #open(
    address: BrokerAddress,
    access: BrokerAccess,
    clientId: string,
    login?: Login,
  ): Promise<Connection> {
    // Brokers announce addresses.
    if (!(address.port > 0 && address.port < 65_536)) throw new UnreachableBroker(address, notUnderstood());
    const connection = new Connection(address, access, clientId);
    using _ = setTimeout(() => connection.#fail(new Error("connecting timed out")), connectMs);
    try {
      await connection.#connected(access.tls !== undefined);
      connection.#offered = await connection.#askVersions();
      if (login !== undefined) {
        const lifetimeMs = await logIn(connection, login);
        if (lifetimeMs > 0) connection.#expiresAt = performance.now() + lifetimeMs * sessionShare;
      }
      return connection;
    } catch (error) {
      connection.#fail(error as Error);
      throw connection.#failure;
    }
  }

  private constructor(address: BrokerAddress, { dialer, tls }: BrokerAccess, clientId: string) {
    this.#address = address;
    this.#clientId = clientId;
    const { host, port } = address;
    const onread = { buffer: () => this.#room(), callback: (count: number) => this.#receive(count) };
    const name = tls?.sendsName === true && isIP(host) === 0 ? { servername: host } : {};
    this.#socket =
      tls === undefined
        ? dialer.connect({ host, port, noDelay: true, onread })
        : dialer.connectTls({ host, port, ...tls.options, ...name, ...({ onread } as object) });
    this.#socket.setNoDelay(true);
    this.#socket.on("error", (error) => {
      const isEarly = /before secure TLS connection/.test(error.message);
      this.#fail(isEarly ? new Error("TLS handshake failed", { cause: error }) : error);
    });
    this.#socket.on("close", () => this.#fail(new Error("the connection was closed")));
  }

  /** True while it accepts further requests. */
  get usable(): boolean {
    return this.#failure === undefined && !this.#retired && performance.now() < this.#expiresAt;
  }

  /** Rejects when the connection ends, or the broker does not answer in time or does not support the request. */
  async send<T>(call: Call<T>): Promise<T> {
    return await this.#send(call, commonVersion(call.api, this.#offered, call.newest));
  }

  async #send<T>(call: Call<T>, version: number): Promise<T> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#lastId = (this.#lastId + 1) & 0x7fffffff;
    const id = this.#lastId;
    const writer = new KafkaWireWriter();
    writer.int32(0).int16(call.api.key).int16(version).int32(id).string(this.#clientId);
    writer.flexible = isFlexible(call.api, version);
    writer.noTags();
    call.write(writer, version);
    const content = writer.content();
    content.writeInt32BE(content.length - 4, 0);
    return await new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(new Error("the request timed out")), answerMs);
      this.#waiting.set(id, { call, version, timer, resolve: resolve as (value: unknown) => void, reject });
      this.#socket.write(content);
    });
  }

  /** Closes the connection once all requests are answered. */
  retire(): void {
    this.#retired = true;
    if (this.#waiting.size === 0) this.close();
  }

  close(): void {
    this.#fail(new Error("the connection was closed"));
  }

  async #askVersions(): Promise<OfferedVersions> {
    const offered = await this.#send(apiVersions, apis.apiVersions.max);
    return offered ?? (await this.#send(apiVersions, 0)) ?? new Map();
  }

  #connected(isTls: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.once(isTls ? "secureConnect" : "connect", resolve);
      this.#socket.once("close", () => reject(this.#failure));
    });
  }

  /** The memory for the next bytes. */
  #room(): Buffer {
    return this.#body === undefined ? this.#head.subarray(this.#headEnd) : this.#body.subarray(this.#bodyEnd);
  }

  #receive(count: number): boolean {
    if (this.#failure !== undefined) return false;
    if (this.#body === undefined) {
      this.#headEnd += count;
      this.#takeApart();
    } else {
      this.#bodyEnd += count;
      if (this.#bodyEnd === this.#body.length) {
        const answer = this.#body;
        this.#body = undefined;
        this.#answer(answer);
      }
    }
    return true;
  }

  /** Passes the complete responses in the head to their callers. */
  #takeApart(): void {
    const head = this.#head;
    if (this.#isFirst && isTlsRecord(head)) this.#fail(new Error("the broker requires TLS"));
    this.#isFirst = false;
    let at = 0;
    while (this.#headEnd - at >= 8 && this.#body === undefined) {
      const size = head.readInt32BE(at);
      const waiting = this.#waiting.get(head.readInt32BE(at + 4));
      if (waiting === undefined || size < 4 || size > (waiting.call.maxBytes ?? maxAnswerBytes)) {
        this.#fail(notUnderstood());
        return;
      }
      const answer = waiting.call.memory?.(size) ?? Buffer.allocUnsafeSlow(size);
      const copied = head.copy(answer, 0, at + 4, Math.min(this.#headEnd, at + 4 + size));
      at += 4 + copied;
      if (copied === size) this.#answer(answer);
      else {
        this.#body = answer;
        this.#bodyEnd = copied;
      }
    }
    head.copyWithin(0, at, this.#headEnd);
    this.#headEnd -= at;
  }

  #answer(answer: Buffer): void {
    const id = answer.readInt32BE(0);
    const { call, version, timer, resolve, reject } = this.#waiting.get(id) as Waiting;
    this.#waiting.delete(id);
    clearTimeout(timer);
    try {
      const reader = new KafkaWireReader(answer, isFlexible(call.api, version), 4);
      // A client that does not know the broker's versions yet must be able to read this response.
      if (call.api !== apis.apiVersions) reader.tags();
      resolve(call.read(reader, version));
    } catch (error) {
      reject(error instanceof RangeError ? notUnderstood(error) : (error as Error));
    }
    if (this.#retired && this.#waiting.size === 0) this.close();
  }

  #fail(error: Error): void {
    this.#failure ??= hasOwnWords(error) ? error : new UnreachableBroker(this.#address, error);
    this.#socket.destroy();
    for (const { timer, reject } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(this.#failure);
    }
    this.#waiting.clear();
  }
}

/** An error that says more than that the broker cannot be reached. */
function hasOwnWords(error: Error): boolean {
  return error instanceof LoginError || error instanceof AppError || error instanceof UnreachableBroker;
}

/** The first bytes that a TLS port sends to a client without TLS. */
function isTlsRecord(head: Buffer): boolean {
  const [type = 0, major, minor = 0] = head;
  return type >= 0x14 && type <= 0x17 && major === 3 && minor <= 4;
}

function notUnderstood(cause?: Error): BrokerError {
  return new BrokerError("the answer cannot be understood", undefined, { cause });
}

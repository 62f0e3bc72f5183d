/**
 * A small client of the native protocol at any revision. It can send what no real client sends, and reads answers of
 * the simple types that tests use.
 */
import { EventEmitter, once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { Incomplete, Reader, Writer } from "../../src/endpoint/native/codec.ts";
import { clientPackets, readServerHello, since } from "../../src/endpoint/native/hello.ts";
import { loopbackCertificate } from "../network/loopback-certificate.ts";

export type ClientOptions = {
  readonly host?: string;
  /** The client's own. */
  readonly localAddress?: string;
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  readonly revision?: number;
  /** Bytes before the hello, such as a PROXY header. */
  readonly before?: Buffer;
  readonly tls?: boolean;
  /** The name in the TLS handshake; default: localhost. */
  readonly servername?: string;
  /** Trusted in place of the loopback certificate. */
  readonly ca?: Buffer;
};

export type Answer = {
  /** Rows of all blocks, as texts. */
  readonly rows: string[][];
  readonly exception: { readonly code: number; readonly message: string } | undefined;
};

type Pair = readonly [name: string, value: string];
export type QueryParts = {
  readonly id?: string;
  readonly kind?: number;
  readonly stage?: number;
  readonly settings?: readonly (readonly [name: string, value: string, flags?: number])[];
  readonly parameters?: readonly Pair[];
  readonly seal?: string;
  readonly initialAddress?: string;
  readonly initialUser?: string;
  readonly compressed?: boolean;
  readonly token?: string;
  readonly clientName?: string;
  /** Ids of a trace, which have 24 bytes, and the state and flags of it. */
  readonly trace?: { readonly ids: Buffer; readonly state: string; readonly flags: number };
};

/** The newest revision that the endpoint offers. */
export const newest = 54_479;

/** Since then, an INSERT tells which columns have defaults. */
const sinceDefaults = 54_410;
/** Since then, the profile has the rows before aggregation. */
const sinceAggregation = 54_469;

/** A block without columns, which ends data. */
export const emptyData = Buffer.from("0200010002ffffffff000000", "hex");

export function hello({ user = "default", password = "", database = "", revision = newest }: Partial<ClientOptions>) {
  const writer = new Writer().varUint(clientPackets.hello).string("test").varUint(26).varUint(7).varUint(revision);
  return writer.string(database).string(user).string(password).done();
}

export function addendum(revision: number): Buffer {
  const writer = new Writer();
  if (revision >= since.addendum) writer.string("");
  if (revision >= since.chunks) writer.string("notchunked").string("notchunked");
  if (revision >= since.replicasVersion) writer.varUint(3);
  return writer.done();
}

export function queryPacket(text: string | Buffer, revision: number, parts: QueryParts = {}): Buffer {
  const { id = "", kind = 1, stage = 2, settings = [], parameters = [], seal = "", compressed = false } = parts;
  const writer = new Writer().varUint(clientPackets.query).string(id).byte(kind);
  writer
    .string(parts.initialUser ?? "")
    .string("")
    .string(parts.initialAddress ?? "0.0.0.0:0");
  if (revision >= since.startTime) writer.raw(Buffer.alloc(8));
  writer.byte(1).string("os").string("host");
  writer
    .string(parts.clientName ?? "test")
    .varUint(26)
    .varUint(7)
    .varUint(revision)
    .string("");
  if (revision >= since.depth) writer.varUint(0);
  if (revision >= since.patch) writer.varUint(1);
  if (revision >= since.traces) writeTrace(writer, parts.trace);
  if (revision >= since.parallelReplicas) writer.varUint(0).varUint(0).varUint(0);
  if (revision >= since.lineNumbers) writer.varUint(0).varUint(0);
  if (revision >= since.token) {
    writer.byte(parts.token === undefined ? 0 : 1);
    if (parts.token !== undefined) writer.string(parts.token);
  }
  for (const [name, value, flags = 0] of settings) writer.string(name).varUint(flags).string(value);
  writer.string("");
  if (revision >= since.roles) writer.string("");
  if (revision >= since.seal) writer.string(seal);
  writer
    .varUint(stage)
    .varUint(compressed ? 1 : 0)
    .string(text);
  if (revision >= since.parameters) {
    for (const [name, value] of parameters) writer.string(name).varUint(2).string(value);
    writer.string("");
  }
  return writer.done();
}

/** As servers and clients write a text in quotes. */
export function quoted(text: string): string {
  const names: Readonly<Record<string, string>> = { "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\0": "0" };
  return `'${text.replace(/[\b\f\n\r\t\0\\']/g, (char) => `\\${names[char] ?? char}`)}'`;
}

function writeTrace(writer: Writer, trace: QueryParts["trace"]): void {
  if (trace === undefined) writer.byte(0);
  else writer.byte(1).raw(trace.ids).string(trace.state).byte(trace.flags);
}

/** Data of one column of type String. */
export function stringData(revision: number, values: readonly string[], { table = "", column = "s" } = {}): Buffer {
  const writer = new Writer().varUint(clientPackets.data).string(table);
  writer.raw(Buffer.from("010002ffffffff00", "hex")).varUint(1).varUint(values.length).string(column).string("String");
  if (revision >= since.columnMarks) writer.byte(0);
  for (const value of values) writer.string(value);
  return writer.done();
}

export class NativeClient {
  readonly socket: Socket;
  readonly revision: number;
  #bytes: Buffer = Buffer.alloc(0);
  #ended = false;
  /** Apart from the socket, whose errors would reject who waits for its end. */
  readonly #told = new EventEmitter();

  /** `revision` is that of a connection that has logged in already. */
  constructor(socket: Socket, revision: number) {
    this.socket = socket;
    this.revision = revision;
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#told.emit("told");
    });
    socket.once("close", () => {
      this.#ended = true;
      this.#told.emit("told");
    });
  }

  /** A connection without a login. */
  static async dial({
    host = "127.0.0.1",
    localAddress,
    port,
    before,
    tls,
    servername = "localhost",
    ca,
    revision = newest,
  }: ClientOptions): Promise<NativeClient> {
    const raw = connect({ host, port, localAddress, noDelay: true });
    await once(raw, "connect");
    if (before !== undefined) raw.write(before);
    const socket = tls === true ? connectTls({ socket: raw, ca: ca ?? loopbackCertificate.cert, servername }) : raw;
    return new NativeClient(socket, Math.min(revision, newest));
  }

  /** Rejects with the exception of a refused login. */
  static async connect(options: ClientOptions): Promise<NativeClient> {
    const client = await NativeClient.dial(options);
    client.send(hello(options));
    await client.read((reader) => {
      if (reader.varUint() === 2) throw failed(readException(reader));
      reader.rewind();
      return readServerHello(reader, client.revision);
    });
    client.send(addendum(client.revision));
    return client;
  }

  send(...packets: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(packets));
  }

  /** Runs a statement; rejects with its exception. */
  async query(text: string, parts: QueryParts = {}): Promise<string[][]> {
    this.send(queryPacket(text, this.revision, parts), emptyData);
    const { rows, exception } = await this.answer();
    if (exception !== undefined) throw failed(exception);
    return rows;
  }

  /**
   * Inserts strings, as clients do: data follows the block that shows the columns. `before` sends more of it.
   */
  async insert(
    text: string,
    values: readonly string[],
    { before, ...parts }: QueryParts & { readonly before?: () => Promise<void> } = {},
  ): Promise<Answer> {
    this.send(queryPacket(text, this.revision, parts), emptyData);
    const header = await this.#packets((type) => type === 1);
    if (header.exception !== undefined) return header;
    await before?.();
    this.send(stringData(this.revision, values), emptyData);
    return await this.answer();
  }

  /** The rest of an answer, uncompressed. Rejects when the connection ends within it. */
  async answer(): Promise<Answer> {
    return await this.#packets(() => false);
  }

  async ping(): Promise<void> {
    this.send(Buffer.from([clientPackets.ping]));
    const type = await this.read((reader) => reader.varUint());
    if (type !== 4) throw new Error(`a packet of type ${type} in place of a pong`);
  }

  async read<T>(parse: (reader: Reader) => T): Promise<T> {
    for (;;) {
      try {
        const reader = new Reader(this.#bytes, 100_000_000);
        const value = parse(reader);
        this.#bytes = this.#bytes.subarray(reader.at);
        return value;
      } catch (error) {
        if (!(error instanceof Incomplete)) throw error;
      }
      if (this.#ended) throw new Error("the connection has ended");
      await once(this.#told, "told");
    }
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Resolves when the other side has ended the connection. */
  async ended(): Promise<void> {
    while (!this.#ended) await once(this.#told, "told");
  }

  /** Breaks the connection with RST. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  close(): void {
    this.socket.destroy();
  }

  async #packets(isLast: (type: number) => boolean): Promise<Answer> {
    const rows: string[][] = [];
    for (;;) {
      const packet = await this.read((reader) => readPacket(reader, this.revision));
      if (packet.type === 2) return { rows, exception: packet.exception };
      if (packet.type === 1) rows.push(...(packet.rows ?? []));
      if (packet.type === 5 || isLast(packet.type)) return { rows, exception: undefined };
    }
  }
}

type Packet = { readonly type: number; readonly rows?: string[][]; readonly exception?: Answer["exception"] };

function readPacket(reader: Reader, revision: number): Packet {
  const type = reader.varUint();
  if (type === 2) return { type, exception: readException(reader) };
  if (type === 1 || type === 7 || type === 10 || type === 14) {
    reader.string();
    return { type, rows: readBlock(reader, revision) };
  }
  if (type === 3) {
    const written = revision >= since.written ? 2 : 0;
    const numbers = 3 + (revision >= since.totalBytes ? 1 : 0) + written + (revision >= since.elapsed ? 1 : 0);
    for (let i = 0; i < numbers; i += 1) reader.varUint();
  } else if (type === 11 && revision < sinceDefaults) throw new Error("the client does not know this packet");
  else if (type === 6) {
    const added = revision >= sinceAggregation ? ["b", "n"] : [];
    for (const read of ["n", "n", "n", "b", "n", "b", ...added]) read === "n" ? reader.varUint() : reader.byte();
  } else if (type === 11) for (let i = 0; i < 2; i += 1) reader.string();
  else if (type === 17) reader.string();
  else if (type !== 5) throw new Error(`an answer has no packet of type ${type}`);
  return { type };
}

function readException(reader: Reader): NonNullable<Answer["exception"]> {
  const code = reader.int32();
  reader.string();
  const message = reader.text();
  reader.string();
  if (reader.byte() !== 0) readException(reader);
  return { code, message };
}

function readBlock(reader: Reader, revision: number): string[][] {
  for (let field = reader.varUint(); field !== 0; field = reader.varUint())
    field === 1 ? reader.byte() : reader.int32();
  const columns = reader.varUint();
  const count = reader.varUint();
  const rows: string[][] = Array.from({ length: count }, () => []);
  for (let column = 0; column < columns; column += 1) {
    reader.string();
    const type = reader.text().replace(/\(.*/s, "");
    if (revision >= since.columnMarks && reader.byte() !== 0) throw new Error("an unknown serialization");
    for (let row = 0; row < count; row += 1) rows[row]?.push(readValue(reader, type));
  }
  return rows;
}

function readValue(reader: Reader, type: string): string {
  if (type === "String") return reader.text();
  const width = { UInt8: 1, Int8: 1, Enum8: 1, Bool: 1, UInt16: 2, UInt32: 4, DateTime: 4, Int64: 8, UInt64: 8 }[type];
  if (width === undefined) throw new Error(`the test client does not know ${type}`);
  return String([...reader.bytes(width)].reduceRight((value, byte) => value * 256n + BigInt(byte), 0n));
}

export class NativeError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

function failed({ code, message }: NonNullable<Answer["exception"]>): NativeError {
  return new NativeError(code, message);
}

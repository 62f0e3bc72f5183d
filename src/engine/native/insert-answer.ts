/**
 * Finds the end of the answer to an INSERT. Its blocks are headers without rows, log lines and profile events, whose
 * types are few. Anything else is left to the engine, which ends the connection after the answer. What a client of an
 * old revision does not know is left out.
 */
import { Incomplete, MalformedPacket, Reader } from "../../endpoint/native/codec.ts";
import { serverPackets, since, skipStrings } from "../../endpoint/native/hello.ts";
import { fixedBytes } from "../inserts/native-rows.ts";
import { readBlockHead } from "./blocks.ts";

const limit = 16_777_216;
const checksumAndHead = 25;
/** A block that is longer is written in several frames. */
const frameBytes = 1_048_576;

type Column = { readonly name: string; readonly type: string };

export class InsertAnswer {
  readonly #compressed: boolean;
  readonly #hasMarks: boolean;
  readonly #progressNumbers: number;
  #kept: Buffer = Buffer.alloc(0);
  #state: "reading" | "ended" | "unknown" = "reading";
  /** The packet, when the engine has sent an exception. */
  exception: Buffer | undefined;
  /** Present once the engine waits for data of these columns, unless the answer is compressed. */
  columns: readonly Column[] | undefined;
  /** The packets that every client knows, since the last call of `read`. */
  readonly known: Buffer[] = [];

  /** `revision` is that of the engine's connection. */
  constructor(compressed: boolean, revision: number) {
    this.#compressed = compressed;
    this.#hasMarks = revision >= since.columnMarks;
    const added = [since.written, since.written, since.elapsed, since.totalBytes];
    this.#progressNumbers = 3 + added.filter((one) => revision >= one).length;
  }

  /** The exception's code. */
  get code(): number | undefined {
    return this.exception?.readInt32LE(1);
  }

  /** "unknown" when the end of the answer cannot be seen. */
  read(chunk: Buffer): "reading" | "ended" | "unknown" {
    this.known.length = 0;
    if (this.#state !== "reading") return this.#state;
    this.#kept = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    try {
      while (this.#state === "reading" && this.#kept.length > 0) {
        const reader = new Reader(this.#kept, limit);
        const type = this.#packet(reader);
        if (type === serverPackets.exception) this.exception = Buffer.from(this.#kept.subarray(0, reader.at));
        if (!addedLater.has(type)) this.known.push(this.#kept.subarray(0, reader.at));
        this.#kept = this.#kept.subarray(reader.at);
      }
    } catch (error) {
      if (!(error instanceof Incomplete)) this.#state = "unknown";
      // The memory of the received bytes is used again.
      else this.#kept = Buffer.from(this.#kept);
    }
    return this.#state;
  }

  /** Returns the type. */
  #packet(reader: Reader): number {
    const type = reader.varUint();
    if (type === serverPackets.endOfStream) this.#state = "ended";
    else if (type === serverPackets.exception) {
      this.#exception(reader);
      this.#state = "ended";
    } else if (type === serverPackets.tableColumns) skipStrings(reader, 2);
    else if (type === serverPackets.progress) {
      for (let i = this.#progressNumbers; i > 0; i -= 1) reader.varUint();
    } else if (type === serverPackets.timezone) reader.string();
    else if (type === serverPackets.data) {
      reader.string();
      if (this.#compressed) this.#frame(reader);
      else this.columns = this.#block(reader, 0);
    } else if (type === serverPackets.log || type === serverPackets.profileEvents) {
      reader.string();
      this.#block(reader, 100_000);
    } else throw new MalformedPacket(`A packet of type ${type} has an end that is not known.`);
    return type;
  }

  #exception(reader: Reader): void {
    reader.int32();
    skipStrings(reader, 3);
    if (reader.byte() !== 0) this.#exception(reader);
  }

  #frame(reader: Reader): void {
    const head = reader.bytes(checksumAndHead);
    if (head.readUInt32LE(21) >= frameBytes) throw new MalformedPacket("The header has several frames.");
    reader.bytes(head.readUInt32LE(17) - 9);
  }

  #block(reader: Reader, maxRows: number): readonly Column[] {
    const head = readBlockHead(reader);
    if (head === undefined || head.rows > maxRows) throw new MalformedPacket("The block has rows, or unknown fields.");
    return Array.from({ length: head.columns }, () => this.#column(reader, head.rows));
  }

  #column(reader: Reader, rows: number): Column {
    const column = { name: reader.text(), type: reader.text() };
    const { type } = column;
    if (this.#hasMarks && reader.byte() !== 0) throw new MalformedPacket("The column is serialized in another way.");
    if (rows === 0) return column;
    const width = fixedBytes[type.replace(/\(.*$/s, "")];
    if (width !== undefined) reader.bytes(width * rows);
    else if (type === "String") for (let row = 0; row < rows; row += 1) reader.string();
    else throw new MalformedPacket(`A column of type ${type} has an end that is not known.`);
    return column;
  }
}

/** Packets that an old client does not know, or knows with fewer numbers. */
const addedLater: ReadonlySet<number> = new Set([
  serverPackets.progress,
  serverPackets.log,
  serverPackets.tableColumns,
  serverPackets.profileEvents,
  serverPackets.timezone,
]);

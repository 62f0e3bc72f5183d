/**
 * The messages of Postgres' logical replication plugin `pgoutput`, protocol versions 1 and 2. Every length is checked
 * before it is used, so that malformed bytes end in a `PgoutputError` and nothing is read beyond the message.
 */
import { ByteReader, MalformedBytes } from "./byte-reader.ts";
import { Tuple, valueKind } from "./tuple.ts";

/** Bytes that are not a pgoutput message: names the message kind, the offset and what was expected there. */
export class PgoutputError extends Error {
  override readonly name = "PgoutputError";
}

/** Times are microseconds since 1970-01-01 UTC; log positions are 64-bit. */
export type BeginMessage = {
  readonly kind: "begin";
  readonly finalLsn: bigint;
  readonly time: bigint;
  readonly xid: number;
};
export type CommitMessage = {
  readonly kind: "commit";
  /** Position of the commit record: versions are made of it. */
  readonly commitLsn: bigint;
  /** Position after the transaction: what is acknowledged. */
  readonly endLsn: bigint;
  readonly time: bigint;
};
export type OriginMessage = { readonly kind: "origin"; readonly lsn: bigint; readonly name: string };
export type RelationColumn = {
  readonly name: string;
  /** Part of the replica identity. */
  readonly key: boolean;
  readonly typeOid: number;
  readonly typmod: number;
};
/** `xid` is there only between stream start and stop (protocol 2). */
export type Relation = {
  readonly kind: "relation";
  readonly xid?: number;
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
  readonly replicaIdentity: "d" | "n" | "f" | "i";
  readonly columns: readonly RelationColumn[];
};
export type TypeMessage = {
  readonly kind: "type";
  readonly xid?: number;
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
};
export type InsertMessage = {
  readonly kind: "insert";
  readonly xid?: number;
  readonly relation: number;
  readonly row: Tuple;
};
/**
 * `key` (only the identity's columns are filled, the others are null) is there when the identity changed; `old` is the
 * whole old row under REPLICA IDENTITY FULL. Both have as many values as the relation has columns.
 */
export type UpdateMessage = {
  readonly kind: "update";
  readonly xid?: number;
  readonly relation: number;
  readonly row: Tuple;
  readonly key?: Tuple;
  readonly old?: Tuple;
};
/** Exactly one of `key` and `old`. */
export type DeleteMessage = {
  readonly kind: "delete";
  readonly xid?: number;
  readonly relation: number;
  readonly key?: Tuple;
  readonly old?: Tuple;
};
export type TruncateMessage = {
  readonly kind: "truncate";
  readonly xid?: number;
  readonly relations: readonly number[];
  readonly cascade: boolean;
  readonly restartIdentity: boolean;
};
/** What `pg_logical_emit_message` writes. */
export type LogicalMessage = {
  readonly kind: "message";
  readonly xid?: number;
  readonly transactional: boolean;
  readonly lsn: bigint;
  readonly prefix: string;
  readonly content: Buffer;
};
export type StreamStart = { readonly kind: "streamStart"; readonly xid: number; readonly first: boolean };
export type StreamStop = { readonly kind: "streamStop" };
export type StreamCommit = {
  readonly kind: "streamCommit";
  readonly xid: number;
  readonly commitLsn: bigint;
  readonly endLsn: bigint;
  readonly time: bigint;
};
export type StreamAbort = { readonly kind: "streamAbort"; readonly xid: number; readonly subxid: number };
export type ReplicationMessage =
  | BeginMessage
  | CommitMessage
  | OriginMessage
  | Relation
  | TypeMessage
  | InsertMessage
  | UpdateMessage
  | DeleteMessage
  | TruncateMessage
  | LogicalMessage
  | StreamStart
  | StreamStop
  | StreamCommit
  | StreamAbort;

/**
 * Decodes one message: the payload of one XLogData, without its 25-byte header. `streaming` says that it stands between
 * stream start and stop, where most messages carry a transaction id. Tuples are views on `message`.
 * Throws `PgoutputError`.
 */
export function decode(message: Buffer, streaming = false): ReplicationMessage {
  const reader = new ByteReader(message);
  try {
    const decoded = decodeKind(reader, streaming);
    reader.expectEnd();
    return decoded;
  } catch (error) {
    if (!(error instanceof MalformedBytes)) throw error;
    const kind = message.length === 0 ? "An empty message" : `A message of kind ${byteName(message[0] as number)}`;
    throw new PgoutputError(`${kind} and ${message.length} bytes is malformed at byte ${reader.at}: ${error.message}`);
  }
}

/** Between the epochs of Unix and of Postgres. */
const epochMicros = 946_684_800_000_000n;

function decodeKind(reader: ByteReader, streaming: boolean): ReplicationMessage {
  const kind = reader.letter("a message kind");
  switch (kind) {
    case "I":
    case "U":
    case "D":
    case "R":
    case "Y":
    case "T":
    case "M":
      return decodeInTransaction(reader, kind, streaming ? { xid: reader.uint32("a transaction id") } : {});
    case "B":
      return { kind: "begin", finalLsn: reader.uint64("a log position"), time: time(reader), xid: xid(reader) };
    case "C":
      return { kind: "commit", ...commit(reader) };
    case "O":
      return { kind: "origin", lsn: reader.uint64("a log position"), name: reader.text("a name") };
    case "S":
      return { kind: "streamStart", xid: xid(reader), first: reader.uint8("a flag") === 1 };
    case "E":
      return { kind: "streamStop" };
    case "c":
      return { kind: "streamCommit", xid: xid(reader), ...commit(reader) };
    case "A": {
      const aborted = { kind: "streamAbort", xid: xid(reader), subxid: xid(reader) } as const;
      // Protocol 4 adds the position and the time of the abort.
      if (reader.left > 0) {
        reader.uint64("a log position");
        time(reader);
      }
      return aborted;
    }
    default:
      throw new MalformedBytes("there is no such message in protocol 1 or 2");
  }
}

type Streamed = { readonly xid?: number };

function decodeInTransaction(reader: ByteReader, kind: string, streamed: Streamed): ReplicationMessage {
  switch (kind) {
    case "I": {
      const relation = reader.uint32("a relation");
      expectMark(reader, "N");
      return { kind: "insert", ...streamed, relation, row: tuple(reader) };
    }
    case "U":
      return decodeUpdate(reader, streamed);
    case "D": {
      const relation = reader.uint32("a relation");
      const mark = expectMark(reader, "KO");
      const row = tuple(reader);
      return { kind: "delete", ...streamed, relation, ...(mark === "K" ? { key: row } : { old: row }) };
    }
    case "R":
      return decodeRelation(reader, streamed);
    case "Y":
      return {
        kind: "type",
        ...streamed,
        oid: reader.uint32("a type"),
        schema: schemaName(reader),
        name: reader.text("a name"),
      };
    case "T": {
      const count = reader.uint32("a number of relations");
      const flags = reader.uint8("flags");
      reader.expect(4 * count, "relations");
      const relations = Array.from({ length: count }, () => reader.uint32("a relation"));
      const restartIdentity = (flags & 2) !== 0;
      return { kind: "truncate", ...streamed, relations, cascade: (flags & 1) !== 0, restartIdentity };
    }
    default:
      return {
        kind: "message",
        ...streamed,
        transactional: (reader.uint8("flags") & 1) !== 0,
        lsn: reader.uint64("a log position"),
        prefix: reader.text("a prefix"),
        content: reader.take(reader.int32("a length"), "content"),
      };
  }
}

function decodeUpdate(reader: ByteReader, streamed: Streamed): UpdateMessage {
  const relation = reader.uint32("a relation");
  const mark = expectMark(reader, "KON");
  if (mark === "N") return { kind: "update", ...streamed, relation, row: tuple(reader) };
  const before = tuple(reader);
  expectMark(reader, "N");
  const row = tuple(reader);
  return { kind: "update", ...streamed, relation, row, ...(mark === "K" ? { key: before } : { old: before }) };
}

function decodeRelation(reader: ByteReader, streamed: Streamed): Relation {
  const oid = reader.uint32("a relation");
  const schema = schemaName(reader);
  const name = reader.text("a name");
  const replicaIdentity = reader.letter("a replica identity");
  if (!isReplicaIdentity(replicaIdentity)) throw new MalformedBytes("the replica identity is none of d, n, f, i");
  const count = reader.uint16("a number of columns");
  // Flags, an empty name's end, type and modifier: the least that a column has.
  reader.expect(10 * count, "columns");
  const columns = Array.from({ length: count }, () => ({
    key: (reader.uint8("flags") & 1) !== 0,
    name: reader.text("a column name"),
    typeOid: reader.uint32("a type"),
    typmod: reader.int32("a type modifier"),
  }));
  return { kind: "relation", ...streamed, oid, schema, name, replicaIdentity, columns };
}

/** Checks all values, so that readers of the tuple need not check again. */
function tuple(reader: ByteReader): Tuple {
  const size = reader.uint16("a number of values");
  const start = reader.at;
  for (let index = 0; index < size; index += 1) {
    const kind = reader.uint8("a value");
    if (kind === valueKind.text) reader.skip(reader.int32("a length"), "a value");
    else if (kind !== valueKind.null && kind !== valueKind.unchanged) {
      throw new MalformedBytes(`value ${index} is of kind ${byteName(kind)}, which is none of t, n, u`);
    }
  }
  return new Tuple(reader.message, start, size);
}

function commit(reader: ByteReader): Omit<CommitMessage, "kind"> {
  reader.uint8("flags");
  const commitLsn = reader.uint64("a log position");
  return { commitLsn, endLsn: reader.uint64("a log position"), time: time(reader) };
}

function time(reader: ByteReader): bigint {
  return reader.int64("a time") + epochMicros;
}

function xid(reader: ByteReader): number {
  return reader.uint32("a transaction id");
}

/** The server leaves `pg_catalog` out. */
function schemaName(reader: ByteReader): string {
  const name = reader.text("a schema");
  return name === "" ? "pg_catalog" : name;
}

function expectMark(reader: ByteReader, marks: string): string {
  const mark = reader.letter("a tuple");
  if (!marks.includes(mark)) throw new MalformedBytes(`a tuple begins with ${marks.split("").join(" or ")} here`);
  return mark;
}

function isReplicaIdentity(letter: string): letter is Relation["replicaIdentity"] {
  return letter === "d" || letter === "n" || letter === "f" || letter === "i";
}

function byteName(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `0x${byte.toString(16).padStart(2, "0")}`;
}

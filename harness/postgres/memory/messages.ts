/** The messages of `pgoutput`, protocol version 1, for the transactions of a database in memory. */
import { tupleOf, unchanged } from "../../../src/sources/relational-db/protocol/tuple.ts";
import type { Change, Row, Table, Transaction } from "./database.ts";

/** Longer values are stored out of line: an update that leaves them as they are does not send them. */
const inlineLength = 40;

export const typeOids = { int4: 23, text: 25 } as const;

export function beginMessage({ commitLsn, xid }: Transaction): Buffer {
  return Buffer.concat([Buffer.from("B"), int64(commitLsn), int64(0n), int32(xid)]);
}

export function commitMessage({ commitLsn, endLsn }: Transaction): Buffer {
  return Buffer.concat([Buffer.from("C\0"), int64(commitLsn), int64(endLsn), int64(0n)]);
}

export function relationMessage({ oid, name, identity, key, columns }: Table): Buffer {
  const described = columns.map((column) => {
    const isKey = identity === "f" || key.includes(column.name);
    return Buffer.concat([Buffer.of(isKey ? 1 : 0), text(column.name), int32(typeOids[column.type]), int32(-1)]);
  });
  const head = [Buffer.from("R"), int32(oid), text("public"), text(name), Buffer.from(identity)];
  return Buffer.concat([...head, int16(columns.length), ...described]);
}

export function changeMessage(change: Change): Buffer {
  if (change.kind === "truncate") {
    const oids = change.tables.map(({ oid }) => int32(oid));
    return Buffer.concat([Buffer.from("T"), int32(oids.length), Buffer.of(0), ...oids]);
  }
  const { table } = change;
  const head = int32(table.oid);
  if (change.kind === "insert")
    return Buffer.concat([Buffer.from("I"), head, Buffer.from("N"), tuple(table, change.row)]);
  if (change.kind === "delete") return Buffer.concat([Buffer.from("D"), head, ...identityOf(table, change.old)]);
  const { row, old } = change;
  const isMoved = table.key.some((column) => row[column] !== old[column]);
  const before = table.identity === "f" || isMoved ? identityOf(table, old) : [];
  return Buffer.concat([Buffer.from("U"), head, ...before, Buffer.from("N"), tuple(table, row, old)]);
}

/** The whole old row under FULL, else its key with NULL for every other column. */
function identityOf(table: Table, old: Row): Buffer[] {
  if (table.identity === "f") return [Buffer.from("O"), tuple(table, old)];
  const key = Object.fromEntries(table.key.map((column) => [column, old[column] ?? null]));
  return [Buffer.from("K"), tuple(table, key)];
}

function tuple({ columns }: Table, row: Row, old?: Row): Buffer {
  const values = columns.map(({ name }) => {
    const value = row[name] ?? null;
    const isKept = value !== null && value.length > inlineLength && old?.[name] === value;
    return isKept ? unchanged : value;
  });
  return Buffer.concat([int16(columns.length), tupleOf(values).message]);
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** A text with its end. */
export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

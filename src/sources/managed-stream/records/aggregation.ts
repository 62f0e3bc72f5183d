/**
 * Records of the Kinesis Producer Library: many user records in one. Layout: four magic bytes, a protobuf message
 * `AggregatedRecord`, and the MD5 sum of that message. A record that only resembles one stays unchanged, as in the AWS
 * consumer library.
 */
import { createHash } from "node:crypto";

export type UserRecord = { readonly key: string; readonly data: Uint8Array };

const magic = Buffer.from([0xf3, 0x89, 0x9a, 0xc2]);
const sumBytes = 16;

/** The user records in order; undefined when the record is not aggregated. */
export function deaggregate(data: Uint8Array): UserRecord[] | undefined {
  if (data.byteLength <= magic.length + sumBytes) return undefined;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (!bytes.subarray(0, magic.length).equals(magic)) return undefined;
  const message = bytes.subarray(magic.length, bytes.length - sumBytes);
  const sum = createHash("md5").update(message).digest();
  if (!sum.equals(bytes.subarray(bytes.length - sumBytes))) return undefined;
  try {
    return readAggregated(message);
  } catch {
    return undefined;
  }
}

/** `repeated string partition_key_table = 1; repeated Record records = 3;` */
function readAggregated(message: Buffer): UserRecord[] {
  const keys: string[] = [];
  const records: Buffer[] = [];
  for (const { field, bytes } of fields(message)) {
    if (field === 1 && bytes !== undefined) keys.push(bytes.toString("utf8"));
    else if (field === 3 && bytes !== undefined) records.push(bytes);
  }
  return records.map((record) => readRecord(record, keys));
}

/** `required uint64 partition_key_index = 1; required bytes data = 3;` */
function readRecord(record: Buffer, keys: readonly string[]): UserRecord {
  let key: string | undefined;
  let data: Buffer | undefined;
  for (const { field, bytes, number } of fields(record)) {
    if (field === 1) key = keys[number ?? -1];
    else if (field === 3) data = bytes;
  }
  if (key === undefined || data === undefined) throw new RangeError("a user record without key or data");
  return { key, data };
}

type Field = { readonly field: number; readonly bytes?: Buffer; readonly number?: number };

/** The fields of a protobuf message; throws RangeError for invalid bytes. */
function* fields(message: Buffer): Generator<Field> {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; shift < 64; shift += 7) {
      const byte = message[at];
      if (byte === undefined) throw new RangeError("cut off");
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a number of more than 64 bits");
  };
  const take = (length: number) => {
    if (at + length > message.length) throw new RangeError("cut off");
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    const wire = tag % 8;
    if (wire === 0) yield { field, number: varint() };
    else if (wire === 1) yield { field, bytes: take(8) };
    else if (wire === 2) yield { field, bytes: take(varint()) };
    else if (wire === 5) yield { field, bytes: take(4) };
    else throw new RangeError("an unknown wire type");
  }
}

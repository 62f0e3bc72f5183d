/** Stream records as messages: aggregated ones taken apart, compressed ones unpacked. */
import { gunzipSync } from "node:zlib";
import type { RowEncoder } from "../messages/encoder.ts";
import type { Message, VirtualColumns } from "../messages/message.ts";
import { deaggregate, type UserRecord } from "./aggregation.ts";
import { type Spot, spotText } from "./position.ts";
import type { StreamRecord } from "./stream.ts";

/** Most bytes of one message when it is unpacked. A constant: a replay must come to the same verdict. */
export const maxMessageBytes = 16_000_000;

export type StreamMessage = Message & {
  readonly shard: string;
  readonly key: string;
  readonly arrivalMs: number;
  readonly spot: Spot;
  /** Why the payload cannot be had; `bytes` then are the record's own. */
  readonly problem: string | undefined;
};

export type Compression = "none" | "gzip";

/** The messages of a record in their order; at least one, so that the position moves on with every record. */
export function messagesOf(shard: string, record: StreamRecord, compression: Compression): StreamMessage[] {
  const parts = deaggregate(record.data);
  if (parts === undefined) return [messageOf(shard, record, record, 0, false, compression)];
  const all = parts.length === 0 ? [{ key: record.key, data: new Uint8Array() }] : parts;
  return all.map((part, sub) => messageOf(shard, record, part, sub, sub < all.length - 1, compression));
}

function messageOf(
  shard: string,
  record: StreamRecord,
  part: UserRecord,
  sub: number,
  more: boolean,
  compression: Compression,
): StreamMessage {
  const packed = Buffer.from(part.data.buffer, part.data.byteOffset, part.data.byteLength);
  const { bytes, problem } = compression === "gzip" ? unpack(packed) : { bytes: packed, problem: undefined };
  const spot = { sequence: record.sequence, sub, more };
  return {
    bytes,
    start: 0,
    end: bytes.length,
    position: spotText(spot),
    shard,
    key: part.key,
    arrivalMs: record.arrivalMs,
    spot,
    problem,
  };
}

function unpack(packed: Buffer): { bytes: Buffer; problem: string | undefined } {
  if (packed.length === 0) return { bytes: packed, problem: undefined };
  try {
    return { bytes: gunzipSync(packed, { maxOutputLength: maxMessageBytes }), problem: undefined };
  } catch (error) {
    const large = (error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE";
    const problem = large
      ? `The message is larger than ${maxMessageBytes} bytes when it is unpacked.`
      : `The payload is not gzip (${(error as Error).message}), as source.managedStream.compression says.`;
    return { bytes: packed, problem };
  }
}

export function virtualColumns(stream: string): VirtualColumns<StreamMessage> {
  return {
    _key: { kind: "text", read: (message) => message.key },
    _timestamp: { kind: "millis", read: (message) => message.arrivalMs },
    _approximate_arrival: { kind: "millis", read: (message) => message.arrivalMs },
    _stream: { kind: "text", read: () => stream },
    _shard: { kind: "text", read: (message) => message.shard },
    _sequence_number: { kind: "text", read: (message) => message.spot.sequence },
    _sub_sequence_number: { kind: "integer", read: (message) => message.spot.sub },
    _raw_message: { kind: "text", read: (message) => message.bytes.subarray(message.start, message.end) },
  };
}

/** The encoder of the format, which knows besides which payloads could not be unpacked. */
export function unpackedOnly(encoder: RowEncoder<StreamMessage>): RowEncoder<StreamMessage> {
  return {
    plan: encoder.plan,
    prepare: (message) => (message.problem === undefined ? encoder.prepare(message) : undefined),
    group: (message) => message.problem ?? encoder.group(message),
    write: (message, group, to) => encoder.write(message, group, to),
  };
}

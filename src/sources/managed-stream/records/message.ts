/** Stream records as messages: aggregated ones split, compressed ones decompressed. */
import { gunzipSync } from "node:zlib";
import type { RowEncoder } from "../../messages/formats/encoder.ts";
import type { SourceMessage, VirtualColumns } from "../../messages/message.ts";
import { positionText } from "../reading/position.ts";
import type { StreamRecord } from "../stream.ts";
import { deaggregate, type UserRecord } from "./aggregation.ts";

/** Maximum size of one decompressed message. A constant: a replay must have the same result. */
export const maxMessageBytes = 16_000_000;

export type StreamMessage = SourceMessage & {
  readonly position: string;
  /** The position after this message: the whole record's after its last user record. */
  readonly next: string;
  readonly shard: string;
  readonly key: string;
  readonly sequence: string;
  readonly sub: number;
  readonly arrivalMs: number;
  /** Why the payload cannot be decompressed; `bytes` then are the record's own. */
  readonly problem: string | undefined;
};

export type Compression = "none" | "gzip";

/**
 * The messages of a record in order; at least one, so that every record advances the position. Yielded one at a time,
 * because a small record may expand a lot.
 */
export function* messagesOf(
  shard: string,
  record: StreamRecord,
  compression: Compression,
): Generator<StreamMessage, void> {
  const { sequence, arrivalMs } = record;
  const one = (part: UserRecord, sub: number | undefined, isLast: boolean): StreamMessage => {
    const { bytes, problem } = payloadOf(part.data, compression);
    const position = positionText(sequence, sub);
    const next = isLast ? sequence : position;
    const place = { position, next, shard, sequence, sub: sub ?? 0, arrivalMs };
    return { ...place, bytes, start: 0, end: bytes.length, key: part.key, problem };
  };
  const parts = deaggregate(record.data);
  if (parts === undefined) yield one(record, undefined, true);
  else if (parts.length === 0) yield one({ key: record.key, data: new Uint8Array() }, undefined, true);
  else for (const [sub, part] of parts.entries()) yield one(part, sub, sub === parts.length - 1);
}

function payloadOf(data: Uint8Array, compression: Compression): { bytes: Buffer; problem: string | undefined } {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return compression === "gzip" ? unpack(bytes) : { bytes, problem: undefined };
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

export function kinesisVirtualColumns(stream: string): VirtualColumns<StreamMessage> {
  return {
    _key: { kind: "text", read: (message) => message.key },
    _timestamp: { kind: "millis", read: (message) => message.arrivalMs },
    _approximate_arrival: { kind: "millis", read: (message) => message.arrivalMs },
    _stream: { kind: "text", read: () => stream },
    _shard: { kind: "text", read: (message) => message.shard },
    _sequence_number: { kind: "text", read: (message) => message.sequence },
    _sub_sequence_number: { kind: "integer", read: (message) => message.sub },
    _raw_message: { kind: "text", read: (message) => message.bytes.subarray(message.start, message.end) },
  };
}

/** The encoder of the format, which also rejects payloads that could not be decompressed. */
export function unpackedOnly(encoder: RowEncoder<StreamMessage>): RowEncoder<StreamMessage> {
  return {
    plan: encoder.plan,
    prepare: (message) => (message.problem === undefined ? encoder.prepare(message) : undefined),
    group: (message) => message.problem ?? encoder.group(message),
    write: (message, group, to) => encoder.write(message, group, to),
    fields: (group) => encoder.fields?.(group) ?? [],
  };
}

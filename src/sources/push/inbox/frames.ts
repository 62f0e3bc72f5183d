/**
 * The form of the inbox's segments: frames, each of which holds the body of one request. A frame is complete when its
 * checksum is right; a crash leaves at most one that is not, at the end of the newest segment.
 *
 *     length u32 | crc32 u32 | length of the facts u16 | facts, JSON | bytes of the rows
 */
import { crc32 } from "node:zlib";

/** What a frame says of its rows. One letter each: a frame of one small row should not be mostly names. */
export type FrameFacts = {
  /** Offset of the first row. */
  readonly o: number;
  /** Number of rows. */
  readonly n: number;
  /** When it was received, in ms since 1970. */
  readonly t: number;
  /** The line of names before the rows. */
  readonly h?: string | undefined;
  /** Digest of the idempotency key, and of the body that came with it. */
  readonly i?: string | undefined;
  readonly b?: string | undefined;
  /** The rows are in this file beside the segment, and have this length. */
  readonly x?: string | undefined;
  readonly s?: number | undefined;
  /** What the body contains, where a pipe takes several things: a signal of OpenTelemetry. */
  readonly g?: string | undefined;
};

export type Frame = {
  readonly facts: FrameFacts;
  /** Empty where the rows are in a file of their own. */
  readonly body: Buffer;
  /** The length of the whole frame. */
  readonly bytes: number;
};

const headBytes = 8;
/** More than any frame has: what says otherwise is not a frame. */
const mostBytes = 8 * 2 ** 20;
const factsLengthBytes = 2;

/** The pieces of a frame of rows from this offset on, in the order in which they are written. */
export function writtenFrame(offset: number, facts: Omit<FrameFacts, "o">, body: readonly Buffer[]): Buffer[] {
  const text = `{"o":${offset},${JSON.stringify(facts).slice(1)}`;
  let length = factsLengthBytes + Buffer.byteLength(text);
  const head = Buffer.allocUnsafe(headBytes + length);
  head.writeUInt16LE(length - factsLengthBytes, headBytes);
  head.write(text, headBytes + factsLengthBytes);
  let sum = crc32(head.subarray(headBytes));
  for (const piece of body) {
    length += piece.length;
    sum = crc32(piece, sum);
  }
  head.writeUInt32LE(length, 0);
  head.writeUInt32LE(sum, 4);
  return [head, ...body];
}

/** The frame at `from`: undefined when it is not complete, or not what was written. */
export function readFrame(bytes: Buffer, from: number): Frame | undefined {
  if (from + headBytes > bytes.length) return undefined;
  const length = bytes.readUInt32LE(from);
  const end = from + headBytes + length;
  if (length < factsLengthBytes || length > mostBytes || end > bytes.length) return undefined;
  const content = bytes.subarray(from + headBytes, end);
  if (crc32(content) !== bytes.readUInt32LE(from + 4)) return undefined;
  const factsEnd = factsLengthBytes + content.readUInt16LE(0);
  const facts = JSON.parse(content.toString("utf8", factsLengthBytes, factsEnd)) as FrameFacts;
  return { facts, body: content.subarray(factsEnd), bytes: headBytes + length };
}

/** Bytes that the frame at the beginning has; 0 when its head is not there, or is none. */
export function frameBytes(bytes: Buffer): number {
  const length = headBytes > bytes.length ? 0 : bytes.readUInt32LE(0);
  return length > mostBytes ? 0 : headBytes + length;
}

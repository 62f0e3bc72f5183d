/** Protobuf's wire format: tags, varints, and skipping of fields. All input may be hostile. */

/** Why bytes are not a protobuf message; the text is for the error table. */
export class ProtobufWireError extends Error {}

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, group: 3, endGroup: 4, fixed32: 5 } as const;

/** Nesting of messages, groups and well-known values; other readers have the same limit. */
export const maxDepth = 100;

const cut = "The message ends in the middle of a field.";

export class ProtobufWireReader {
  bytes: Buffer = Buffer.alloc(0);
  at = 0;
  /** Halves of the last integer read. */
  low = 0;
  high = 0;

  /** Reads a varint that ends before `end`. */
  varint(end: number): void {
    const { bytes } = this;
    let at = this.at;
    let low = 0;
    let high = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= end) throw new ProtobufWireError(cut);
      if (shift > 63) throw new ProtobufWireError("An integer of the message has more than ten bytes.");
      const byte = bytes[at++] as number;
      const part = byte & 0x7f;
      if (shift < 28) low |= part << shift;
      else if (shift === 28) {
        low |= part << 28;
        high = part >>> 4;
      } else high |= part << (shift - 32);
      if (byte < 0x80) break;
    }
    this.at = at;
    this.low = low >>> 0;
    this.high = high >>> 0;
  }

  /** A tag: field number times eight plus wire type. */
  tag(end: number): number {
    this.varint(end);
    if (this.high !== 0 || this.low < 8)
      throw new ProtobufWireError("The message has a field with an impossible number.");
    return this.low;
  }

  /** Skips the value of a tag. */
  skip(tag: number, end: number, depth = 0): void {
    const type = tag & 7;
    if (type === wireTypes.varint) this.varint(end);
    else if (type === wireTypes.bytes) this.at = this.length(end) + this.at;
    else if (type === wireTypes.group) this.skipGroup(tag, end, depth);
    else this.fixed(type === wireTypes.fixed64 ? 8 : type === wireTypes.fixed32 ? 4 : -1, end);
  }

  /** Reads the length of bytes that end before `end`. */
  length(end: number): number {
    this.varint(end);
    if (this.high !== 0 || this.low > end - this.at) throw new ProtobufWireError(cut);
    return this.low;
  }

  /** Skips a group's content and its end tag; returns where the content ends. */
  skipGroup(tag: number, end: number, depth = 0): number {
    if (depth >= maxDepth) throw new ProtobufWireError(`The message is nested more than ${maxDepth} deep.`);
    for (;;) {
      const contentEnd = this.at;
      const inner = this.tag(end);
      if ((inner & 7) === wireTypes.endGroup) {
        if (inner >>> 3 !== tag >>> 3) throw new ProtobufWireError("A group of the message ends as another one.");
        return contentEnd;
      }
      this.skip(inner, end, depth + 1);
    }
  }

  fixed(size: number, end: number): void {
    if (size < 0) throw new ProtobufWireError("The message has a field of an unknown wire type.");
    if (size > end - this.at) throw new ProtobufWireError(cut);
    this.at += size;
  }

  /** The last integer read, with all its digits. */
  unsigned(): string {
    if (this.high < 0x20_0000) return String(this.high * 0x1_0000_0000 + this.low);
    return String((BigInt(this.high) << 32n) | BigInt(this.low));
  }

  signed(): string {
    if (this.high < 0x8000_0000) return this.unsigned();
    return String(BigInt.asIntN(64, (BigInt(this.high) << 32n) | BigInt(this.low)));
  }

  /** The last integer read, decoded as zigzag: even ones are positive. */
  zigzag(): string {
    const value = (BigInt(this.high) << 32n) | BigInt(this.low);
    return String((value >> 1n) ^ -(value & 1n));
  }
}

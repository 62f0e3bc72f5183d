/** What follows a Query packet: an empty block, or blocks of the client, which are not read. */
import { MalformedPacket, type Reader } from "../../endpoint/native/codec.ts";
import { clientPackets } from "../../endpoint/native/hello.ts";

/** Of an empty block without compression. */
const emptyBytes = 10;
const frameHead = 9;

/** Reads an empty block, and nothing of anything else. */
export function readFirstBlock(reader: Reader, compressed: boolean): "empty" | "blocks" {
  if (isEmptyBlock(reader, compressed)) return "empty";
  reader.rewind();
  return "blocks";
}

function isEmptyBlock(reader: Reader, compressed: boolean): boolean {
  const type = reader.varUint();
  if (type === clientPackets.scalar || type === clientPackets.ignoredParts) return false;
  if (type !== clientPackets.data) {
    throw new MalformedPacket(`A Query packet is followed by data, and not by a packet of type ${type}.`);
  }
  if (reader.string().length > 0) return false;
  if (compressed) {
    reader.bytes(17);
    const size = reader.uint32();
    // A block with a column has more bytes than an empty one, whatever the codec.
    if (reader.uint32() !== emptyBytes || size < frameHead || size > 100) return false;
    reader.bytes(size - frameHead);
    return true;
  }
  for (let field = reader.varUint(); field !== 0; field = reader.varUint()) {
    if (field === 1) reader.byte();
    else if (field === 2) reader.int32();
    else return false;
  }
  return reader.varUint() === 0 && reader.varUint() === 0;
}

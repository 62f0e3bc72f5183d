/** Blocks of data, as far as they are read here. */
import { MalformedPacket, type Reader } from "../../endpoint/native/codec.ts";
import { clientPackets } from "../../endpoint/native/hello.ts";

/** An empty block without compression has as many. */
const emptyBytes = 10;
const frameHead = 9;

/**
 * What follows a Query packet: reads an empty block, and nothing of blocks of the client. Returns whether it was empty.
 */
export function readEmptyBlock(reader: Reader, compressed: boolean): boolean {
  const isEmpty = isEmptyBlock(reader, compressed);
  if (!isEmpty) reader.rewind();
  return isEmpty;
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
  const head = readBlockHead(reader);
  return head?.columns === 0 && head.rows === 0;
}

/** The beginning of a block without compression; undefined: it has a field that is not known. */
export function readBlockHead(reader: Reader): { readonly columns: number; readonly rows: number } | undefined {
  for (let field = reader.varUint(); field !== 0; field = reader.varUint()) {
    if (field === 1) reader.byte();
    else if (field === 2) reader.int32();
    else return undefined;
  }
  return { columns: reader.varUint(), rows: reader.varUint() };
}

/** ClickHouse's own compressed blocks with their checksums: written by us, and checked in what the engine wrote. */
import { compressSync } from "lz4-napi";
import { cityHash128 } from "./cityhash.ts";

const checksumBytes = 16;
const headerBytes = 9;
const lz4 = 0x82;

/** One block, packed with LZ4. */
export function compressBlock(plain: Buffer): Buffer {
  // The binding puts the plain size in front, which is where the block's own header ends.
  const packed = compressSync(plain);
  const block = Buffer.allocUnsafe(checksumBytes + headerBytes + packed.length - 4);
  block[checksumBytes] = lz4;
  block.writeUInt32LE(headerBytes + packed.length - 4, checksumBytes + 1);
  packed.copy(block, checksumBytes + 5);
  cityHash128(block.subarray(checksumBytes)).copy(block, 0);
  return block;
}

/** How many blocks the bytes hold. Throws for one whose checksum is not that of its bytes. */
export function checkedBlocks(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; count += 1) {
    const end = at + checksumBytes + bytes.readUInt32LE(at + checksumBytes + 1);
    const sum = cityHash128(bytes.subarray(at + checksumBytes, end));
    if (!sum.equals(bytes.subarray(at, at + checksumBytes))) throw new Error(`the checksum of block ${count} is wrong`);
    at = end;
  }
  return count;
}

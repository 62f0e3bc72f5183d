/** ClickHouse's own compressed blocks with their checksums: our writer, and a check of the engine's blocks. */
import { compressSync } from "lz4-napi";
import { cityHash128 } from "./cityhash.ts";

const checksumBytes = 16;
const headerBytes = 9;
const lz4 = 0x82;

/** One block, compressed with LZ4. */
export function compressBlock(plain: Buffer): Buffer {
  // The binding prepends the plain size, which is the last part of the block's own header.
  const packed = compressSync(plain);
  const block = Buffer.allocUnsafe(checksumBytes + headerBytes + packed.length - 4);
  block[checksumBytes] = lz4;
  block.writeUInt32LE(headerBytes + packed.length - 4, checksumBytes + 1);
  packed.copy(block, checksumBytes + 5);
  cityHash128(block.subarray(checksumBytes)).copy(block, 0);
  return block;
}

/** The number of blocks. Throws for a block with a wrong checksum. */
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
